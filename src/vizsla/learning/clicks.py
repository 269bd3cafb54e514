"""ClickLog: past queries, their vectors, and what was clicked for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.core.sparse import are_offsets, row_numbers
from vizsla.core.strings import Strings
from vizsla.core.validation import as_array, is_iterable
from vizsla.errors import FormatError, InputError
from vizsla.io.frames import frame_of, frame_rows
from vizsla.learning.matrices import Rows, is_sparse, numbers_of, says, stacked, unit_rows
from vizsla.learning.measures import reciprocal_ranks
from vizsla.typing import Int32Array, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.core.candidates import Candidates


def read_half_life(reader: ArtifactReader) -> float | None:
    """Return the parameter `half_life`: days, or None where clicks did not age."""
    days = reader.parameter("half_life", (float, int, type(None)))
    if days is None:
        return None
    if isinstance(days, bool) or not isfinite(days) or days <= 0:
        raise FormatError(f"{reader.path}: a half-life must be days, above 0. Got {days!r}.")
    return float(days)


Row = tuple[Any, ...]
MAX_WEIGHT = 2**30


def click_rows(clicks: Any) -> list[Row]:
    """Return the clicks as tuples of two texts, and perhaps a weight and a time; anything else raises.

    Examples
    --------
    >>> click_rows([["fig", "f", 2.0]])
    [('fig', 'f', 2.0)]
    """
    frame = frame_of(clicks, "clicks")
    if frame is not None:
        return list(frame_rows(frame, "clicks"))
    if not is_iterable(clicks):
        raise InputError(f"`clicks` must be a Dataset or (query, item, weight) triples. Got {type(clicks).__name__}.")
    rows = [tuple(row) if isinstance(row, Iterable) else (row,) for row in clicks]
    for row in rows:
        if len(row) not in (2, 3, 4) or not all(isinstance(field, str) for field in row[:2]):
            wanted = "(query text, item id) or (query text, item id, weight)"
            raise InputError(f"Every click must be {wanted}. Got {row!r:.100}.")
    return rows


def timed_rows(clicks: Any) -> list[Row]:
    """Return the clicks as (query text, item id, weight, time); one without a time raises.

    Examples
    --------
    >>> timed_rows([["fig", "f", 2.0, 86400.0]])
    [('fig', 'f', 2.0, 86400.0)]
    """
    rows = click_rows(clicks)
    wrong = [repr(row) for row in rows if len(row) != 4] if rows else ["no click"]
    if wrong:
        wanted = "For a half-life every click must have a time: (query, item, weight, time)"
        raise InputError(f"{wanted}. Got {wrong[0]:.100}.")
    return rows


def click_weights(weights: Any) -> NDArray[np.float64]:
    """Return weights of clicks; what is no number above 0 raises.

    Examples
    --------
    >>> click_weights([1.0, float("nan")])
    Traceback (most recent call last):
    vizsla.errors.InputError: A click's weight must be above 0 and below 2^30. Got nan.
    """
    values: NDArray[np.float64] = as_array("weight", weights, np.float64).reshape(-1)
    wrong = ~((values > 0) & (values < MAX_WEIGHT))  # NaN is neither
    if wrong.any():
        raise InputError(f"A click's weight must be above 0 and below 2^30. Got {values[int(wrong.argmax())]:g}.")
    return values


def click_times(times: Sequence[Any]) -> NDArray[np.float64]:
    """Return times of clicks, in seconds since 1970; what is no finite number raises.

    Examples
    --------
    >>> click_times([0, 86400.5]).tolist()
    [0.0, 86400.5]
    """
    values: NDArray[np.float64] = as_array("time", times, np.float64).reshape(-1)
    wrong = ~np.isfinite(values)
    if wrong.any():
        raise InputError(f"A click's time must be seconds since 1970. Got {values[int(wrong.argmax())]:g}.")
    return values


Triples = tuple[list[str], NDArray[np.int64], Int64Array]
Encode = Callable[[list[str]], Any]
WEIGHT_UNITS = 1024
"""Weights are counted in 1024ths: whole numbers, so that adding and taking away is exact in any order."""


class ClickLog:
    """Clicks as a matrix, past queries × items, with a vector of length 1 for every past query.

    Parameters
    ----------
    queries : Strings
        Past queries' texts, sorted, each once.
    vectors : float32 array or CSR array, queries × dimensions
        Their encodings, of length 1.
    offsets, items : arrays
        The items clicked for query `q` are ``items[offsets[q]:offsets[q + 1]]``, ascending.
    units : int64 array
        The clicks' weights, in 1024ths, above 0.
    width : int
        The number of items.
    silent : int
        How many queries were left out because the encoder makes nothing of them; not stored.
    half_life : float, optional
        The days after which the first clicks weighed half; those that come later count in full.
    """

    def __init__(
        self,
        queries: Strings,
        vectors: Rows,
        offsets: Int64Array,
        items: Int32Array,
        units: Int64Array,
        *,
        width: int,
        silent: int = 0,
        half_life: float | None = None,
    ):
        self.queries, self.vectors, self.offsets, self.items, self.units = queries, vectors, offsets, items, units
        self.width, self.silent, self.half_life = width, silent, half_life
        self._check()

    @classmethod
    def of(cls, clicks: Any, items: Strings, encode: Encode | None = None) -> Self:
        """Read clicks from a Dataset, or from (query text, item id) pairs with or without a weight; a time is not used.

        `encode` turns texts, given all at once and sorted, into rows: an array, or a CSR array. Without it, every query
        is kept, with a vector that says nothing.
        """
        return cls._build(*click_triples(clicks, items), encode or _unencoded, len(items))

    @classmethod
    def _build(
        cls, texts: Sequence[str], items: NDArray[np.int64], units: Int64Array, encode: Encode, width: int
    ) -> Self:
        names, rows = _numbered(texts)
        rows, items, units = summed_units(rows, items, units)
        # A query without clicks left is forgotten, before it can leave a trace in what the encoder knows.
        left, rows = np.unique(rows, return_inverse=True)
        names = [names[number] for number in left.tolist()]
        vectors = unit_rows(encode(names))
        useful = says(vectors)  # a query that the encoder turns into zeros says nothing
        kept = useful[rows]
        counts = np.bincount(rows[kept], minlength=len(names))[useful]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        chosen = Strings.of(name for name, use in zip(names, useful.tolist(), strict=True) if use)
        numbers, silent = items[kept].astype(np.int32), int((~useful).sum())
        return cls(chosen, vectors[useful], offsets, numbers, units[kept], width=width, silent=silent)

    def changed(self, clicks: Any, items: Strings, encode: Encode, *, sign: int = 1) -> tuple[Self, NDArray[np.int64]]:
        """Return the log with these clicks added (with sign -1, taken away), and the items that they touch.

        Of dense vectors only those of new texts are computed; sparse rows all, since they may get other columns.
        """
        texts, numbers, units = click_triples(clicks, items)
        if sign < 0:
            heard = self._heard(texts, encode)
            texts = [text for text, kept in zip(texts, heard.tolist(), strict=True) if kept]
            numbers, units = numbers[heard], units[heard]
        old = self.take_queries(self.rows)

        def known(names: list[str]) -> Rows:
            at = self.queries.find_all(names) if len(self) and names else np.full(len(names), -1)
            missing = np.flatnonzero(at < 0)
            if not len(missing):
                return self.vectors[at]
            new = unit_rows(encode([names[i] for i in missing]))
            at[missing] = len(self) + np.arange(len(missing))
            return stacked([self.vectors, new])[at]

        log = type(self)._build(
            [*old, *texts],
            np.concatenate([self.items.astype(np.int64), numbers]),
            np.concatenate([self.units, sign * units]),
            encode if is_sparse(self.vectors) else known,
            self.width,
        )
        log.half_life = self.half_life
        return log, np.unique(numbers)

    def _heard(self, texts: Sequence[str], encode: Encode) -> NDArray[np.bool_]:
        """Return whether each query says something: what says nothing was never kept, and cannot go."""
        unknown = sorted({text for text in texts if text not in self.queries})
        says_so = says(unit_rows(encode(unknown))).tolist() if unknown else []
        silent = {text for text, useful in zip(unknown, says_so, strict=True) if not useful}
        return np.array([text not in silent for text in texts], np.bool_)

    def __len__(self) -> int:
        return int(self.vectors.shape[0])

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return int(self.vectors.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of vectors and clicks."""
        return int(self.vector_bytes + self.offsets.nbytes + self.items.nbytes + self.units.nbytes)

    @property
    def vector_bytes(self) -> int:
        """Bytes of the past queries' vectors."""
        if is_sparse(self.vectors):
            return int(self.vectors.data.nbytes + self.vectors.indices.nbytes + self.vectors.indptr.nbytes)
        return int(self.vectors.nbytes)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Every click's weight, by that of its query's heaviest."""
        if not len(self):
            return np.zeros(0)
        heaviest = np.maximum.reduceat(self.units, self.offsets[:-1])
        return np.asarray(self.units / np.repeat(heaviest, np.diff(self.offsets)))

    @property
    def clicked(self) -> NDArray[np.bool_]:
        """Which items have clicks: one flag an item."""
        clicked = np.zeros(self.width, np.bool_)
        clicked[self.items] = True
        return clicked

    @property
    def rows(self) -> NDArray[np.int64]:
        """The query number of every click."""
        return row_numbers(self.offsets)

    @property
    def matrix(self) -> csr_array:
        """The clicks, queries × items, in units."""
        from scipy.sparse import csr_array

        return csr_array((self.units, self.items, self.offsets), shape=(len(self), self.width))

    @property
    def binary(self) -> Self:
        """The same clicks, each of weight 1."""
        units = np.full(len(self.units), WEIGHT_UNITS, np.int64)
        clicks = self.vectors, self.offsets, self.items, units
        return type(self)(self.queries, *clicks, width=self.width, half_life=self.half_life)

    @cached_property
    def texts(self) -> list[str]:
        """The past queries' texts."""
        return list(self.queries)

    @cached_property
    def clicks(self) -> csr_array:
        """The clicks' weights, queries × items, float32."""
        matrix = self.matrix.astype(np.float32)
        matrix.data /= WEIGHT_UNITS
        return matrix

    def take(self, numbers: NDArray[np.int64]) -> Self:
        """Return the log of these queries, in this order."""
        part = self.matrix[numbers]
        clicks = part.indptr.astype(np.int64), part.indices.astype(np.int32), part.data
        texts = Strings.of(self.take_queries(numbers))
        return type(self)(texts, self.vectors[numbers], *clicks, width=self.width, half_life=self.half_life)

    def reciprocal_ranks(self, found: Candidates, scores: NDArray[np.float32] | None = None) -> NDArray[np.float64]:
        """Return 1 / rank of each query's first clicked item, 0 beyond rank 10; by other scores, where given."""
        relevant = np.asarray(self.clicks[found.row_numbers(), found.items] > 0).reshape(-1)
        return reciprocal_ranks(found.offsets, found._required_scores() if scores is None else scores, relevant)

    def only(self, kept: NDArray[np.bool_]) -> Self:
        """Return the log with only these clicks; queries without one are forgotten."""
        counts = np.bincount(self.rows[kept], minlength=len(self))
        useful = counts > 0
        offsets = np.concatenate([[0], np.cumsum(counts[useful])]).astype(np.int64)
        texts = Strings.of(self.take_queries(np.flatnonzero(useful)))
        clicks = offsets, self.items[kept], self.units[kept]
        return type(self)(texts, self.vectors[useful], *clicks, width=self.width, half_life=self.half_life)

    def renumbered(self, numbers: NDArray[np.int64], width: int) -> Self:
        """Return the clicks on items that have other numbers now, in the same order; those below 0 are gone."""
        kept = numbers[self.items] >= 0
        left = self if kept.all() else self.only(kept)
        items = numbers[left.items].astype(np.int32)
        clicks = left.vectors, left.offsets, items, left.units
        return type(self)(left.queries, *clicks, width=width, half_life=self.half_life)

    def encoded_by(self, encode: Encode) -> Self:
        """Return the same clicks with other vectors for their queries; one that they make nothing of is left out."""
        log = type(self)._build(
            self.take_queries(self.rows), self.items.astype(np.int64), self.units, encode, self.width
        )
        log.half_life = self.half_life
        return log

    def take_queries(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the texts of these queries."""
        return self.queries.take(numbers.astype(np.int32)) if len(numbers) else []

    def write(self, writer: ArtifactWriter) -> None:
        """Store the log among an artifact's files."""
        writer.strings("queries", self.queries)
        writer.parameters(log_terms=self.dim if is_sparse(self.vectors) else None, half_life=self.half_life)
        if is_sparse(self.vectors):
            writer.array("query_offsets", self.vectors.indptr.astype(np.int64))
            writer.array("query_terms", self.vectors.indices.astype(np.int32))
            writer.array("query_weights", self.vectors.data)
        else:
            writer.array("query_vectors", self.vectors)
        writer.array("click_offsets", self.offsets)
        writer.array("click_items", self.items)
        writer.array("click_units", self.units)

    @classmethod
    def read(cls, reader: ArtifactReader, *, width: int) -> Self:
        """Read what `write` stored."""
        parts = (
            reader.strings("queries"),
            _read_vectors(reader),
            reader.array("click_offsets", np.int64),
            reader.array("click_items", np.int32),
            reader.array("click_units", np.int64),
        )
        try:
            return cls(*parts, width=width, half_life=read_half_life(reader))
        except InputError as error:
            raise FormatError(f"{reader.path / 'click_items.npy'}: {error}") from error

    def _check(self) -> None:
        offsets, items = self.offsets, self.items
        if len(self.queries) != len(self) or len(offsets) != len(self) + 1:
            raise InputError("The log must have a vector and a row of clicks for every query. Got another number.")
        rises = are_offsets(offsets, len(items)) and (offsets[1:] > offsets[:-1]).all()
        if not rises or len(self.units) != len(items):
            raise InputError("The log's offsets must rise from 0 to the number of clicks. Got others.")
        if len(items) and not (items.min() >= 0 and items.max() < self.width and self.units.min() > 0):
            raise InputError(f"Every click must be on one of {self.width} items, with a weight above 0.")
        numbers = numbers_of(self.vectors)
        if not np.isfinite(numbers).all() or (np.abs(numbers) > 1.01).any():
            raise InputError("The log's vectors must have length 1. Got others.")


def _unencoded(texts: list[str]) -> NDArray[np.float32]:
    return np.ones((len(texts), 1), np.float32)


def _read_vectors(reader: ArtifactReader) -> Rows:
    terms = reader.parameter("log_terms", (int, type(None)))
    if terms is None:
        return reader.array("query_vectors", np.float32, ndim=2)
    from scipy.sparse import csr_array

    offsets, numbers = reader.array("query_offsets", np.int64), reader.array("query_terms", np.int32)
    weights = reader.array("query_weights", np.float32)
    rises = are_offsets(offsets, len(numbers))
    if not rises or len(numbers) != len(weights) or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < terms):
        raise FormatError(f"{reader.path / 'query_terms.npy'}: the past queries' rows do not fit together.")
    return csr_array((weights, numbers, offsets), shape=(len(offsets) - 1, terms))


def click_triples(clicks: Any, items: Strings) -> Triples:
    """Return each click's query text, item number and weight in 1024ths; see `ClickLog.of`.

    Examples
    --------
    >>> texts, items, units = click_triples([("red", "f"), ("green", "p", 2.0)], Strings.of(["f", "p"]))
    >>> texts, items.tolist(), units.tolist()
    (['red', 'green'], [0, 1], [1024, 2048])
    """
    from vizsla.data.dataset import Dataset

    if isinstance(clicks, Dataset):
        return _from_dataset(clicks, items)
    rows = click_rows(clicks)
    numbers = items.find_all(row[1] for row in rows)
    if (numbers < 0).any():
        raise InputError(f"Every click must be on an item of the base. Got {rows[int(np.argmin(numbers))][1]!r}.")
    return [row[0] for row in rows], numbers, click_units([row[2] if len(row) > 2 else 1.0 for row in rows])


def _from_dataset(dataset: Any, items: Strings) -> Triples:
    clicks = dataset.clicks.tocsr().sorted_indices()
    numbers = np.arange(len(items))
    if dataset.item_ids != items:
        numbers = items.find_all(dataset.item_ids)
    found = numbers[clicks.indices]
    if (found < 0).any():
        unknown = dataset.item_ids[int(clicks.indices[int(np.argmin(found))])]
        raise InputError(f"Every click must be on an item of the base. Got {unknown!r}.")
    _, texts = dataset.query_texts()
    rows = row_numbers(clicks.indptr)
    return [texts[row] for row in rows.tolist()], found, click_units(clicks.data)


def click_units(weights: Any) -> Int64Array:
    """Return weights of clicks in 1024ths, at least one each."""
    return np.maximum(np.rint(click_weights(weights) * WEIGHT_UNITS), 1).astype(np.int64)


def _numbered(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    names = sorted(set(texts))
    number = {name: at for at, name in enumerate(names)}
    return names, np.fromiter((number[text] for text in texts), np.int64, len(texts))


def summed_units(
    rows: NDArray[np.int64], items: NDArray[np.int64], units: Int64Array
) -> tuple[NDArray[np.int64], NDArray[np.int64], Int64Array]:
    """Sum repeated clicks; drop pairs of weight 0; a negative sum raises."""
    if not len(rows):
        return rows, items, units
    order = np.lexsort((items, rows))
    rows, items, units = rows[order], items[order], units[order]
    firsts = np.flatnonzero(np.r_[True, (np.diff(rows) != 0) | (np.diff(items) != 0)])
    totals = np.add.reduceat(units, firsts)
    if totals.min() < 0:
        raise InputError("Only clicks that are there can be taken away. Got more than there are.")
    kept = totals > 0
    return rows[firsts][kept], items[firsts][kept], totals[kept]
