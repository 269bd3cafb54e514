"""Everything that can be done with a loaded artifact: a hostile one may refuse by a typed error, and nothing else."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.fuzz.part_uses import part_uses
from vizsla.artifacts.string_table import StringTable
from vizsla.base.encoder import Encoder
from vizsla.base.index import Index
from vizsla.base.index_retriever import IndexRetriever, RowSpaceRetriever
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.catalog import details_of
from vizsla.core.sparse import SparseRows, are_offsets
from vizsla.errors import VizslaError
from vizsla.methods.pefa import pefa_xl, pefa_xs

TEXTS = [*QUERIES[:6], "fig\x00pear", "\u200d" * 3, "a" * 300]
NEW_ITEMS = {"new 1": "fig tree", "new 2": "", "new 3": "zzz 東京"}
Use = tuple[str, Callable[[], Any]]
MOST_ITEMS = 1 << 24


class UseError(Exception):
    """Something went wrong that must not: the message names the use, the error and its place."""


def use(artifact: Any, answer: Callable[[Any], Any], scratch: Path, random: np.random.Generator) -> None:
    """Use the artifact in every way; raise a UseError for the first error that is not a typed one."""
    for name, action in uses(artifact, answer, scratch, random):
        attempt(name, action)


def attempt(name: str, action: Callable[[], Any]) -> Any:
    """Do something; a typed error is as good as an answer, any other raises UseError."""
    try:
        result = action()
        if isinstance(result, Candidates):
            _check_answer(result)
        return result
    except VizslaError:
        return None
    except (Exception, RecursionError) as error:
        raise UseError(f"{name}: {described(error)}") from error


def described(error: BaseException) -> str:
    """Return an error's type, its place in the library, and its message."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "vizsla" in frame.filename and "tests" not in frame.filename] or frames[-1:]
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno} in {own[-1].name}"
    return f"{type(error).__name__} at {place}: {str(error)[:200]}"


def uses(artifact: Any, answer: Callable[[Any], Any], scratch: Path, random: np.random.Generator) -> Iterator[Use]:
    """Yield what can be done with the artifact, by name."""
    yield "answer", lambda: answer(artifact)
    yield "repr", lambda: (repr(artifact), str(artifact), getattr(artifact, "nbytes", 0))
    if isinstance(artifact, Retriever):
        yield from _retriever_uses(artifact, random)
    if isinstance(artifact, Index):
        yield from _index_uses(artifact, random)
    if isinstance(artifact, Encoder):
        yield from _encoder_uses(artifact)
    if isinstance(artifact, StringTable):
        yield from _table_uses(artifact)
    yield from part_uses(artifact)
    yield "save", lambda: _saved_again(artifact, answer, scratch / "again")


def _retriever_uses(found: Retriever, random: np.random.Generator) -> Iterator[Use]:
    count = len(found.items)
    ids = [item for item in (attempt("id", lambda at=at: found.items[at]) for at in {0, count // 2, count - 1}) if item]
    mask = random.random(count) < 0.3
    everything = Candidates.from_rows([np.arange(count, dtype=np.int32)] * 2, catalog=found.items)
    yield "search", lambda: found(TEXTS, k=7, threads=2)
    yield "search for no text", lambda: found("\ud800 fig")
    yield "search for all", lambda: found(TEXTS[:3], k=10**6)
    yield "search by mask", lambda: found(TEXTS, k=5, where=mask)
    yield "search by ids", lambda: found("fig", k=5, where=ids)
    yield "score", lambda: found.score(TEXTS[:2], everything)
    yield "score under a filter", lambda: found.score(TEXTS[:2], everything, where=mask)
    yield "exact", lambda: found.exact(TEXTS[:2], k=5)
    if details_of(found.items) is not None:
        yield "search by condition", lambda: found(TEXTS[:2], k=5, where=vizsla.where("length<20", "first!=x"))
    yield "answers shown", lambda: _shown(found(TEXTS[:3], k=5))
    yield "answers as matrix", lambda: found(TEXTS[:3], k=5).to_csr()
    yield "answers as run", lambda: found(TEXTS[:1], k=2, where=lambda item: " " not in item).to_trec()
    yield "refitted", lambda: found.refit_on(_log())(TEXTS[:2], k=5)
    for item in ids:
        yield "explain", lambda item=item: str(found.explain("fig tree", item))
        yield "explain under a filter", lambda item=item: str(found.explain("pear", item, where=mask | True))
    for effort in (1, 10**9):
        yield "with_effort", lambda effort=effort: found.with_effort(effort)(TEXTS[:3], k=5)
    yield from _compositions(found)
    yield from _changes(found, ids)


def _compositions(found: Retriever) -> Iterator[Use]:
    yield "cut", lambda: (found % 3)("fig")
    yield "sum", lambda: (0.5 * found.normalized() + 0.5 * found.normalized())(TEXTS[:3], k=5)
    yield "scaled sum", lambda: (found.scaled() + 0.1 * found.scaled("exp", slope=0.1))(TEXTS[:3], k=5)
    yield "rank sum", lambda: (found.normalized("rank") + found.normalized("rank"))(TEXTS[:3], k=5)
    yield "union", lambda: (found | found)(TEXTS[:3], k=5)
    yield "rerank", lambda: (found >> found)(TEXTS[:3], k=5)


def _changes(found: Any, ids: list[str]) -> Iterator[Use]:
    clicks = [("fig tree", item, 2.0) for item in ids] + [("unheard of word", ids[0])] if ids else []
    names = {"with_items": NEW_ITEMS, "without_items": ids[:1], "with_clicks": clicks}
    for name, given in names.items():
        if hasattr(found, name):
            yield name, lambda name=name, given=given: _changed(getattr(found, name)(given))
    if hasattr(found, "without_clicks"):
        yield "without_clicks", lambda: _changed(found.with_clicks(clicks).without_clicks(clicks[:1]))
    if hasattr(found, "without_clicks") and hasattr(found, "log"):
        yield "without known clicks", lambda: _changed(found.without_clicks(list(islice(_known_clicks(found), 3))))
    if hasattr(found, "top_features"):
        yield "exhaustive", lambda: found.exhaustive()(TEXTS[:3])
        yield "top_features", lambda: [found.top_features(layer, 0) for layer in range(len(found.index.layers))]
        yield "leaf_mates", lambda: [found.leaf_mates(item) for item in ids]
        yield "tree", lambda: [found.tree.path(item) for item in range(len(found.items))]
    if isinstance(found, IndexRetriever):
        yield "encoded", lambda: found.search_encoded(found.encode(TEXTS), 3)
    if isinstance(found, RowSpaceRetriever):
        yield "adapted", lambda: _changed(pefa_xs(found, _log(), weight=0.5))
    if isinstance(found, IndexRetriever) and not found.encoder.sparse:
        yield (
            "voted",
            lambda: _changed(pefa_xl(found, _log(), encoder=found.encoder, weight=0.5, neighbors=3, near=0.0)),
        )


def _changed(found: Retriever) -> None:
    _check_answer(found(TEXTS[:4], k=5))
    str(found.explain("fig", found.items[len(found.items) - 1]))


def _known_clicks(found: Any) -> Iterator[tuple[str, str]]:
    log = found.log
    for row, item in zip(log.rows.tolist(), log.items.tolist(), strict=True):
        yield log.queries[row], found.items[item]


@cache
def _log() -> Any:
    import warnings

    with warnings.catch_warnings(action="ignore"):
        return vizsla.Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS)


def _shown(found: Candidates) -> None:
    with redirect_stdout(StringIO()):
        found.show(k=3)
    _ = found.to_dict()


def _index_uses(index: Index, random: np.random.Generator) -> Iterator[Use]:
    count = len(index)
    rows = attempt("rows", lambda: _rows(index, random))
    if rows is None:
        return
    yield "search", lambda: index.search(rows, 7, threads=2)
    if count > MOST_ITEMS:  # items without terms cost an index nothing; a mask of them would be our own doing
        return
    mask, everything = random.random(count) < 0.3, Candidates.from_rows([np.arange(count, dtype=np.int32)] * 3)
    yield "search by mask", lambda: index.search(rows, 5, filter=mask)
    yield "search for all", lambda: index.search(rows, 10**6)
    yield "scores", lambda: index.scores(rows, everything)
    yield "effort", lambda: index.effort
    for effort in (1, 10**9):
        yield "with_effort", lambda effort=effort: index.with_effort(effort).search(rows, 5)


def _rows(index: Index, random: np.random.Generator) -> Any:
    dim = index.dim
    try:
        return random.standard_normal((3, min(dim, 1 << 20))).astype(np.float32) if _is_dense(index) else _sparse(dim)
    except (ValueError, OverflowError, MemoryError):
        return None


def _is_dense(index: Index) -> bool:
    return hasattr(index, "stored") or hasattr(index, "owners")


def _sparse(dim: int) -> SparseRows:
    columns = np.unique(np.clip([0, 1, dim // 2, dim - 2, dim - 1], 0, min(dim - 1, 2**31 - 1))).astype(np.int32)
    offsets = np.array([0, len(columns), len(columns), 2 * len(columns)], np.int64)
    return SparseRows(offsets, np.tile(columns, 2), np.ones(2 * len(columns), np.float32), dim)


def _encoder_uses(encoder: Encoder) -> Iterator[Use]:
    yield "about", lambda: (encoder.dim, encoder.sparse, encoder.fingerprint, encoder.nbytes)
    yield "queries", lambda: encoder.queries(TEXTS)
    yield "items", lambda: encoder.items(TEXTS)
    yield "no texts", lambda: (encoder.queries([]), encoder.items([]))
    if encoder.sparse:
        yield "dense search", lambda: vizsla.bm25(ITEMS)
    else:
        yield "dense search", lambda: vizsla.dense(ITEMS, encoder)(TEXTS[:3], k=3)


def _table_uses(table: StringTable) -> Iterator[Use]:
    strings = table.strings
    yield "list", lambda: list(strings)
    yield "slice", lambda: strings[:5]
    yield "find", lambda: [strings.find(text) for text in [*ITEMS, "absent", "\ud800"]]
    yield "find_all", lambda: strings.find_all(ITEMS)
    yield "fingerprint", lambda: (strings.fingerprint, hash(strings), strings == strings)


def _saved_again(artifact: Any, answer: Callable[[Any], Any], folder: Path) -> None:
    artifact.save(folder, overwrite=True)
    answer(vizsla.load(folder))


def _check_answer(found: Candidates) -> None:
    """Raise unless the arrays keep the promises that the rest of the library relies on."""
    most = 2**31 if found.catalog is None else len(found.catalog)
    if not are_offsets(found.offsets, len(found.items)):
        raise RuntimeError("the answer's offsets are unsound")
    if len(found.items) and not 0 <= found.items.min() <= found.items.max() < most:
        raise RuntimeError("the answer's items are out of range")
    if found.scores is not None and found.scores.shape != found.items.shape:
        raise RuntimeError("the answer's scores are not one an item")
    _ = found.ids
