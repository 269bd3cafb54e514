"""Items that come to a BM25 index or leave it: the counts of its words follow from what it stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from vizsla import _native
from vizsla.core.sparse import SparseRows, row_numbers
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.methods.bm25_statistics import Statistics
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.streams import grown_ids, kept_items, left_ids, new_items
from vizsla.typing import BoolArray, Int32Array

if TYPE_CHECKING:
    from vizsla.methods.bm25 import Bm25

Model = TypeVar("Model", bound="Bm25")


def keeps_counts(model: Bm25) -> bool:
    """Return whether an index determines the counts of its words, of one text per item and its own statistics.

    An impact is gain × count / (count + norm). It tells the count unless the gain is 0, as robertson and atire have it
    for common words, or the norm is 0 (`k1=0`), or lengths matter in full (`b=1`).
    """
    weighting, statistics = model.weighting, model.statistics
    plain = not model.fields and statistics.documents == len(model.items)
    if not plain or weighting.b == 1 or weighting.norms(np.zeros(1), 1.0)[0] == 0:
        return False
    gains = weighting.gains(model._idf)
    return bool((gains > 0).all()) if statistics.languages is not None else _all_gain(gains, statistics)


def _all_gain(gains: Any, statistics: Statistics) -> bool:
    return bool((gains[statistics.frequencies > 0] > 0).all())


def add_items(model: Model, items: Any) -> Model:
    """Return an index that also holds these items: that of all texts at once, with this one's analyzer."""
    pairs = new_items(model.items, items)
    if not pairs:
        return model
    rows, places = counts_of(model)
    ids = grown_ids(model.items, [item for item, _ in pairs], items)
    words, more, spoken = BagOfWords.fit_items([text for _, text in pairs], model.statistics.analyzer)
    statistics = model.statistics.merged(Statistics.of_rows(words, more, spoken))
    wide = SparseRows(rows.offsets, rows.columns, rows.values, statistics.words.dim)
    joined = SparseRows.stacked([wide, statistics.over(words, more)], statistics.words.dim)
    return model._over_counts(ids, statistics, joined, np.append(places, spoken))


def remove_items(model: Model, ids: list[str]) -> Model:
    """Return an index without these items, and without words that no other item holds."""
    kept = kept_items(model.items, ids)
    rows, places = counts_of(model)
    rows, places = rows.take(kept), places[kept] if len(places) else places
    words = model.statistics.words
    if model.statistics.languages is None and words.analyzer.vocabulary is None:
        held = np.bincount(rows.columns, minlength=words.dim) > 0
        words, numbers = _only_terms(words, held), (np.cumsum(held) - 1).astype(np.int32)
        rows = SparseRows(rows.offsets, numbers[rows.columns], rows.values, words.dim)
    return model._over_counts(left_ids(model.items, kept), Statistics.of_rows(words, rows, places), rows, places)


def _only_terms(words: BagOfWords, held: BoolArray) -> BagOfWords:
    """Return the words with some of their terms, and the forms that are read as one of these, or as stop words."""
    terms = Strings.of(words.terms.take(np.flatnonzero(held).astype(np.int32)))
    if words.forms is words.terms:
        return BagOfWords(words.analyzer, terms)
    numbers = np.append(np.where(held, np.cumsum(held) - 1, -1), -1).astype(np.int32)
    table = numbers[words._table]
    known = (table >= 0).any(axis=1) | (words._table < 0).all(axis=1)
    forms = Strings.of(words.forms.take(np.flatnonzero(known).astype(np.int32)))
    return BagOfWords(words.analyzer, terms, forms, np.ascontiguousarray(table[known]).reshape(-1))


def counts_of(model: Bm25) -> tuple[SparseRows, Int32Array]:
    """Return the counts of each item's words, and the place of its language where there are several.

    They are computed from the impacts, and checked: the index that they make has the same impacts, bit for bit.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> from vizsla.text.analyzers import Analyzer
    >>> counts_of(bm25(["a fig, a fig tree", "plums"], analyzer=Analyzer()))[0].values.tolist()
    [2.0, 2.0, 1.0, 1.0]
    """
    if not keeps_counts(model):
        _refuse(model)
    statistics, weighting, impacts = model.statistics, model.weighting, model.index.to_csr()
    impacts.sort_indices()
    owners, columns = row_numbers(impacts.indptr), impacts.indices
    places, means, terms = np.zeros(0, np.int32), np.full(len(model.items), statistics.mean_length), columns
    if statistics.languages is not None:
        counted = statistics.languages
        places = np.zeros(len(model.items), np.int32)
        places[owners] = counted.languages[columns]
        silent = np.diff(impacts.indptr) == 0
        missing = np.flatnonzero(counted.documents - np.bincount(places[~silent], minlength=counted.count))
        if len(missing) > 1:  # which item without words is in which language is not known
            _refuse(model)
        places[silent] = missing[0] if len(missing) else 0
        means, terms = counted.means[places], counted.terms[columns].astype(np.int32)
    share = impacts.data.astype(np.float64) / weighting.gains(model._idf)[columns]
    odds = share / np.maximum(1 - share, 1e-12)
    total = np.bincount(owners, odds, len(model.items))
    start = weighting.norms(np.zeros(len(means)), means)
    slope = weighting.norms(np.ones(len(means)), means) - start
    lengths = start * total / np.maximum(1 - slope * total, 1e-12)
    norms = weighting.norms(np.rint(2 * lengths) / 2, means)
    values = (np.rint(2 * odds * norms[owners]) / 2).astype(np.float32)
    rows = SparseRows(impacts.indptr.astype(np.int64), terms.astype(np.int32), values, statistics.words.dim)
    _check(model, rows, places)
    return rows, places


def _check(model: Bm25, rows: SparseRows, places: Int32Array) -> None:
    length = float(_native.row_sums(rows.offsets, rows.values).sum())
    if length != model.statistics.length or not (rows.values > 0).all():
        _refuse(model)
    again = model._over_counts(model.items, model.statistics, rows, places).index.to_csr()
    own = model.index.to_csr()
    if not all(np.array_equal(getattr(again, each), getattr(own, each)) for each in ("indptr", "indices", "data")):
        _refuse(model)


def _refuse(model: Bm25) -> NoReturn:
    raise InputError(
        f"`items` must go to an index that tells how often its words occur. Got {model!r}: build it again."
    )
