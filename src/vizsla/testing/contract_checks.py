"""Check what retrievers, scorers, encoders and indexes promise; what breaks a promise raises a ContractError."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from vizsla.artifacts.artifact import Artifact, load
from vizsla.base.encoder import Encoder
from vizsla.base.index import Index
from vizsla.base.retriever import Retriever
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows, as_scipy
from vizsla.core.validation import check_type
from vizsla.errors import ContractError, InputError

TOLERANCE = 1e-4
"""How far the score of an explanation may be from that of the search, relative to it."""
CALLERS, CALLS = 4, 8


def check_retriever(retriever: Retriever, queries: Sequence[str], *, exact: bool = True) -> None:
    """Check that a retriever keeps the contract: ranking, batches, threads, filters, scores, explanations and files.

    Parameters
    ----------
    retriever : Retriever
        The retriever to check; best over some dozen items, some of them with equal texts.
    queries : sequence of str
        At least one of them must find something.
    exact : bool
        Whether a search gives the same as scoring every item. An approximate one need not find the same items under a
        filter.

    Examples
    --------
    >>> from vizsla import bm25
    >>> check_retriever(bm25(["a fig", "a fig tree", "a pear"]), ["fig", "pear tree", ""])
    """
    check_type("retriever", retriever, Retriever, "a Retriever")
    asked, size = _texts(queries), max(1, len(retriever.items))
    everything = retriever(asked, k=size)
    _hold(retriever, "a row per query", len(everything) == len(asked), f"{len(everything)} rows")
    _hold(retriever, "a query that finds something", len(everything.items) > 0, "none: give other queries")
    _check_ranking(retriever, everything)
    few = retriever(asked, k=2)
    _same(retriever, "a larger `k` than there are items finds all", retriever(asked, k=size + 1), everything)
    _hold(retriever, "at most `k` items", max(map(len, few)) <= 2, f"{max(map(len, few))} for k = 2")
    if exact:
        _same(retriever, "a search is the head of a longer one", few, everything.top(2))
    _check_calls(retriever, asked, few)
    _check_filters(retriever, asked, everything, exact=exact)
    if everything.scores is not None:
        if exact:
            _same(retriever, "scoring gives the scores of the search", retriever.score(asked, everything), everything)
        for row, query in enumerate(asked):
            for hit in everything.top(2)[row]:
                why = retriever.explain(query, hit.id)
                close = np.isclose(why.score, hit.score or 0.0, rtol=TOLERANCE, atol=TOLERANCE / 10)
                _hold(retriever, "an explanation has the score of the search", bool(close), f"{why.score}")
    _hold(retriever, "`nbytes` is a count of bytes", int(retriever.nbytes) >= 0, f"{retriever.nbytes!r}")
    _hold(retriever, "`children` are scorers", all(isinstance(each, Scorer) for each in retriever.children()), "others")
    _refuses(retriever, "`k` of 0", lambda: retriever(asked, k=0))
    _refuses(retriever, "an unknown item", lambda: retriever.explain(asked[0], "no such item \0"))
    _check_files(retriever, lambda again: _same(retriever, "a loaded one answers the same", again(asked, k=2), few))


def check_scorer(scorer: Scorer, queries: Sequence[str]) -> None:
    """Check that a scorer keeps the contract: each pair gets one finite score, whatever is scored beside it.

    Examples
    --------
    >>> from vizsla import FunctionScorer
    >>> length = FunctionScorer(lambda query, texts: [len(text) for text in texts], {"a": "fig", "b": "pear"}, name="l")
    >>> check_scorer(length, ["fig", "tree"])
    """
    check_type("scorer", scorer, Scorer, "a Scorer")
    asked, ids = _texts(queries), list(scorer.items)
    scored = scorer.score(asked, ids)
    _hold(scorer, "a score per candidate", [len(row) for row in scored] == [len(ids)] * len(asked), "others")
    _check_ranking(scorer, scored)
    table = scored.to_dict()
    for row, query in enumerate(asked):
        for item in ids[:: max(1, len(ids) // 5)]:
            alone = scorer.score([query], [item]).to_dict()["0"][item]
            _hold(scorer, "a score that does not depend on others", alone == table[str(row)][item], f"{alone}")
    _same(scorer, "the order of candidates does not matter", scorer.score(asked, ids[::-1]), scorer.score(asked, ids))
    _same(scorer, "threads do not change scores", scorer.score(asked, ids, threads=2), scored)
    _refuses(scorer, "an unknown item", lambda: scorer.score([asked[0]], ["no such item \0"]))


def check_encoder(encoder: Encoder, texts: Sequence[str]) -> None:
    """Check that an encoder keeps the contract: a finite row per text, which depends on that text alone.

    Examples
    --------
    >>> from vizsla.encoders import LsaEncoder
    >>> check_encoder(LsaEncoder.fit(["a fig", "a fig tree", "a pear"], dim=2), ["fig", "pear", ""])
    """
    check_type("encoder", encoder, Encoder, "an Encoder")
    listed = _texts(texts)
    _hold(encoder, "a fingerprint", isinstance(encoder.fingerprint, str) and bool(encoder.fingerprint), "none")
    for name, encode in (("queries", encoder.queries), ("items", encoder.items)):
        rows = _dense(encode(listed))
        expected = (len(listed), encoder.dim)
        _hold(encoder, f"`{name}` of shape {expected}", rows.shape == expected, f"{rows.shape}")
        _hold(encoder, f"finite float32 in `{name}`", rows.dtype == np.float32 and np.isfinite(rows).all(), "others")
        sparse = not isinstance(encode(listed), np.ndarray)
        _hold(encoder, "`sparse` as the rows are", encoder.sparse is sparse, f"{encoder.sparse}")
        singles = np.concatenate([_dense(encode([text])) for text in listed])
        alike = np.allclose(singles, rows, rtol=1e-5, atol=1e-6)
        _hold(encoder, f"`{name}` of a text alone as among others", alike, "another row")
        empty = _dense(encode([])).shape
        _hold(encoder, f"no rows in `{name}` for no texts", empty == (0, encoder.dim), f"{empty}")
    before = _dense(encoder.queries(listed))

    def compare(again: Any) -> None:
        same = again.fingerprint == encoder.fingerprint and np.array_equal(_dense(again.queries(listed)), before)
        _hold(encoder, "a loaded one encodes the same", same, "other rows")

    _check_files(encoder, compare)


def check_index(index: Index, rows: Any) -> None:
    """Check that an index keeps the contract, for encoded queries: an array or a sparse matrix with a row per query.

    Examples
    --------
    >>> from vizsla.indexes import FlatIndex
    >>> check_index(FlatIndex.build(np.eye(3, dtype=np.float32)), np.eye(3, dtype=np.float32))
    """
    check_type("index", index, Index, "an Index")
    size, count = len(index), rows.shape[0]
    everything, few = index.search(rows, size), index.search(rows, 2)
    _hold(index, "a row per query", len(everything) == count, f"{len(everything)} rows")
    _hold(index, "`dim` as wide as queries", index.dim == rows.shape[1], f"{index.dim}")
    _hold(index, "`nbytes` is a count of bytes", int(index.nbytes) >= 0, f"{index.nbytes!r}")
    _check_ranking(index, everything)
    _same(index, "threads do not change the answer", index.search(rows, 2, threads=2), few)
    if index.exact:
        _same(index, "a search is the head of a longer one", few, everything.top(2))
        _same(index, "scoring gives the scores of the search", index.score(rows, everything), everything)
    allowed = np.arange(size) % 2 == 0
    found = index.search(rows, size, filter=allowed)
    _hold(index, "only items that the filter allows", bool(allowed[found.items].all()), "others")
    _refuses(index, "`k` of 0", lambda: index.search(rows, 0))
    _check_files(index, lambda again: _same(index, "a loaded one answers the same", again.search(rows, 2), few))


def _texts(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts) or not len(texts):
        raise InputError(f"`queries` must be a sequence of texts, at least one. Got {texts!r:.100}.")
    return list(texts)


def _dense(rows: Any) -> Any:
    return as_scipy(rows).toarray() if isinstance(rows, SparseRows) or hasattr(rows, "toarray") else np.asarray(rows)


def _check_ranking(part: object, found: Candidates) -> None:
    """Check that each row has an item once, best first, and equal scores by item number."""
    for row in range(len(found)):
        items, scores = found.row(row)
        _hold(part, "an item once per query", len(set(items.tolist())) == len(items), "one twice")
        if scores is None:
            continue
        finite = scores.dtype == np.float32 and not np.isnan(scores).any()
        _hold(part, "scores of float32 without NaN", finite, f"{scores.dtype}")
        ranked = list(zip((-scores).tolist(), items.tolist(), strict=True))
        _hold(part, "the best first, and ties by item number", sorted(ranked) == ranked, "another order")


def _check_calls(retriever: Retriever, asked: list[str], few: Candidates) -> None:
    """Check that neither other queries, nor threads, nor other callers change an answer."""
    for row, query in enumerate(asked):
        same = retriever(query, k=2)[0] == few[row]
        _hold(retriever, "a query alone answers as among others", same, f"another answer for {query!r:.60}")
    _same(retriever, "threads do not change the answer", retriever(asked, k=2, threads=2), few)
    with ThreadPoolExecutor(CALLERS) as pool:
        for found in pool.map(lambda _: retriever(asked, k=2), range(CALLS)):
            _same(retriever, "callers at the same time get the same answer", found, few)
    _hold(retriever, "no rows for no queries", len(retriever([], k=2)) == 0, "some")


def _check_filters(retriever: Retriever, asked: list[str], everything: Candidates, *, exact: bool) -> None:
    ids, size = list(retriever.items), max(1, len(retriever.items))
    _same(retriever, "a filter that allows all is none", retriever(asked, k=size, where=ids), everything)
    _hold(retriever, "nothing where nothing is allowed", not len(retriever(asked, k=2, where=[]).items), "some items")
    allowed = set(ids[::2])
    found = retriever(asked, k=size, where=allowed).ids
    inside = all(set(row) <= allowed for row in found)
    _hold(retriever, "only items that `where` allows", inside, "others")
    if exact:
        expected = [[item for item in row if item in allowed] for row in everything.ids]
        _hold(retriever, "all items that `where` allows, in the same order", found == expected, "others")


def _check_files(thing: object, compare: Callable[[Any], None]) -> None:
    """Check that what can be saved is the same when it is loaded."""
    if not isinstance(thing, Artifact) or not isinstance(getattr(thing, "kind", None), str):
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(load(thing.save(Path(folder) / "saved")))


def _same(part: object, promise: str, found: Candidates, expected: Candidates) -> None:
    _hold(part, promise, found == expected, "another answer")


def _refuses(part: object, what: str, call: Callable[[], object]) -> None:
    try:
        call()
    except InputError:
        return
    raise ContractError(f"{type(part).__name__} must keep the contract: an InputError for {what}. Got none.")


def _hold(part: object, promise: str, kept: Any, got: str) -> None:
    if not kept:
        raise ContractError(f"{type(part).__name__} must keep the contract: {promise}. Got {got}.")
