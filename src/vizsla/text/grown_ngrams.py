"""GrownNgrams: an encoder's n-grams, and after them those that only some other texts have."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.cached_property import cached_property
from vizsla.encoder import Encoder
from vizsla.sparse_rows import SparseRows
from vizsla.strings import Strings
from vizsla.text.ngram_fit import MOST
from vizsla.text.ngrams import KINDS, NgramTfidf
from vizsla.text.texts import batches, call_with
from vizsla.text.vocabulary import joined

Parts = list[NDArray[Any]]


class GrownNgrams(Encoder):
    """Encodes as its base does, with a column more for each n-gram that is new to it; old columns keep their numbers.

    A new n-gram weighs as much as the rarest of its kind that the base knows. A text without new n-grams has the base's
    own row; in another row the new ones take their part of its length. `NgramTfidf.grown` makes one.

    Parameters
    ----------
    base : NgramTfidf
        What has grown.
    more : sequence of Strings
        For each kind, the n-grams that are new.

    Examples
    --------
    >>> base = NgramTfidf.fit(["a red fig"], trigrams=0)
    >>> grown = base.grown(["red onion"])
    >>> [grown.feature_name(column) for column in grown.queries(["red onion"]).columns]
    ['red', 'onion', 'red#onion']
    """

    sparse = True

    def __init__(self, base: NgramTfidf, more: Sequence[Strings]):
        self.base, self.more = base, tuple(more)
        self._starts = list(accumulate(map(len, self.more), initial=base.dim))
        self._tables = [joined(old, new) for old, new in zip(base.names, self.more, strict=True)]
        self._weights, self._columns = self._numbered()
        self._lookup = base.native_lookup(self._tables, self._weights, self._columns)

    def _numbered(self) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Return weight and column of every feature, kind by kind: known n-grams, new ones, what the others share."""
        weights: Parts = []
        columns: Parts = []
        for kind, (old, new) in enumerate(zip(self.base.names, self.more, strict=True)):
            first, end = self.base.starts[kind], self.base.starts[kind + 1]
            own = self.base.weights[first:end]
            rarest = float(own[: len(old)].max(initial=0.0)) or 1.0
            weights += [own[: len(old)], np.full(len(new), rarest), own[len(old) :]]
            news = np.arange(self._starts[kind], self._starts[kind + 1])
            columns += [np.arange(first, first + len(old)), news, np.arange(first + len(old), end)]
        return np.concatenate(weights).astype(np.float32), np.concatenate(columns).astype(np.int32)

    @property
    def dim(self) -> int:
        """The number of features."""
        return self._starts[-1]

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the base and with what is new."""
        said = repr((self.base.fingerprint, [table.fingerprint for table in self.more])).encode()
        return f"grown-ngrams:{_native.checksum(np.frombuffer(said, np.uint8)):016x}"

    @property
    def nbytes(self) -> int:
        """Memory of the vocabularies, weights and columns."""
        return sum(table.nbytes for table in self._tables) + int(self._weights.nbytes + self._columns.nbytes)

    def queries(self, texts: Sequence[str], *, threads: int = 1) -> SparseRows:
        """Return the texts' features and values; the answer does not depend on `threads`."""
        return self.base.rows_of(self._lookup, texts, self.dim, threads=threads)

    def feature_name(self, feature: int) -> str:
        """Return the n-gram of a column; see `NgramTfidf.feature_name`."""
        if feature < self.base.dim:
            return self.base.feature_name(feature)
        kind = bisect_right(self._starts, feature) - 1
        return self.more[kind][feature - self._starts[kind]]


def grow_ngrams(base: NgramTfidf, texts: Iterable[str]) -> NgramTfidf | GrownNgrams:
    """Return an encoder that also knows the n-grams of these texts, or the base where none is new."""
    used = [share > 0 and end > first for share, (first, end) in zip(base.shares, pairwise(base.starts), strict=True)]
    builder = _native.NgramBuilder(base.lower, [MOST if use else 0 for use in used], 0)
    for batch in batches(texts):
        call_with(builder.add, batch)
    more = [_new(builder, kind, base.names[kind]) if used[kind] else Strings.of([]) for kind in range(len(KINDS))]
    return GrownNgrams(base, more) if any(map(len, more)) else base


def _new(builder: _native.NgramBuilder, kind: int, known: Strings) -> Strings:
    data, offsets, _, _ = builder.choose(kind, MOST, 1)
    met = list(Strings(data, offsets, np.zeros(0, np.uint32)))
    return Strings.of(met[place] for place in np.flatnonzero(known.find_all(met) < 0).tolist())
