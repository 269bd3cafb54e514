"""Segments of a live BM25 index: postings of whole numbers, in a folder or in memory, and what is removed from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.artifacts.reader import ArtifactReader
from vizsla.artifacts.writer import ArtifactWriter, Saving
from vizsla.core.strings import Strings
from vizsla.errors import FormatError, InputError
from vizsla.text.analyzers import Analyzer, surface_of
from vizsla.text.streams import batches, call_with
from vizsla.typing import Float64Array, Int32Array, Int64Array, Uint8Array, Uint64Array

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KIND = "live-words"
LAYOUT = 1
ARRAYS = {
    "term_bytes": np.uint8,
    "term_offsets": np.int64,
    "term_table": np.uint32,
    "list_offsets": np.int64,
    "slots": np.int32,
    "codes": np.uint16,
    "wide_codes": np.uint32,
    "pair_counts": np.uint32,
    "pair_lengths": np.uint32,
    "pair_languages": np.uint8,
    "lengths": np.uint32,
    "languages": np.uint8,
    "row_offsets": np.int64,
    "row_terms": np.int32,
}
"""What a segment is made of, and of which type; `native/postings/live_segment.hpp` says what they mean."""


COUNT_OF_ONE = 2
"""A term that counts once: counts are in halves."""


def list_name(term: str, language: int) -> str:
    """Return the name of the list of a term's items in one language, where there are several.

    Items in which a word could be read as the term, in another language than theirs, are listed under the number that
    follows the languages'. They hold nothing, but decide in which order the terms are numbered.
    """
    return f"{term}\x00{chr(language + 1)}"


class _SegmentFiles:
    """The arrays of a segment, as a writer takes them."""

    def __init__(self, arrays: dict[str, NDArray[Any]]):
        self.arrays = arrays

    def _noted(self) -> dict[str, Any]:
        return {}

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(layout=LAYOUT)
        for name, array in self.arrays.items():
            writer.array(name, array)


def write_segment(folder: Path, arrays: dict[str, NDArray[Any]], kind: str = KIND) -> None:
    """Write the arrays into a new folder; syncing them to the disk is left to the caller."""
    folder.mkdir(parents=True, exist_ok=True)
    files: Any = _SegmentFiles(arrays)
    ArtifactWriter(folder, kind, saving=Saving(folder, lasting=False)).write(files)


def read_segment(
    folder: Path, kind: str = KIND, arrays: Mapping[str, Any] = MappingProxyType(ARRAYS), *, verify: bool = False
) -> dict[str, NDArray[Any]]:
    """Map the arrays of a folder; with `verify`, all checksums are checked too."""
    reader = ArtifactReader(folder, mmap=True, verify=verify)
    if reader.kind != kind or reader.parameter("layout", int) != LAYOUT:
        raise FormatError(f"{folder}: expected {kind} of layout {LAYOUT}. Got another: rebuild the member.")
    return {name: reader.array(name, dtype) for name, dtype in arrays.items()}


def rows_of_texts(analyzer: Analyzer, texts: Sequence[str], *, binary: bool = False) -> dict[str, NDArray[Any]]:
    """Return the arrays of a segment of texts, which a settled analyzer reads; if `binary`, every term counts once."""
    builder = _native.BagBuilder(*analyzer.rule, sorted(analyzer.skipped))
    for batch in batches(texts):
        call_with(builder.add, batch)
    terms = surface_of(builder)
    columns = analyzer.settled_by(builder, terms)[1]
    table, ways = np.zeros(0, np.int32), 1
    if analyzer.languages:
        terms, found = analyzer.terms_of(terms)
        table, ways = np.ascontiguousarray(found).reshape(-1), found.shape[1]
    offsets, numbers, counts = builder.ordered_rows(table, ways, columns, analyzer.rooted)
    if binary:
        counts = np.full(len(counts), COUNT_OF_ONE, np.uint32)
    languages = columns.astype(np.uint8) if len(columns) else np.zeros(len(offsets) - 1, np.uint8)
    if len(analyzer.languages) > 1:
        numbers, terms = by_language(offsets, numbers, counts, languages, terms, len(analyzer.languages))
    arrays = _native.live_build(offsets, numbers, counts, languages, len(terms))
    return arrays | {"term_bytes": terms.data, "term_offsets": terms.offsets, "term_table": terms.slots}


def by_language(
    offsets: Int64Array,
    numbers: Int32Array,
    counts: NDArray[np.uint32],
    languages: Uint8Array,
    terms: Strings,
    several: int,
) -> tuple[Int32Array, Strings]:
    """Return rows over lists of one term in one language, and the lists' names."""
    owners = np.where(counts > 0, np.repeat(languages.astype(np.int64), np.diff(offsets)), several)
    keys, places = np.unique(numbers.astype(np.int64) * (several + 1) + owners, return_inverse=True)
    held = terms.take((keys // (several + 1)).astype(np.int32))
    names = map(list_name, held, (keys % (several + 1)).tolist())
    return places.reshape(-1).astype(np.int32), Strings.of(names)


@dataclass(frozen=True, eq=False)
class WordSegment:
    """One segment, which never changes, and what was removed from it, which is another object after each removal.

    Parameters
    ----------
    arrays : dict of arrays
        By the names of `ARRAYS`.
    native : WordSegment of native code
        The same for native code.
    averages : float64 array
        The mean length in each language that the bounds of its lists were made for.
    documents, length : arrays
        The number of live items in each language, and their length.
    folder : Path, optional
        Where it lies; None for one in memory.
    removed : int32 array, optional
        How many removed slots hold each term; None while nothing is removed.
    bits : uint8 array, optional
        The slots that are left, a bit each; None while nothing is removed.
    """

    arrays: dict[str, NDArray[Any]]
    native: _native.LiveSegment
    averages: Float64Array
    documents: Int64Array
    length: Float64Array
    folder: Path | None = None
    removed: Int32Array | None = None
    bits: Uint8Array | None = None

    @classmethod
    def of(
        cls,
        arrays: dict[str, NDArray[Any]],
        languages: int,
        averages: Callable[[Int64Array, Float64Array], Float64Array],
        norms: Callable[[Float64Array, Uint8Array, Float64Array], Float64Array],
        folder: Path | None = None,
    ) -> WordSegment:
        """Wrap arrays; `averages` returns those of all items when these are among them.

        Arrays that do not fit together raise FormatError.
        """
        try:
            documents, length = totals(arrays["lengths"], arrays["languages"], languages)
            lengths, spoken = arrays["pair_lengths"], arrays["pair_languages"]
            if spoken.max(initial=0) >= languages:
                raise InputError("pairs must be of the analyzer's languages")
            means = averages(documents, length)
            native = native_segment(arrays, norms(lengths * 0.5, spoken, means))
        except (ValueError, TypeError) as error:
            raise unsound(folder, error) from error
        return cls(arrays, native, means, documents, length, folder)

    def __len__(self) -> int:
        return len(self.arrays["lengths"])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def without(self, slots: Int32Array) -> WordSegment:
        """Return the segment when these slots of its own are removed, too; those that were removed stay so."""
        slots = self.left_of(slots)
        if self.bits is None or self.removed is None:
            bits, removed = (
                np.packbits(np.ones(len(self), np.bool_), bitorder="little"),
                np.zeros(self.native.terms, np.int32),
            )
        else:
            bits, removed = self.bits.copy(), self.removed.copy()
        np.bitwise_and.at(bits, slots >> 3, ~(np.uint8(1) << (slots & 7).astype(np.uint8)))
        try:
            self.native.count_terms(slots, removed)
        except ValueError as error:
            raise self.damage(error) from error
        documents, length = totals(self.arrays["lengths"][slots], self.arrays["languages"][slots], len(self.documents))
        return replace(
            self,
            removed=removed,
            bits=bits,
            documents=self.documents - documents,
            length=self.length - length,
        )

    def left_of(self, slots: Int32Array) -> Int32Array:
        """Return those of some slots that are not removed."""
        return slots if self.bits is None else slots[self.bits[slots >> 3] >> (slots & 7) & 1 > 0]

    @property
    def gone(self) -> Int32Array:
        """The slots that are removed, ascending."""
        if self.bits is None:
            return np.zeros(0, np.int32)
        return np.flatnonzero(np.unpackbits(self.bits, count=len(self), bitorder="little") == 0).astype(np.int32)

    def damage(self, error: Exception) -> FormatError:
        """Return what to raise when native code has refused something that it read."""
        return FormatError(f"{self.folder or 'A segment'}: the segment is damaged ({error}).")


def native_segment(
    arrays: Mapping[str, NDArray[Any]], norms: Float64Array, frequencies: Float64Array | None = None
) -> _native.LiveSegment:
    """Return arrays for native code, with the norms, and frequencies if any, that the bounds of its lists are for."""
    make: Any = _native.LiveSegment
    made: _native.LiveSegment = make(*(arrays[name] for name in ARRAYS), norms, frequencies)
    return made


def unsound(folder: Path | None, error: Exception) -> FormatError:
    """Return what to raise for arrays that do not fit together."""
    return FormatError(f"{folder or 'A segment'}: not a sound segment ({error}).")


def totals(lengths: NDArray[np.uint32], spoken: Uint8Array, languages: int) -> tuple[Int64Array, Float64Array]:
    """Return how many items each language has, and how long they are together."""
    if languages == 1 and not spoken.any():
        return np.array([len(lengths)]), np.array([float(lengths.sum(dtype=np.int64)) * 0.5])
    documents = np.bincount(spoken, minlength=languages)
    if len(documents) > languages:
        raise InputError("slots must be of the analyzer's languages")
    return documents.astype(np.int64), np.asarray(np.bincount(spoken, lengths, languages) * 0.5, np.float64)


def merged(parts: Sequence[tuple[WordSegment, Int32Array]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of one segment with the given slots of each, one after another; native, without the GIL."""
    try:
        return _native.live_merge([part.native for part, _ in parts], [slots for _, slots in parts])
    except ValueError as error:
        raise named_damage([part for part, _ in parts], error) from error


def named_damage(segments: Sequence[WordSegment], error: Exception) -> FormatError:
    """Return an error that names the damaged one of some segments; the first where it cannot be told."""
    for segment in segments:
        try:
            segment.native.check()
        except ValueError as found:
            return segment.damage(found)
    return FormatError(f"A segment is damaged ({error}).")


class SegmentLists:
    """The lists of some segments at one moment: native code, whose complaints name the segment that is damaged.

    Parameters
    ----------
    segments : sequence of WordSegment
        As they are now.
    """

    def __init__(self, segments: Sequence[WordSegment]):
        self.segments, self.native = segments, _native.LiveLists()

    def __len__(self) -> int:
        return self.native.slots

    def find(self, names: list[str]) -> tuple[Int32Array, Int64Array, Uint64Array]:
        """Return of each list its numbers in the segments, the number of its live items, and where it begins."""
        ids, holders, orders = self.called(self.native.find, names)
        return np.frombuffer(ids, np.int32), np.frombuffer(holders, np.int64), np.frombuffer(orders, np.uint64)

    def called(self, function: Any, *arguments: Any) -> Any:
        """Call native code."""
        try:
            return function(*arguments)
        except ValueError as error:
            raise named_damage(self.segments, error) from error
