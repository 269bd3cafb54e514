"""LanguageCounts: BM25's counts of a catalog in several languages, language by language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.errors import InputError
from vizsla.sparse_rows import SparseRows

Counts = NDArray[np.int64]
ARRAYS = {"keys": np.int64, "frequencies": np.int64, "documents": np.int64, "lengths": np.float64}
"""What there is to store, and its type."""


@dataclass(frozen=True, eq=False)
class LanguageCounts:
    """How many items of each language hold each term, how many items each language has, and how long they are.

    An item is in exactly one language, so every count of a catalog is the sum of its languages' counts. All of them are
    whole numbers (lengths may hold halves): counts of shards add up exactly, and those of deleted items can be
    subtracted.

    A term's items are kept apart by language: `keys` names the lists that are not empty.

    Parameters
    ----------
    keys : int64 array
        term × number of languages + language for each list, ascending.
    frequencies : int64 array
        The number of items in each list.
    documents : int64 array
        The number of items in each language.
    lengths : float64 array
        The number of tokens of each language's items; roots count by half.

    Examples
    --------
    >>> rows = SparseRows(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([1, 2, 1], np.float32), 2)
    >>> counts = LanguageCounts.of_rows(rows, np.array([0, 1], np.int32), 2)
    >>> counts.keys.tolist(), counts.frequencies.tolist(), counts.lengths.tolist()
    ([0, 1, 2], [1, 1, 1], [3.0, 1.0])
    """

    keys: Counts
    frequencies: Counts
    documents: Counts
    lengths: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("keys", "frequencies", "documents"):
            values = getattr(self, name)
            if not isinstance(values, np.ndarray) or values.dtype != np.int64 or values.ndim != 1:
                raise InputError(f"`{name}` must be an int64 array. Got {type(values).__name__}.")
        if len(self.keys) != len(self.frequencies) or len(self.documents) != len(self.lengths):
            raise InputError("`frequencies` must be as many as `keys`, and `lengths` as many as `documents`.")
        if len(self.keys) and (self.keys[0] < 0 or (np.diff(self.keys) <= 0).any()):
            raise InputError("`keys` must ascend from 0 or above. Got others.")
        if (self.frequencies <= 0).any() or (self.frequencies > self.documents[self.languages]).any():
            raise InputError("`frequencies` must be between 1 and the number of the language's items. Got others.")
        if (self.documents < 0).any() or not (self.lengths >= 0).all() or (self.lengths * 2 % 1).any():
            raise InputError("`documents` and `lengths` must be 0 or more, in whole numbers or halves. Got others.")

    @classmethod
    def of_rows(cls, rows: SparseRows, places: NDArray[np.int32], languages: int) -> Self:
        """Count items: `places` has the language of each row."""
        keys, frequencies = np.unique(keys_of(rows, places, languages), return_counts=True)
        sums = _native.row_sums(rows.offsets, rows.values)
        lengths = np.asarray(np.bincount(places, sums, languages), np.float64)
        documents = np.bincount(places, minlength=languages)
        return cls(keys, frequencies.astype(np.int64), documents.astype(np.int64), lengths)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """All counts by name."""
        return {name: getattr(self, name) for name in ARRAYS}

    @property
    def count(self) -> int:
        """The number of languages."""
        return len(self.documents)

    @property
    def terms(self) -> Counts:
        """The term of each list."""
        return self.keys // max(self.count, 1)

    @property
    def languages(self) -> Counts:
        """The language of each list."""
        return self.keys % max(self.count, 1)

    @property
    def means(self) -> NDArray[np.float64]:
        """Tokens an item in each language, 0 without items."""
        return np.asarray(self.lengths / np.maximum(self.documents, 1), np.float64)

    @property
    def nbytes(self) -> int:
        """Bytes of all counts."""
        return int(self.keys.nbytes + self.frequencies.nbytes + self.documents.nbytes + self.lengths.nbytes)

    def totals(self, terms: int) -> Counts:
        """Return how many items hold each term, in any language."""
        found = np.zeros(terms, np.int64)
        np.add.at(found, self.terms, self.frequencies)
        return found

    def find(self, terms: NDArray[np.int32], languages: Counts) -> Counts:
        """Return the number of the list of each term in a language, -1 for an empty one; both may be -1 for none."""
        keys = np.where((terms < 0) | (languages < 0), -1, terms.astype(np.int64) * self.count + languages)
        places = np.searchsorted(self.keys, keys)
        inside = places < len(self.keys)
        inside[inside] = self.keys[places[inside]] == keys[inside]
        return np.where(inside, places, -1)

    def merged(self, other: LanguageCounts, numbers: Counts) -> LanguageCounts:
        """Return the sum of both; `numbers` has the term that each of the other's terms is here."""
        moved = numbers[other.terms] * self.count + other.languages
        keys, places = np.unique(np.append(self.keys, moved), return_inverse=True)
        frequencies = np.zeros(len(keys), np.int64)
        np.add.at(frequencies, places, np.append(self.frequencies, other.frequencies))
        return LanguageCounts(keys, frequencies, self.documents + other.documents, self.lengths + other.lengths)

    def lists_of(self, rows: SparseRows, places: NDArray[np.int32]) -> SparseRows | None:
        """Return rows over terms as rows over lists and one column more; None if there is no such list."""
        keys = keys_of(rows, places, self.count)
        found = np.searchsorted(self.keys, keys)
        if len(keys) and (found.max() >= len(self.keys) or (self.keys[found] != keys).any()):
            return None
        return SparseRows(rows.offsets, found.astype(np.int32), rows.values, len(self.keys) + 1)


def keys_of(rows: SparseRows, places: NDArray[np.int32], languages: int) -> Counts:
    """Return the key of the list that each entry of the rows belongs to."""
    owners = np.repeat(places.astype(np.int64), np.diff(rows.offsets))
    return rows.columns.astype(np.int64) * languages + owners
