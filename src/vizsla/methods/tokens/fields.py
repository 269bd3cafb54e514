"""Fields in token lists: a token of a field that weighs more than the others is a token of its own, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.text.bag_of_words import BagOfWords, joined
from vizsla.typing import Float32Array, Int32Array, Int64Array


class FieldedRows(NamedTuple):
    """The tokens of items, and those of their fields.

    Attributes
    ----------
    words : BagOfWords
        The tokens, and after them those of fields, such as `title:fig`, which no query names.
    rows : SparseRows
        Which of them each item holds.
    lengths : int32 array
        How many tokens each item has; those of fields do not count.
    offsets, targets, gains : arrays
        The tokens of fields that each token adds to, and how many times its own weight.
    """

    words: BagOfWords
    rows: SparseRows
    lengths: Int32Array
    offsets: Int64Array
    targets: Int32Array
    gains: Float32Array


def fielded(words: BagOfWords, rows: SparseRows, weights: Mapping[str, float]) -> FieldedRows:
    """Join the rows of fields: a token counts the least weight, and more for each heavier field that holds it.

    Parameters
    ----------
    words : BagOfWords
        The tokens of all fields.
    rows : SparseRows
        One row for each field, item by item.
    weights : mapping of str to float
        What each field weighs.

    Examples
    --------
    >>> words, rows, _ = BagOfWords.fit_fields([("fig", "red fig"), ("", "fig")], None, 2)
    >>> found = fielded(words, rows, {"title": 3, "text": 1})
    >>> found.words.terms[:], found.rows.columns.tolist(), found.gains.tolist()
    (['fig', 'red', 'title:fig'], [0, 1, 2, 0], [2.0])
    """
    count, tokens, least = len(rows) // len(weights), words.dim, min(weights.values())
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.offsets))
    items, fields = np.divmod(row_of, len(weights))
    terms, known = [words.terms], tokens
    held, sources, excesses = [np.stack([items, rows.columns])], [], []
    for at, (name, weight) in enumerate(weights.items()):
        if weight <= least:
            continue
        own = fields == at
        there, columns = np.unique(rows.columns[own], return_inverse=True)
        held.append(np.stack([items[own], known + columns]))
        terms.append(Strings.of(f"{name}:{token}" for token in words.terms.take(there.astype(np.int32))))
        sources.append(there)
        excesses.append(np.full(len(there), weight / least - 1, np.float32))
        known += len(there)
    pairs = np.concatenate(held, axis=1)
    items, columns = np.divmod(np.unique(pairs[0] * known + pairs[1]), known)
    bounds = np.searchsorted(items, np.arange(count + 1))
    joined_rows = SparseRows(bounds, columns.astype(np.int32), np.ones(len(columns), np.float32), known)
    lengths = np.bincount(items[columns < tokens], minlength=count).astype(np.int32)
    source = np.concatenate([np.zeros(0, np.int64), *sources]).astype(np.int64)
    order = np.argsort(source, kind="stable")  # targets of a token ascend, as fields do
    offsets = np.searchsorted(source[order], np.arange(known + 1))
    targets = (tokens + order).astype(np.int32)
    gains = np.concatenate([np.zeros(0, np.float32), *excesses])[order]
    return FieldedRows(_with_terms(words, terms), joined_rows, lengths, offsets, targets, gains)


def _with_terms(words: BagOfWords, terms: list[Strings]) -> BagOfWords:
    together = terms[0]
    for more in terms[1:]:
        together = joined(together, more)
    forms = None if words.forms is words.terms else words.forms
    return BagOfWords(words.analyzer, together, forms, words.term_of_form if forms is not None else None)
