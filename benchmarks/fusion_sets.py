"""The data sets of the fusion benchmark: clicks to learn from, test queries seen and unseen apart, MiniLM vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpus import data_folder
from benchmarks.minilm_vectors import minilm_vectors
from benchmarks.pefa_collection import Collection
from vizsla.base.encoder import FunctionEncoder
from vizsla.data.dataset import Dataset
from vizsla.demo import python_docs
from vizsla.methods.dense import Dense, dense

SEEN, UNSEEN = "seen", "unseen"
TRAIN_QUERIES, TEST_QUERIES = 10_000, 2_000
"""So many of debian-deps's queries are taken, unless all are asked for: MiniLM takes long for its long texts."""
ONE_CLICK_ITEMS, LABELS = 12_000, 565
SHORT, MIDDLE = 32, 64
"""Tokens that MiniLM sees of a package's description, and of a docstring."""


@dataclass(frozen=True)
class FusionSet:
    """A dataset whose clicks are its training log and whose splits are "seen" and "unseen".

    Parameters
    ----------
    name : str
        What it is called.
    data : Dataset
        Items, queries, clicks and the two splits.
    base : function
        Builds exact search over MiniLM vectors; called once.
    """

    name: str
    data: Dataset
    base: Callable[[], Dense]

    def texts(self, split: str) -> list[str]:
        """Return a split's queries."""
        return self.data.query_texts(split)[1]


def open_set(name: str, *, whole: bool = False) -> FusionSet:
    """Open a set by its name: one with stored vectors, "debian-deps", or "demo".

    Parameters
    ----------
    name : str
        Which.
    whole : bool
        Take all of debian-deps.
    """
    if name == "demo":
        return _demo()
    if name in LOGS:
        return FusionSet(name, LOGS[name](), _no_vectors)
    return _debian(whole=whole) if name == "debian-deps" else _stored(name)


def _stored(name: str) -> FusionSet:
    one = Collection(name)
    splits = {SEEN: one.data.qrels("test-seen"), UNSEEN: one.data.qrels("test-unseen")}
    return FusionSet(name, Dataset(one.data.items, one.data.queries, clicks=one.data.clicks, qrels=splits), one.base)


def _demo() -> FusionSet:
    data = python_docs()
    return FusionSet("demo", _parted(data, data.clicks), lambda: _dense(data, None, items=MIDDLE, queries=128))


def _debian(*, whole: bool) -> FusionSet:
    data = Dataset.open(data_folder() / "debian-deps")
    asked = None if whole else _sample(data)
    clicks = data.clicks if asked is None else data.clicks.multiply(asked[:, None]).tocsr()
    name = "debian-deps" if whole else f"debian-deps ({TRAIN_QUERIES:,} queries)"
    parted = _parted(data, clicks, asked)
    return FusionSet(name, parted, lambda: _dense(data, asked, items=128, queries=SHORT))


def _sample(data: Dataset) -> NDArray[np.bool_]:
    """Return which queries are taken."""
    taken, pick = np.zeros(len(data.queries), np.bool_), np.random.default_rng(0)
    for split, most in (("train", TRAIN_QUERIES), ("test", TEST_QUERIES)):
        rows = np.flatnonzero(np.diff(data.qrels(split).indptr))
        taken[pick.permutation(rows)[:most]] = True
    return taken


def _parted(data: Dataset, clicks: object, asked: NDArray[np.bool_] | None = None) -> Dataset:
    """Return the dataset with its test queries parted: some of their items have a click, or none has."""
    from scipy.sparse import csr_array

    log, judged = csr_array(clicks, dtype=np.float32), csr_array(data.qrels("test"))
    log.eliminate_zeros()
    clicked = np.bincount(log.indices, minlength=log.shape[1]) > 0
    some = np.asarray(judged.astype(bool) @ clicked.astype(np.int64)) > 0
    rows = np.diff(judged.indptr) > 0 if asked is None else asked & (np.diff(judged.indptr) > 0)
    splits = {SEEN: _only(judged, rows & some), UNSEEN: _only(judged, rows & ~some)}
    return Dataset(data.items, data.queries, clicks=log, qrels=splits)


def _only(judged: object, rows: NDArray[np.bool_]) -> object:
    from scipy.sparse import csr_array

    kept = csr_array(judged.multiply(rows[:, None]))  # type: ignore[attr-defined]
    kept.eliminate_zeros()
    return kept.astype(np.int32)


def one_click(items: int = ONE_CLICK_ITEMS, asked: int = TEST_QUERIES) -> Dataset:
    """Return a log of debian-synopsis in which nearly every item has one click, and later queries ask for others.

    Some of the items with a click get a second query, four words of their text: these alone are warm.
    """
    data, pick = Dataset.open(data_folder() / "debian-synopsis"), np.random.default_rng(0)
    clicks, judged = data.clicks.tocsr(), data.qrels("test").tocsr()
    train = pick.permutation(np.flatnonzero(np.diff(clicks.indptr)))[: items - asked]
    test = pick.permutation(np.flatnonzero(np.diff(judged.indptr)))[:asked]
    clicked = clicks[train].indices
    kept = np.sort(np.concatenate([clicked, judged[test].indices]))
    texts = {data.item_ids[int(item)]: data.items[int(item)].default_text() for item in kept}
    queries = {data.query_ids[int(row)]: data.queries[int(row)].text for row in [*train, *test]}
    log = [(data.query_ids[int(row)], data.item_ids[int(item)]) for row, item in zip(train, clicked, strict=True)]
    for query, item in log[: len(log) // 33]:
        queries[f"{query} again"] = " ".join(texts[item].split()[3:7])
        log.append((f"{query} again", item))
    asks = [
        (data.query_ids[int(row)], data.item_ids[int(item)])
        for row, item in zip(test, judged[test].indices, strict=True)
    ]
    return _split(Dataset.of(texts, queries=queries, clicks=log, qrels=asks))


def few_labels(items: int = LABELS) -> Dataset:
    """Return debian-deps with the items alone that most packages depend on: few items, many queries with several."""
    data = Dataset.open(data_folder() / "debian-deps")
    top = np.sort(np.argsort(-np.diff(data.clicks.tocsc().indptr), kind="stable")[:items])
    texts = {data.item_ids[int(item)]: data.items[int(item)].default_text() for item in top}
    pairs = [data.clicks.tocsc()[:, top].tocoo(), data.qrels("test").tocsc()[:, top].tocoo()]
    every, names = data.query_texts()[1], list(texts)
    rows = np.unique(np.concatenate([matrix.row for matrix in pairs]))
    queries = {data.query_ids[int(row)]: every[int(row)] for row in rows}
    clicks, asks = (
        [(data.query_ids[int(row)], names[int(item)]) for row, item in zip(matrix.row, matrix.col, strict=True)]
        for matrix in pairs
    )
    return _split(Dataset.of(texts, queries=queries, clicks=clicks, qrels=asks))


LOGS: dict[str, Callable[[], Dataset]] = {"one click": one_click, "few labels": few_labels}
"""Logs of kinds on which a fusion that is chosen for another mix of queries can lose to its best part."""


def _split(data: Dataset) -> Dataset:
    return _parted(data, data.clicks)


def _no_vectors() -> Dense:
    raise ValueError("this set has no MiniLM vectors: name fusions without them")


def _dense(data: Dataset, asked: NDArray[np.bool_] | None, *, items: int, queries: int) -> Dense:
    """Return exact search over MiniLM vectors, which knows the queries that are asked, and no other."""
    every = data.query_texts()[1]
    texts = sorted({text for row, text in enumerate(every) if asked is None or asked[row]})
    rows, number = minilm_vectors(texts, max_tokens=queries), {text: at for at, text in enumerate(texts)}
    encoder = FunctionEncoder(lambda given: rows[[number[text] for text in given]], dim=rows.shape[1], name="minilm")
    described = [f"{item.title}. {item.text}" if item.title else item.text for item in data.items]
    return dense(data, encoder, vectors=minilm_vectors(described, max_tokens=items))
