"""TokenTable: learned token weights and expansions for queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.artifacts.artifact import Artifact
from vizsla.base.encoder import Encoder
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows, are_offsets, row_numbers
from vizsla.core.validation import validate_args
from vizsla.errors import InputError
from vizsla.text.bag_of_words import BagOfWords
from vizsla.typing import Float32Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


def token_shares(words: BagOfWords, query: str, asked: SparseRows, given: SparseRows) -> list[Explanation]:
    """Return what each shared token gives, the most first; tokens that the query does not say are expansions.

    Parameters
    ----------
    words : BagOfWords
        Whose tokens they are.
    query : str
        The query.
    asked, given : SparseRows
        The query's vector and the item's, one row each.
    """
    gives = dict(zip(given.columns.tolist(), given.values.tolist(), strict=True))
    own = set(words.queries([query]).columns.tolist())
    parts = [
        _share(words.terms[token], weight, gives[token], own=token in own)
        for token, weight in zip(asked.columns.tolist(), asked.values.tolist(), strict=True)
        if token in gives
    ]
    return sorted(parts, key=lambda part: -part.score)


def _share(token: str, asked: float, given: float, *, own: bool) -> Explanation:
    name = f"{token!r}{'' if own else ' (expansion)'}"
    return Explanation(float(np.float32(asked) * np.float32(given)), f"{name}: {asked:.4f} × {given:.4f}")


class TokenTable(Encoder, Artifact):
    """Encodes a query as weighted tokens by table look-up, without a model.

    A query's row is the sum over its distinct tokens of each one's weight on itself and its gains on other tokens; what
    comes out below 0 counts as 0.

    Parameters
    ----------
    words : BagOfWords
        How a text becomes tokens.
    weights : float32 array
        Weight of each token.
    offsets : int64 array, optional
        Where each token's expansion begins in `targets`; one more than tokens. Without it there is none.
    targets : int32 array, optional
        The tokens that it adds to, ascending.
    gains : float32 array, optional
        Weight of each expansion.

    Examples
    --------
    >>> words, _ = BagOfWords.fit(["fig", "fruit"])
    >>> weights, offsets = np.float32([1, 2]), np.array([0, 1, 1])
    >>> table = TokenTable(words, weights, offsets, np.int32([1]), np.float32([0.5]))
    >>> table.queries(["a fig"]).toarray().tolist()
    [[1.0, 0.5]]
    """

    kind = "token-table"
    sparse = True

    @validate_args
    def __init__(
        self,
        words: BagOfWords,
        weights: Float32Array,
        offsets: Int64Array | None = None,
        targets: Int32Array | None = None,
        gains: Float32Array | None = None,
    ):
        self.words, self.weights = words, weights
        self.offsets = np.zeros(words.dim + 1, np.int64) if offsets is None else offsets
        self.targets = np.zeros(0, np.int32) if targets is None else targets
        self.gains = np.zeros(0, np.float32) if gains is None else gains
        self._check()

    @property
    def dim(self) -> int:
        """The number of tokens."""
        return self.words.dim

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the vocabulary and every number."""
        seen = _native.checksum(np.frombuffer(self.words.fingerprint.encode(), np.uint8))
        for array in (self.weights, self.offsets, self.targets, self.gains):
            seen = _native.checksum(np.ascontiguousarray(array).view(np.uint8), seen)
        return f"token-table:{seen:016x}"

    @property
    def nbytes(self) -> int:
        """Bytes of the vocabulary and the table."""
        own = self.weights.nbytes + self.offsets.nbytes + self.targets.nbytes + self.gains.nbytes
        return int(self.words.nbytes + own)

    @property
    def expands(self) -> bool:
        """Whether any token calls another to mind."""
        return len(self.targets) > 0

    def __repr__(self) -> str:
        return f"TokenTable({self.dim:,} tokens, {len(self.targets):,} expansions)"

    def queries(self, texts: Sequence[str]) -> SparseRows:
        """Return each text's weighted tokens."""
        return self.weighted(self.words.queries(texts))

    def items(self, texts: Sequence[str]) -> SparseRows:
        """Return which tokens each text holds: items carry no weights."""
        rows = self.words.queries(texts)
        return rows.with_values(np.ones(len(rows.columns), np.float32))

    def weighted(self, rows: SparseRows) -> SparseRows:
        """Return the weighted tokens of rows that `words` made."""
        if not self.expands:
            return rows.with_values(self.weights[rows.columns])
        numbers, edges = self.edges(rows)
        keys = np.concatenate([rows.row_numbers(), numbers]) * self.dim
        keys += np.concatenate([rows.columns, self.targets[edges]])
        values = np.concatenate([self.weights[rows.columns], self.gains[edges]])
        return _summed(keys, values, len(rows), self.dim)

    def edges(self, rows: SparseRows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the row and the place in `targets` of every expansion that rows of `words` have."""
        first, counts = self.offsets[rows.columns], np.diff(self.offsets)[rows.columns]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
        return np.repeat(rows.row_numbers(), counts), places

    def with_edges(self, offsets: Int64Array, targets: Int32Array) -> TokenTable:
        """Return the table with room for more expansions, at 0; existing ones are not changed.

        Examples
        --------
        >>> words, _ = BagOfWords.fit(["fig", "fruit"])
        >>> table = TokenTable(words, np.float32([1, 2]), np.array([0, 1, 1]), np.int32([1]), np.float32([0.5]))
        >>> more = table.with_edges(np.array([0, 1, 2]), np.int32([1, 0]))
        >>> more.targets.tolist(), more.gains.tolist()
        ([1, 0], [0.5, 0.0])
        """
        old = row_numbers(self.offsets) * self.dim + self.targets
        new = row_numbers(offsets) * self.dim + targets
        keys = np.union1d(old, new)
        gains = np.zeros(len(keys), np.float32)
        gains[np.searchsorted(keys, old)] = self.gains
        starts = np.searchsorted(keys, np.arange(self.dim + 1) * self.dim).astype(np.int64)
        return TokenTable(self.words, self.weights, starts, (keys % max(self.dim, 1)).astype(np.int32), gains)

    def _check(self) -> None:
        if self.weights.shape != (self.dim,) or not np.isfinite(self.weights).all():
            raise InputError(f"`weights` must be {self.dim} finite numbers, one a token. Got {self.weights.shape}.")
        if len(self.offsets) != self.dim + 1 or not are_offsets(self.offsets, len(self.targets)):
            raise InputError(f"`offsets` must rise from 0 to the {len(self.targets)} targets. Got others.")
        if len(self.gains) != len(self.targets) or not np.isfinite(self.gains).all():
            raise InputError(f"`gains` must be {len(self.targets)} finite numbers, one a target. Got others.")
        if len(self.targets) and not 0 <= self.targets.min() <= self.targets.max() < self.dim:
            raise InputError(f"`targets` must be tokens below {self.dim}. Got others.")

    def _live_parts(self) -> tuple[BagOfWords]:
        return (self.words,)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.child("words", self.words)
        for name in ("weights", "offsets", "targets", "gains"):
            writer.array(name, getattr(self, name))

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        arrays = reader.array("weights", np.float32), reader.array("offsets", np.int64)
        more = reader.array("targets", np.int32), reader.array("gains", np.float32)
        return cls(reader.child("words", BagOfWords), *arrays, *more)


def _summed(keys: NDArray[np.int64], values: Float32Array, count: int, width: int) -> SparseRows:
    """Add up the values of equal keys, in float64 and in their order, and leave out what is not above 0."""
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]]) if len(keys) else np.zeros(0, np.int64)
    sums = np.add.reduceat(values[order].astype(np.float64), firsts) if len(keys) else np.zeros(0)
    kept = firsts[sums > 0]
    offsets = np.searchsorted(keys[kept], np.arange(count + 1) * width).astype(np.int64)
    return SparseRows(offsets, (keys[kept] % width).astype(np.int32), sums[sums > 0].astype(np.float32), width)
