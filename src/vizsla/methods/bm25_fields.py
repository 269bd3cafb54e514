"""BM25F: counts of words by field, which weights turn into one frequency per word, and the choice of the weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.core.sparse import SparseRows, row_numbers
from vizsla.errors import FormatError, InputError
from vizsla.learning.selection import FIELD_ERRORS, MIN_QUERIES, Choice, ChoiceWarning, choose
from vizsla.text.bag_of_words import BagOfWords
from vizsla.typing import BoolArray, Float64Array, Int32Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

HALF_COUNT = 0.5
"""Counts and lengths are whole numbers of halves: an English word counts by half as its root."""


class Field(NamedTuple):
    """A text field: its words count `weight` times, and their frequency falls with the field's length by `b`."""

    name: str
    weight: float
    b: float


def field_scales(field: Field, lengths: NDArray[Any], means: Float64Array) -> Float64Array:
    """Return what one occurrence of a word gives in a field of each length: w / (1 - b + b · length / mean).

    Examples
    --------
    >>> field_scales(Field("title", 3.0, 0.5), np.uint32([2, 4]), np.array([2.0, 2.0])).tolist()
    [4.0, 3.0]
    """
    relative = lengths * HALF_COUNT / np.where(means, means, 1.0)
    divisor = 1 - field.b + field.b * relative
    return np.where(divisor > 0, field.weight / np.where(divisor > 0, divisor, 1.0), 0.0)


def field_frequencies(
    fields: Sequence[Field], counts: NDArray[Any], scales: Iterable[Float64Array]
) -> NDArray[np.float32]:
    """Return the frequency of each word: what its occurrences in each field give, added in the order of the fields."""
    total = np.zeros(len(counts))
    for place, scale in zip(range(len(fields)), scales, strict=True):
        total += counts[:, place] * HALF_COUNT * scale
    return total.astype(np.float32)


@dataclass(frozen=True, eq=False)
class FieldCounts:
    """How many items have each field, and how long it is in all of them, language by language: whole numbers.

    Parameters
    ----------
    names : tuple of str
        The fields.
    documents : int64 array, languages × fields
        The number of items whose field is not empty.
    lengths : float64 array, languages × fields
        Tokens of the field in all items; roots count by half.
    """

    names: tuple[str, ...]
    documents: Int64Array
    lengths: Float64Array

    def __post_init__(self) -> None:
        shapes = {self.documents.shape, self.lengths.shape}
        if len(shapes) > 1 or self.documents.ndim != 2 or self.documents.shape[1] != len(self.names):
            raise InputError(f"`fields` must count {len(self.names)} fields in each language. Got others.")
        if (self.documents < 0).any() or not (self.lengths >= 0).all() or (self.lengths * 2 % 1).any():
            raise InputError("`fields` must count 0 or more, in whole numbers or halves. Got others.")

    @classmethod
    def of_lengths(cls, names: tuple[str, ...], lengths: NDArray[Any], places: Int32Array, languages: int) -> Self:
        """Count items by the lengths of their fields, in halves; `places` has the language of each, or is empty."""
        rows = places if len(places) else np.zeros(len(lengths), np.int32)
        found = [np.bincount(rows, column > 0, languages) for column in lengths.T]
        sums = [np.bincount(rows, column * HALF_COUNT, languages) for column in lengths.T]
        return cls(names, np.stack(found, axis=1).astype(np.int64), np.stack(sums, axis=1))

    @property
    def means(self) -> Float64Array:
        """The mean length of each field in the items that have it, languages × fields."""
        return np.asarray(self.lengths / np.maximum(self.documents, 1), np.float64)

    def merged(self, other: FieldCounts) -> FieldCounts:
        """Return the sum of both, which must count the same fields."""
        if other.names != self.names:
            raise InputError(f"Statistics to merge must count one set of fields. Got {self.names} and {other.names}.")
        return FieldCounts(self.names, self.documents + other.documents, self.lengths + other.lengths)

    def write(self, writer: ArtifactWriter) -> None:
        """Store the counts."""
        writer.array("field_documents", self.documents)
        writer.array("field_total_lengths", self.lengths)

    @classmethod
    def read(cls, reader: ArtifactReader, names: Sequence[Any]) -> Self:
        """Read and check the counts."""
        try:
            arrays = (
                reader.array("field_documents", np.int64, ndim=2),
                reader.array("field_total_lengths", np.float64, ndim=2),
            )
            return cls(tuple(map(str, names)), *arrays)
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


@dataclass(frozen=True, eq=False)
class FieldRows:
    """Rows of items: each word once, with its count in every field.

    Parameters
    ----------
    rows : SparseRows
        The words of each item; the values are their counts in all fields together.
    counts : uint32 array, entries × fields
        In halves.
    lengths : uint32 array, items × fields
        The length of each field, in halves.
    places : int32 array
        The language of each item; empty where there is one at most.
    """

    rows: SparseRows
    counts: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    places: Int32Array

    @classmethod
    def of(cls, rows: SparseRows, fields: int, places: Int32Array) -> Self:
        """Join rows of fields, as `BagOfWords.fit_fields` gives them."""
        offsets, terms, flat = _native.join_fields(rows.offsets, rows.columns, rows.values, rows.width, fields)
        counts = flat.reshape(-1, fields)
        lengths = np.rint(2 * _native.row_sums(rows.offsets, rows.values)).astype(np.uint32).reshape(-1, fields)
        together = (counts.sum(axis=1) * HALF_COUNT).astype(np.float32)
        return cls(SparseRows(offsets, terms, together, rows.width), counts, lengths, places)

    def weighed(self, fields: Sequence[Field], known: FieldCounts) -> SparseRows:
        """Return the rows with one frequency per word, by the mean lengths of a catalog."""
        owners = row_numbers(self.rows.offsets)
        means = known.means[self.places] if len(self.places) else np.broadcast_to(known.means[:1], self.lengths.shape)
        scales = (field_scales(each, self.lengths[:, at], means[:, at])[owners] for at, each in enumerate(fields))
        values = field_frequencies(fields, self.counts, scales)
        return SparseRows(self.rows.offsets, self.rows.columns, values, self.rows.width)

    def only(self, fields: Sequence[int]) -> FieldRows:
        """Return the rows with some of the fields, and the words that these hold."""
        counts = self.counts[:, list(fields)]
        held = counts.any(axis=1)
        offsets = np.concatenate([[0], np.cumsum(held)]).astype(np.int64)[self.rows.offsets]
        together = (counts[held].sum(axis=1) * HALF_COUNT).astype(np.float32)
        rows = SparseRows(offsets, self.rows.columns[held], together, self.rows.width)
        return FieldRows(rows, counts[held], self.lengths[:, list(fields)], self.places)


def read_fields(stream: Any, names: tuple[str, ...], analyzer: Any) -> tuple[BagOfWords, FieldRows]:
    """Read the fields of a catalog once; return the vocabulary and the rows."""
    words, rows, places = BagOfWords.fit_fields(stream, analyzer, len(names))
    return words, FieldRows.of(rows, len(names), places)


@dataclass(frozen=True, eq=False)
class FieldPostings:
    """What explanations need of the fields: the counts of each posting, in halves, and the lengths of each item.

    Parameters
    ----------
    counts : array of unsigned integers, postings × fields
        In the order of the index's postings.
    lengths : uint32 array, items × fields
        In halves.
    """

    counts: NDArray[Any]
    lengths: NDArray[np.uint32]

    @classmethod
    def of(cls, rows: SparseRows, counts: NDArray[np.uint32], lengths: NDArray[np.uint32], held: BoolArray) -> Self:
        """Order the counts of rows as an index of the rows has its postings: by term, then by item; some are none."""
        order = np.argsort(rows.columns, kind="stable")
        most = int(counts.max(initial=0))
        kind = np.uint8 if most < 2**8 else np.uint16 if most < 2**16 else np.uint32
        return cls(counts[order[held[order]]].astype(kind), lengths)

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return int(self.counts.nbytes + self.lengths.nbytes)

    def shares(self, fields: Sequence[Field], posting: int, item: int, means: Float64Array) -> Float64Array:
        """Return which part of a posting's frequency each field gives; they add up to 1."""
        lengths, counts = self.lengths[item : item + 1], self.counts[posting].astype(np.float64) * HALF_COUNT
        scales = [field_scales(field, lengths[:, at], means[at : at + 1])[0] for at, field in enumerate(fields)]
        given = counts * np.array(scales)
        return np.asarray(given / given.sum(), np.float64)

    def write(self, writer: ArtifactWriter) -> None:
        """Store the arrays."""
        writer.array("field_counts", self.counts)
        writer.array("field_lengths", self.lengths)

    @classmethod
    def read(cls, reader: ArtifactReader, postings: int, items: int, fields: int, size: int) -> Self:
        """Read and check the arrays; `size` is the number of bytes per count."""
        if size not in (1, 2, 4):
            raise FormatError(f"{reader.path}: counts of fields must have 1, 2 or 4 bytes. Got {size}.")
        counts = reader.array("field_counts", f"u{size}", ndim=2)
        lengths = reader.array("field_lengths", np.uint32, ndim=2)
        if counts.shape != (postings, fields) or lengths.shape != (items, fields):
            raise FormatError(f"{reader.path}: there must be counts for {postings} postings of {fields} fields.")
        return cls(counts, lengths)


TRIED_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
"""Weights of a field that are tried; one that is best with 0 is left out."""
TRIED_B = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Values of `b` that are tried for a field."""
MAX_QUERIES = 4000
MAX_ROUNDS = 4
MEASURED_DEPTH = 10
MEASURE = "MRR@10"
STARTING_WEIGHTS = (1.0, 3.0)
"""Weights of the first field to begin with, beside 1 for the others; the better one is taken."""

Measured = Callable[[tuple[Field, ...]], Float64Array]


def choose_fields(fields: Sequence[Field], measured: Measured) -> tuple[tuple[Field, ...], Choice]:
    """Select weights and length norms, one after another, on queries with clicks.

    Nothing but these few numbers is learned, by a method that sees no click otherwise: no click need be held out.

    Parameters
    ----------
    fields : sequence of Field
        All of weight 1, with the `b` to begin with.
    measured : function of fields
        Returns the reciprocal rank of each query's first clicked item.
    """
    tried: dict[tuple[Field, ...], Float64Array] = {}

    def quality(some: tuple[Field, ...]) -> float:
        if some not in tried:
            tried[some] = measured(tuple(field for field in some if field.weight > 0))
        return float(tried[some].mean())

    best = max((_with(tuple(fields), 0, weight=weight) for weight in STARTING_WEIGHTS), key=quality)
    for _ in range(MAX_ROUNDS):
        before = best
        for place in range(len(fields)):
            for name, values in (("weight", TRIED_WEIGHTS), ("b", TRIED_B)):
                options = [_with(best, place, **{name: value}) for value in values]
                options = [some for some in options if any(field.weight for field in some)]
                found = max(options, key=quality)
                gains = tried[found] - tried[best]
                sure = gains.mean() > FIELD_ERRORS * gains.std() / np.sqrt(len(gains))
                best = found if sure else best
        if best == before:
            break
    trials = [{"fields": describe_fields(some)} for some in tried]
    at = list(tried).index(best)
    choice = choose(trials, list(tried.values()), measure=MEASURE, rule=lambda trials, values: at)
    return tuple(field for field in best if field.weight > 0), choice


def _with(fields: tuple[Field, ...], place: int, **changes: Any) -> tuple[Field, ...]:
    return (*fields[:place], fields[place]._replace(**changes), *fields[place + 1 :])


def describe_fields(fields: Sequence[Field]) -> str:
    """Return fields in words.

    Examples
    --------
    >>> describe_fields([Field("title", 3.0, 0.5), Field("text", 1.0, 0.75)])
    'title^3 b 0.5, text^1 b 0.75'
    """
    return ", ".join(f"{field.name}^{field.weight:g} b {field.b:g}" for field in fields)


def too_few_clicks(queries: int) -> bool:
    """Warn that weights stay 1 where there are too few queries with clicks to choose by."""
    if queries >= MIN_QUERIES:
        return False
    warnings.warn(
        f"Weights of fields must be chosen on at least {MIN_QUERIES} queries with clicks. Got {queries}: every field "
        "weighs 1.",
        ChoiceWarning,
        stacklevel=4,
    )
    return True
