"""Statistics: what BM25 must know of a whole catalogue, apart from any shard's postings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.artifact import Artifact
from vizsla.cached_property import cached_property
from vizsla.checked import checked
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25_languages import ARRAYS, LanguageCounts
from vizsla.progress import progress
from vizsla.sparse_rows import SparseRows
from vizsla.text.analyser import Analyser
from vizsla.text.any_language import AnyLanguage
from vizsla.text.bag import BagOfWords
from vizsla.text.catalogue import TextStream

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.dataset import Dataset

CHUNK = 16_384
"""Texts that are counted at once; the result does not depend on it."""
_MOST = 2**52  # whole numbers and halves up to here are exact as floats


class Statistics(Artifact):
    """How many items there are, how many hold each word, how long they are: whole numbers and halves, added exactly.

    Shards that are built with the same statistics give each item the score that it has in the whole, bit for bit;
    `vizsla.shards` searches them as one.

    Parameters
    ----------
    bag : BagOfWords
        The analyser and the vocabulary.
    frequencies : int64 array
        The number of items that hold each term.
    documents : int
        The number of items.
    length : float
        The number of tokens in all items; those that count by half (roots) by half.
    languages : LanguageCounts, optional
        The same counts language by language, exactly when the analyser has several languages.

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

    @checked
    def __init__(
        self,
        bag: BagOfWords,
        frequencies: NDArray[np.int64],
        documents: int,
        length: float,
        languages: LanguageCounts | None = None,
    ):
        length = int(length) if isinstance(length, float) and length.is_integer() else length
        self.bag, self.frequencies, self.documents, self.length = bag, frequencies, documents, length
        self.languages = languages
        shape = frequencies.shape if isinstance(frequencies, np.ndarray) and frequencies.dtype == np.int64 else None
        if shape != (bag.dim,):
            got = type(frequencies).__name__ if shape is None else shape
            raise InputError(f"`frequencies` must be an int64 array over the bag's {bag.dim} terms. Got {got}.")
        for name, number in (("documents", documents), ("length", length)):
            if not 0 <= number <= _MOST or number * 2 % 1:
                raise InputError(f"`{name}` must be between 0 and 2^52. Got {number}.")
        if bag.dim and not 0 <= frequencies.min() <= frequencies.max() <= documents:
            raise InputError(f"`frequencies` must be between 0 and {documents}, the number of items. Got others.")
        self._check_languages()

    @classmethod
    @checked
    def of(cls, items: Dataset | Mapping[str, str] | Iterable[Any], *, analyser: Analyser | None = None) -> Statistics:
        """Count a catalogue in one pass; only the vocabulary and its counts are held.

        Parameters
        ----------
        items
            As for `bm25`.
        analyser : Analyser, optional
            How texts become words: `AnyLanguage` unless given. Its "auto" holds the items' words until their languages
            are known; with languages given, as with any other analyser, only counts are held.
        """
        analyser = analyser or AnyLanguage()
        texts = iter(progress(TextStream(items), what="counting"))
        if not analyser.settled:
            return cls.of_rows(*BagOfWords.fit_items(texts, analyser))
        return reduce(cls.merged, (cls.of_rows(*BagOfWords.fit_items(chunk, analyser)) for chunk in _chunks(texts)))

    @classmethod
    def of_rows(cls, bag: BagOfWords, rows: SparseRows, places: NDArray[np.int32] | None = None) -> Self:
        """Count rows that the bag made, one an item; `places` has the language of each where there are several."""
        frequencies = np.bincount(rows.columns, minlength=bag.dim).astype(np.int64)
        several = len(bag.analyser.languages)
        if several > 1 and (places is None or len(places) != len(rows)):
            raise InputError(f"`places` must have the language of each of {len(rows)} items. Got others.")
        languages = None if places is None or several < 2 else LanguageCounts.of_rows(rows, places, several)
        return cls(bag, frequencies, len(rows), float(rows.values.sum(dtype=np.float64)), languages)

    def __repr__(self) -> str:
        return f"Statistics({self.documents:,} items, {self.bag.dim:,} terms, mean length {self.mean_length:.2f})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistics) and (self is other or self.fingerprint == other.fingerprint)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def mean_length(self) -> float:
        """Tokens an item, 0 without items."""
        return self.length / self.documents if self.documents else 0.0

    @property
    def analyser(self) -> Analyser:
        """How texts became words."""
        return self.bag.analyser

    @property
    def nbytes(self) -> int:
        """Bytes of the vocabulary and its counts."""
        languages = 0 if self.languages is None else self.languages.nbytes
        return int(self.bag.nbytes + self.frequencies.nbytes + languages)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the analyser, the terms, their order, and every count."""
        what = (self.analyser.to_dict(), self.bag.terms.fingerprint, self.documents, self.length)
        text = np.frombuffer(repr(what).encode(), np.uint8)
        checksum = _native.checksum(np.ascontiguousarray(self.frequencies).view(np.uint8), _native.checksum(text))
        for values in () if self.languages is None else self.languages.arrays.values():
            checksum = _native.checksum(np.ascontiguousarray(values).view(np.uint8), checksum)
        return f"{checksum:016x}"

    @checked
    def frequency(self, term: str) -> int:
        """Return how many items hold a term, as the analyser makes it."""
        number = self.bag.terms.find(term)
        return int(self.frequencies[number]) if number >= 0 else 0

    @checked
    def merged(self, other: Statistics) -> Statistics:
        """Return the statistics of both catalogues, which must not share items; both must have the same analyser.

        Every count is the same whichever comes first. Terms are numbered as here, and new ones follow: merged in the
        order of the items, they are numbered as in the whole, whose scores are then met to the last bit.
        """
        if other.analyser != self.analyser:
            raise InputError(
                f"Statistics to merge must have one analyser. Got {self.analyser} and {other.analyser}: count both "
                "catalogues with the same."
            )
        bag = self.bag.grown_to(other.bag)
        numbers = bag.terms.find_all(other.bag.terms)
        if len(numbers) and numbers.min() < 0:
            raise InputError("Every term must be the stem of one of its forms. Got a bag whose forms lack some.")
        frequencies = np.append(self.frequencies, np.zeros(bag.dim - self.bag.dim, np.int64))
        frequencies[numbers] += other.frequencies
        languages = None
        if self.languages is not None and other.languages is not None:
            languages = self.languages.merged(other.languages, numbers)
        return Statistics(bag, frequencies, self.documents + other.documents, self.length + other.length, languages)

    def over(self, bag: BagOfWords, rows: SparseRows) -> SparseRows:
        """Return rows of a shard's own bag in these statistics' terms.

        Items that were not counted raise: a word would have no weight, or a wrong one.
        """
        if bag.analyser != self.analyser:
            raise InputError(f"`statistics` must be of the same analyser ({bag.analyser}). Got {self.analyser}.")
        numbers = self.bag.terms.find_all(bag.terms)
        unknown = np.flatnonzero(numbers < 0)
        if len(unknown):
            self._refuse(f"{len(unknown)} words that they lack, such as {bag.terms[int(unknown[0])]!r}")
        if len(rows) > self.documents:
            self._refuse(f"{len(rows)} items where they counted {self.documents}")
        moved = numbers.astype(np.int32)[rows.columns]
        if (np.bincount(moved, minlength=self.bag.dim) > self.frequencies).any():
            self._refuse("a word in more items than they counted")
        return SparseRows(rows.offsets, moved, rows.values, self.bag.dim)

    def over_lists(self, rows: SparseRows, places: NDArray[np.int32]) -> SparseRows:
        """Return rows over terms as rows over the lists of a catalog in several languages: see `LanguageCounts`."""
        found = None if self.languages is None else self.languages.lists_of(rows, places)
        if found is None:
            self._refuse("a word in a language whose items they did not find it in")
        return found

    def _check_languages(self) -> None:
        counts, several = self.languages, len(self.analyser.languages)
        if (counts is None) != (several < 2):
            raise InputError(f"`languages` must be given exactly for several languages. Got {several} of them.")
        if counts is None:
            return
        if counts.count != several or (len(counts.keys) and counts.keys[-1] >= several * self.bag.dim):
            raise InputError(f"`languages` must count {several} languages and {self.bag.dim} terms. Got others.")
        same = counts.documents.sum() == self.documents and counts.lengths.sum() == self.length
        if not same or not np.array_equal(counts.totals(self.bag.dim), self.frequencies):
            raise InputError("`languages` must add up to the counts of all items. Got others.")

    def _refuse(self, got: str) -> NoReturn:
        raise InputError(
            f"`statistics` must count the items they are used for. Got {got}: use "
            "statistics.merged(Statistics.of(items)), and build every shard with it."
        )

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(documents=self.documents, length=self.length)
        writer.child("bag", self.bag)
        writer.array("frequencies", self.frequencies)
        if self.languages is not None:
            for name, values in self.languages.arrays.items():
                writer.array(f"language_{name}", values)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        bag, frequencies = reader.child("bag", BagOfWords), reader.array("frequencies", np.int64)
        documents, length = reader.parameter("documents", int), reader.parameter("length", (int, float))
        if len(bag.analyser.languages) < 2:
            return cls(bag, frequencies, documents, length)
        try:
            counts = LanguageCounts(**{name: reader.array(f"language_{name}", kind) for name, kind in ARRAYS.items()})
            return cls(bag, frequencies, documents, length, counts)
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def _chunks(texts: Iterator[str]) -> Iterator[Iterator[str]]:
    """Yield at least one chunk, so that nothing has statistics too."""
    yield islice(texts, CHUNK)
    for text in texts:
        yield chain([text], islice(texts, CHUNK - 1))
