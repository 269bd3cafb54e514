"""Corpus statistics of BM25, which shards can share, and the variants of its formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla._internal.terminal import progress
from vizsla.artifacts.artifact import Artifact
from vizsla.core.sparse import SparseRows
from vizsla.core.validation import validate_args
from vizsla.errors import FormatError, InputError, check_choice, check_range
from vizsla.methods.bm25_fields import Field, FieldCounts, FieldRows, read_fields
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.fields import FieldStream, FieldWeights, resolved
from vizsla.text.streams import TextStream
from vizsla.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

VARIANTS = ("lucene", "robertson", "atire", "bm25l", "bm25+")
"""As Kamphuis et al. (ECIR 2020) distinguish them."""


@dataclass(frozen=True)
class Weighting:
    """A variant and its parameters.

    In every variant a word that occurs `count` times in an item gives it idf × f(count), where f rises from
    f(0) and saturates. Written as f(0) plus the rest, the rest is always a constant × count / (count + norm), with
    a norm that grows with the item's length. Only bm25l and bm25+ have an f(0) above 0, the `absent` share, which
    every item gets.

    Parameters
    ----------
    variant : str
        One of `VARIANTS`.
    k1 : float
        Saturation of repeated words: larger values saturate later.
    b : float
        Weight of the item's length, from 0 to 1.
    delta : float
        The floor of bm25l and bm25+.
    fields : tuple of Field
        The fields whose words are weighed apart (BM25F), each with a `b` of its own; none: a text is one field. The
        frequency of a word in the fields is then normalized by their lengths already, and takes the place of `count`.

    Examples
    --------
    >>> Weighting().idf(np.array([1, 3]), 3).round(4).tolist()
    [0.9808, 0.1335]
    """

    variant: str = "lucene"
    k1: float = 1.5
    b: float = 0.75
    delta: float = 0.5
    fields: tuple[Field, ...] = ()

    def __post_init__(self) -> None:
        check_choice("variant", self.variant, VARIANTS)
        for name in ("k1", "b", "delta"):
            if isinstance(value := getattr(self, name), bool) or not isinstance(value, (int, float, np.number)):
                raise InputError(f"`{name}` must be a number. Got {value!r}.")
            object.__setattr__(self, name, float(value))
        check_range("k1", self.k1, 0, 1e6)
        check_range("b", self.b, 0, 1)
        check_range("delta", self.delta, 0, 1e6)
        if self.variant == "bm25l" and self.k1 + self.delta == 0:
            raise InputError("`k1` and `delta` must not both be 0 for bm25l. Got 0 and 0.")

    def idf(self, frequencies: NDArray[np.int64] | Float64Array, count: float | NDArray[np.int64]) -> Float64Array:
        """Return how rare each term is, from the number of items that hold it; 0 for a term of no item."""
        df = np.maximum(frequencies, 1).astype(np.float64)
        if self.variant in ("lucene", "robertson"):
            odds = (count - df + 0.5) / (df + 0.5)
            inner = 1 + odds if self.variant == "lucene" else np.maximum(odds, 1)
        else:
            above, below = {"atire": (0, 0.0), "bm25l": (1, 0.5), "bm25+": (1, 0.0)}[self.variant]
            inner = (count + above) / (df + below)
        return np.where(frequencies > 0, np.log(np.maximum(inner, 1)), 0.0)

    def gains(self, idf: Float64Array) -> Float64Array:
        """Return what each term gives at most, beyond its `absent` share."""
        if self.variant in ("lucene", "robertson"):
            return idf
        if self.variant == "bm25l":
            return idf * (self.k1 + 1) * self.k1 / (self.k1 + self.delta)
        return idf * (self.k1 + 1)

    def norms(self, lengths: Float64Array, average: float | Float64Array) -> Float64Array:
        """Return the count at which each item gets half of a gain; `average` may be given for each item."""
        rate = self.k1 + self.delta if self.variant == "bm25l" else self.k1
        if self.fields:
            return np.full(len(lengths), rate)
        return np.asarray(rate * (1 - self.b + self.b * lengths / np.where(average, average, 1.0)), np.float64)

    def absent(self, idf: Float64Array) -> Float64Array | None:
        """Return what each term gives an item without it; None where that is nothing."""
        if self.delta == 0 or self.variant not in ("bm25l", "bm25+"):
            return None
        if self.variant == "bm25+":
            return idf * self.delta
        return idf * (self.k1 + 1) * self.delta / (self.k1 + self.delta)


STATISTICS_ARRAYS = {"keys": np.int64, "frequencies": np.int64, "documents": np.int64, "lengths": np.float64}
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

    keys: Int64Array
    frequencies: Int64Array
    documents: Int64Array
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
        return {name: getattr(self, name) for name in STATISTICS_ARRAYS}

    @property
    def count(self) -> int:
        """The number of languages."""
        return len(self.documents)

    @property
    def terms(self) -> Int64Array:
        """The term of each list."""
        return self.keys // max(self.count, 1)

    @property
    def languages(self) -> Int64Array:
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

    def totals(self, terms: int) -> Int64Array:
        """Return how many items hold each term, in any language."""
        found = np.zeros(terms, np.int64)
        np.add.at(found, self.terms, self.frequencies)
        return found

    def find(self, terms: NDArray[np.int32], languages: Int64Array) -> Int64Array:
        """Return the number of the list of each term in a language, -1 for an empty one; both may be -1 for none."""
        keys = np.where((terms < 0) | (languages < 0), -1, terms.astype(np.int64) * self.count + languages)
        places = np.searchsorted(self.keys, keys)
        inside = places < len(self.keys)
        inside[inside] = self.keys[places[inside]] == keys[inside]
        return np.where(inside, places, -1)

    def merged(self, other: LanguageCounts, numbers: Int64Array) -> LanguageCounts:
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


def keys_of(rows: SparseRows, places: NDArray[np.int32], languages: int) -> Int64Array:
    """Return the key of the list that each entry of the rows belongs to."""
    owners = np.repeat(places.astype(np.int64), np.diff(rows.offsets))
    return rows.columns.astype(np.int64) * languages + owners


TEXTS_PER_CHUNK = 16_384
"""Texts that are counted at once; the result does not depend on it."""
_MAX_EXACT_FLOAT = 2**52  # whole numbers and halves up to here are exact as floats


class Statistics(Artifact):
    """How many items there are, how many hold each word, how long they are: whole numbers and halves, added exactly.

    Shards that are built with the same statistics give each item the score that it has in the whole, bit for bit;
    `vizsla.shards` searches them as one.

    Parameters
    ----------
    words : BagOfWords
        The analyzer and the vocabulary.
    frequencies : int64 array
        The number of items that hold each term.
    documents : int
        The number of items.
    length : float
        The number of tokens in all items; those that count by half (roots) by half.
    languages : LanguageCounts, optional
        The same counts language by language, exactly when the analyzer has several languages.
    fields : FieldCounts, optional
        The lengths of the fields, where these are weighed.

    Examples
    --------
    >>> one, two = Statistics.of(["a fig tree", "plums"]), Statistics.of(["an apple tree"])
    >>> both = one.merged(two)
    >>> both
    Statistics(3 items, 6 terms, mean length 2.33)
    >>> both.frequency("tree"), both.frequency("plum"), both.frequency("pear")
    (2, 1, 0)
    """

    kind = "bm25-statistics"

    @validate_args
    def __init__(
        self,
        words: BagOfWords,
        frequencies: NDArray[np.int64],
        documents: int,
        length: float,
        languages: LanguageCounts | None = None,
        fields: FieldCounts | None = None,
    ):
        length = int(length) if isinstance(length, float) and length.is_integer() else length
        self.words, self.frequencies, self.documents, self.length = words, frequencies, documents, length
        self.languages, self.fields = languages, fields
        shape = frequencies.shape if isinstance(frequencies, np.ndarray) and frequencies.dtype == np.int64 else None
        if shape != (words.dim,):
            got = type(frequencies).__name__ if shape is None else shape
            raise InputError(f"`frequencies` must be an int64 array over {words.dim} terms. Got {got}.")
        for name, number in (("documents", documents), ("length", length)):
            if not 0 <= number <= _MAX_EXACT_FLOAT or number * 2 % 1:
                raise InputError(f"`{name}` must be between 0 and 2^52. Got {number}.")
        if words.dim and not 0 <= frequencies.min() <= frequencies.max() <= documents:
            raise InputError(f"`frequencies` must be between 0 and {documents}, the number of items. Got others.")
        self._check_languages()

    @classmethod
    @validate_args
    def of(
        cls,
        items: Any,
        *,
        analyzer: Analyzer | None = None,
        fields: Mapping[str, float] | Sequence[str] | str | None = None,
    ) -> Statistics:
        """Count a catalog in one pass; only the vocabulary and its counts are held.

        Parameters
        ----------
        items
            As for `bm25`.
        analyzer : Analyzer, optional
            How texts become words: `AnyLanguage` unless given. Its "auto" holds the items' words until their languages
            are known; with languages given, as with any other analyzer, only counts are held.
        fields : names or weights by name, optional
            The fields that shards will weigh, as for `bm25`; their weights do not matter here.
        """
        analyzer = analyzer or AnyLanguage()
        if fields is not None:
            names = resolved(items, FieldWeights.of(fields).names)
            stream = FieldStream(items, names)
            words, rows = read_fields(progress(stream.rows(), what="counting"), names, analyzer)
            return cls.of_fields(words, rows, names)
        texts = iter(progress(TextStream(items), what="counting"))
        if not analyzer.settled:
            return cls.of_rows(*BagOfWords.fit_items(texts, analyzer))
        return reduce(cls.merged, (cls.of_rows(*BagOfWords.fit_items(chunk, analyzer)) for chunk in _chunks(texts)))

    @classmethod
    def of_rows(cls, words: BagOfWords, rows: SparseRows, places: NDArray[np.int32] | None = None) -> Self:
        """Count rows that `words` made, one per item; `places` has the language of each where there are several."""
        frequencies = np.bincount(rows.columns, minlength=words.dim).astype(np.int64)
        several = len(words.analyzer.languages)
        if several > 1 and (places is None or len(places) != len(rows)):
            raise InputError(f"`places` must have the language of each of {len(rows)} items. Got others.")
        languages = None if places is None or several < 2 else LanguageCounts.of_rows(rows, places, several)
        return cls(words, frequencies, len(rows), float(rows.values.sum(dtype=np.float64)), languages)

    @classmethod
    def of_fields(cls, words: BagOfWords, rows: FieldRows, names: tuple[str, ...]) -> Self:
        """Count rows with fields."""
        several = max(len(words.analyzer.languages), 1)
        counted = cls.of_rows(words, rows.rows, rows.places)
        counted.fields = FieldCounts.of_lengths(names, rows.lengths, rows.places, several)
        return counted

    def __repr__(self) -> str:
        return f"Statistics({self.documents:,} items, {self.words.dim:,} terms, mean length {self.mean_length:.2f})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistics) and (self is other or self.fingerprint == other.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def mean_length(self) -> float:
        """Tokens an item, 0 without items."""
        return self.length / self.documents if self.documents else 0.0

    @property
    def analyzer(self) -> Analyzer:
        """How texts became words."""
        return self.words.analyzer

    @property
    def nbytes(self) -> int:
        """Bytes of the vocabulary and its counts."""
        languages = 0 if self.languages is None else self.languages.nbytes
        return int(self.words.nbytes + self.frequencies.nbytes + languages)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the analyzer, the terms, their order, and every count."""
        what = (self.analyzer.to_dict(), self.words.terms.fingerprint, self.documents, self.length)
        text = np.frombuffer(repr(what).encode(), np.uint8)
        checksum = _native.checksum(np.ascontiguousarray(self.frequencies).view(np.uint8), _native.checksum(text))
        for values in () if self.languages is None else self.languages.arrays.values():
            checksum = _native.checksum(np.ascontiguousarray(values).view(np.uint8), checksum)
        if self.fields is not None:
            held = repr((self.fields.names, self.fields.documents.tolist(), self.fields.lengths.tolist()))
            checksum = _native.checksum(np.frombuffer(held.encode(), np.uint8), checksum)
        return f"{checksum:016x}"

    @validate_args
    def frequency(self, term: str) -> int:
        """Return how many items hold a term, as the analyzer makes it."""
        number = self.words.terms.find(term)
        return int(self.frequencies[number]) if number >= 0 else 0

    @validate_args
    def merged(self, other: Statistics) -> Statistics:
        """Return the statistics of both catalogs, which must not share items; both must have the same analyzer.

        Every count is the same whichever comes first. Terms are numbered as here, and new ones follow: merged in the
        order of the items, they are numbered as in the whole, whose scores are then met to the last bit.
        """
        if other.analyzer != self.analyzer:
            raise InputError(
                f"Statistics to merge must have one analyzer. Got {self.analyzer} and {other.analyzer}: count both "
                "catalogs with the same."
            )
        words = self.words.grown_to(other.words)
        numbers = words.terms.find_all(other.words.terms)
        if len(numbers) and numbers.min() < 0:
            raise InputError("Every term must be the stem of one of its forms. Got words whose forms lack some.")
        frequencies = np.append(self.frequencies, np.zeros(words.dim - self.words.dim, np.int64))
        frequencies[numbers] += other.frequencies
        languages = None
        if self.languages is not None and other.languages is not None:
            languages = self.languages.merged(other.languages, numbers)
        if (self.fields is None) != (other.fields is None):
            raise InputError("Statistics to merge must both count fields, or none of them. Got one of each.")
        fields = None if self.fields is None or other.fields is None else self.fields.merged(other.fields)
        length = self.length + other.length
        return Statistics(words, frequencies, self.documents + other.documents, length, languages, fields)

    def over(self, words: BagOfWords, rows: SparseRows) -> SparseRows:
        """Return rows over a shard's own words in these statistics' terms.

        Items that were not counted raise: a word would have no weight, or a wrong one.
        """
        if words.analyzer != self.analyzer:
            raise InputError(f"`statistics` must be of the same analyzer ({words.analyzer}). Got {self.analyzer}.")
        numbers = self.words.terms.find_all(words.terms)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            self._refuse(f"{len(unknown)} words that they lack, such as {words.terms[int(unknown[0])]!r}")
        if len(rows) > self.documents:
            self._refuse(f"{len(rows)} items where they counted {self.documents}")
        moved = numbers.astype(np.int32)[rows.columns]
        if (np.bincount(moved, minlength=self.words.dim) > self.frequencies).any():
            self._refuse("a word in more items than they counted")
        return SparseRows(rows.offsets, moved, rows.values, self.words.dim)

    def over_lists(self, rows: SparseRows, places: NDArray[np.int32]) -> SparseRows:
        """Return rows over terms as rows over the lists of a catalog in several languages: see `LanguageCounts`."""
        found = None if self.languages is None else self.languages.lists_of(rows, places)
        if found is None:
            self._refuse("a word in a language whose items they did not find it in")
        return found

    def _check_languages(self) -> None:
        counts, several = self.languages, len(self.analyzer.languages)
        if (counts is None) != (several < 2):
            raise InputError(f"`languages` must be given exactly for several languages. Got {several} of them.")
        if counts is None:
            return
        if counts.count != several or (len(counts.keys) and counts.keys[-1] >= several * self.words.dim):
            raise InputError(f"`languages` must count {several} languages and {self.words.dim} terms. Got others.")
        same = counts.documents.sum() == self.documents and counts.lengths.sum() == self.length
        if not same or not np.array_equal(counts.totals(self.words.dim), self.frequencies):
            raise InputError("`languages` must add up to the counts of all items. Got others.")

    def _refuse(self, got: str) -> NoReturn:
        raise InputError(
            f"`statistics` must count the items they are used for. Got {got}: use "
            "statistics.merged(Statistics.of(items)), and build every shard with it."
        )

    def _write(self, writer: ArtifactWriter) -> None:
        fields = [] if self.fields is None else list(self.fields.names)
        writer.parameters(documents=self.documents, length=self.length, fields=fields)
        if self.fields is not None:
            self.fields.write(writer)
        writer.child("words", self.words)
        writer.array("frequencies", self.frequencies)
        if self.languages is not None:
            for name, values in self.languages.arrays.items():
                writer.array(f"language_{name}", values)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        words, frequencies = reader.child("words", BagOfWords), reader.array("frequencies", np.int64)
        documents, length = reader.parameter("documents", int), reader.parameter("length", (int, float))
        names = reader.optional("fields", list, [])
        fields = FieldCounts.read(reader, names) if names else None
        if len(words.analyzer.languages) < 2:
            return cls(words, frequencies, documents, length, fields=fields)
        try:
            counts = LanguageCounts(
                **{name: reader.array(f"language_{name}", kind) for name, kind in STATISTICS_ARRAYS.items()}
            )
            return cls(words, frequencies, documents, length, counts, fields)
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def _chunks(texts: Iterator[str]) -> Iterator[Iterator[str]]:
    """Yield at least one chunk, so that nothing has statistics too."""
    yield islice(texts, TEXTS_PER_CHUNK)
    for text in texts:
        yield chain([text], islice(texts, TEXTS_PER_CHUNK - 1))
