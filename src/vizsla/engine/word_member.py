"""What live members over the words of texts share: segments, new rows, removals, and views that answer from lists."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.engine.live_words import LiveCounts, WordReader
from vizsla.engine.member import LiveMember, LiveView
from vizsla.engine.word_segments import (
    SegmentLists,
    WordSegment,
    merged,
    read_segment,
    rows_of_texts,
    write_segment,
)
from vizsla.errors import FormatError, InputError
from vizsla.text.analyzers import Analyzer
from vizsla.text.highlights import Highlighter, TermHighlighter
from vizsla.typing import BoolArray, Float64Array, Int32Array, Int64Array, Uint8Array

POSTING_BYTES = 6
SEGMENTS_PER_TIER = 8
"""So many memory parts of about a size are joined into one: an item is copied a few times at most."""
CACHED_TERMS = 65_536
"""How many terms a view remembers with what they weigh."""

Asked = tuple[list[_native.LiveTerm], list[float]]
"""The terms of a query and their weights."""


class WordMember(LiveMember):
    """A live member over the words of texts: segments of whole numbers, in folders and in memory.

    New rows become small segments in memory, which are joined as they come, so that nothing that a view reads is ever
    changed. The rows of a segment say which terms a removed item held.

    Parameters
    ----------
    recipe, settled, bindings
        As for every member.
    analyzer : Analyzer
        How texts become words: a settled one.
    """

    binary = False
    """Whether it counts only which terms an item holds, not how often."""

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any], analyzer: Analyzer):
        super().__init__(recipe, settled, bindings)
        self.analyzer, self.words = analyzer, WordReader(analyzer)
        self._languages = max(len(analyzer.languages), 1)
        self._segments: list[WordSegment] = []
        self._stored = 0

    @abstractmethod
    def norms(self, lengths: Float64Array, spoken: Uint8Array, means: Float64Array) -> Float64Array:
        """Return the norm of items of these lengths and languages."""

    def open(self, folders: Sequence[Path], sizes: Sequence[int]) -> None:
        """Begin anew over these segments: their arrays are mapped, and checked as they are read."""
        known = {segment.folder: segment for segment in self._segments[: self._stored]}
        arrays = {folder: self.read(folder) for folder in folders if folder not in known}
        lengths = [known[folder].arrays if folder in known else arrays[folder] for folder in folders]
        for folder, size, found in zip(folders, sizes, lengths, strict=True):
            if len(found["lengths"]) != size:
                raise FormatError(f"{folder}: expected {size} rows. Got {len(found['lengths'])}.")
        opened: list[WordSegment] = []
        for folder in folders:
            if folder in known:
                opened.append(known[folder])
            else:
                opened.append(self._segment(arrays[folder], opened, folder))
        self._segments, self._stored = opened, len(opened)

    def append(self, texts: Sequence[Any]) -> None:
        """Add rows: a segment in memory, joined with those before it when there are many of about its size."""
        texts = list(texts)
        if not texts:
            return
        segments = list(self._segments)
        new = self._segment(self.rows(texts), segments)
        while tail := self._tail(segments, SEGMENTS_PER_TIER * len(new)):
            before = segments[:-tail]
            new, segments = self._joined([*segments[-tail:], new], before), before
        self._segments = [*segments, new]

    def remove(self, slots: Int32Array, texts: Callable[[], Sequence[str]]) -> None:
        """Forget slots; the rows in the segments say which terms they held."""
        segments = list(self._segments)
        for number, own in _split(segments, np.asarray(slots, np.int32)):
            segments[number] = segments[number].without(own)
        self._segments = segments

    def write(self, folder: Path, slots: Int32Array) -> None:
        """Write these slots as one segment."""
        segments = self._segments  # another list after the next change, which need not wait
        parts = [(segments[number], own) for number, own in _split(segments, np.asarray(slots, np.int32))]
        self.store(folder, self.merged(parts))

    def rows(self, texts: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the arrays of a segment of new rows."""
        return rows_of_texts(self.analyzer, texts, binary=self.binary)

    def read(self, folder: Path) -> dict[str, NDArray[Any]]:
        """Map the arrays of a stored segment."""
        return read_segment(folder)

    def store(self, folder: Path, arrays: dict[str, NDArray[Any]]) -> None:
        """Write the arrays of a segment into a new folder."""
        write_segment(folder, arrays)

    def merged(self, parts: Sequence[tuple[WordSegment, Int32Array]]) -> dict[str, NDArray[Any]]:
        """Return the arrays of one segment with the given slots of each, one after another."""
        return merged(parts)

    @property
    def segments(self) -> tuple[WordSegment, ...]:
        """The segments as they are now."""
        return tuple(self._segments)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the segments in memory."""
        return sum(segment.nbytes for segment in self._segments[self._stored :])

    def counts(self, segments: Sequence[WordSegment]) -> LiveCounts:
        """Return the statistics of the live items of segments."""
        shape = len(segments), self._languages
        documents = np.array([segment.documents for segment in segments], np.int64).reshape(shape)
        length = np.array([segment.length for segment in segments], np.float64).reshape(shape)  # exact: halves
        return LiveCounts(documents.sum(axis=0), length.sum(axis=0))

    def _segment(
        self, arrays: dict[str, NDArray[Any]], before: Sequence[WordSegment], folder: Path | None = None
    ) -> WordSegment:
        there = self.counts(before)

        def averages(documents: Int64Array, length: Float64Array) -> Float64Array:
            return LiveCounts(there.documents + documents, there.length + length).means

        return WordSegment.of(arrays, self._languages, averages, self.norms, folder)

    def _joined(self, parts: Sequence[WordSegment], before: Sequence[WordSegment]) -> WordSegment:
        """Return one segment in memory with all slots of some; those that were removed stay so."""
        everything = [np.arange(len(part), dtype=np.int32) for part in parts]
        whole = self._segment(self.merged(list(zip(parts, everything, strict=True))), before)
        starts = np.cumsum([0, *map(len, parts)])
        gone = [part.gone + np.int32(start) for part, start in zip(parts, starts, strict=False)]
        dead = np.concatenate(gone)
        return whole.without(dead) if len(dead) else whole

    def _tail(self, segments: list[WordSegment], below: int) -> int:
        """Return how many of the last memory parts have fewer slots, if there are enough to join them; else 0."""
        tail = 0
        while len(segments) - tail > self._stored and len(segments[-1 - tail]) < below:
            tail += 1
        return tail if tail >= SEGMENTS_PER_TIER - 1 else 0


def _split(segments: Sequence[WordSegment], slots: Int32Array) -> list[tuple[int, Int32Array]]:
    """Return which slots of each segment these are, numbered as there."""
    found, begin, first = [], 0, 0
    ends = np.searchsorted(slots, np.cumsum([len(segment) for segment in segments])).tolist()
    for number, end in enumerate(ends):
        if end > begin:
            found.append((number, slots[begin:end] - np.int32(first)))
        begin, first = end, first + len(segments[number])
    if begin < len(slots):
        raise InputError(f"`slots` must be below {first}. Got {slots[-1]}.")
    return found


class WordView(LiveView):
    """Answers over the slots of one moment, from lists whose weights are made per query.

    Parameters
    ----------
    member : WordMember
        The member that made it; only its settings are used later.
    segments : sequence of WordSegment
        Those of this moment.
    counts : LiveCounts, optional
        Statistics of more items than these, such as those of all shards.
    lists : SegmentLists, optional
        The segments, where holders are counted in more items than these.
    """

    finds_matches = True

    def __init__(
        self,
        member: WordMember,
        segments: Sequence[WordSegment],
        counts: LiveCounts | None = None,
        lists: SegmentLists | None = None,
    ):
        self.analyzer, self.words = member.analyzer, member.words
        self.lists = SegmentLists(segments) if lists is None else lists
        self.counts = member.counts(segments) if counts is None else counts
        self.everything = self.counts.everything
        self._add_lists(member, segments)
        self._masks: tuple[BoolArray, list[Uint8Array]] | None = None

    def _add_lists(self, member: Any, segments: Sequence[Any]) -> None:
        """Give the segments to native code, with what their pairs of count and length weigh now."""
        means, length_norms = self.counts.means, self._length_norms(member)
        # One call for the pairs of all segments: there may be dozens of small ones.
        pairs = [(segment.arrays["pair_lengths"], segment.arrays["pair_languages"]) for segment in segments]
        if segments:
            lengths, spoken = (np.concatenate(column) for column in zip(*pairs, strict=True))
            norms = member.norms(lengths * 0.5, spoken, means)
        stretches = stretches_of(means, [segment.averages for segment in segments])
        start = 0
        for segment, stretch in zip(segments, stretches, strict=True):
            end = start + len(segment.arrays["pair_lengths"])
            own = norms[start:end], length_norms
            self.lists.native.add(segment.native, segment.removed, segment.bits, stretch, *own)
            start = end

    @abstractmethod
    def _read(self, text: str) -> Asked:
        """Return the terms of a query and their weights."""

    def _length_norms(self, member: Any) -> NDArray[np.float32] | None:
        """Return what an item's sum is multiplied by, for each length in words; None where sums are scores."""
        return None

    @property
    def nbytes(self) -> int:
        """Bytes of all segments."""
        return sum(segment.nbytes for segment in self.lists.segments)

    def search(self, queries: Queries, k: int, allowed: BoolArray | None, threads: int) -> Candidates:
        """Return the best `k` slots per query."""
        asked = self._asked(queries)
        masks = None if allowed is None else self._masks_of(allowed)
        lists, native = self.lists, self.lists.native
        if len(asked) == 1:
            items, scores, read = lists.called(native.search_one, *asked[0], k, masks)
            offsets = np.array((0, len(items) // 4))
        else:
            rows = [terms for terms, _ in asked], [weights for _, weights in asked]
            packed, items, scores, read = lists.called(native.search, *rows, k, masks, threads)
            offsets = np.frombuffer(packed, np.int64)
        stats = Stats(0.0, 0, 0, read, read * POSTING_BYTES, True)
        found = np.frombuffer(items, np.int32)
        return Candidates.unchecked(offsets, found, np.frombuffer(scores, np.float32), None, stats)

    def score(self, queries: Queries, candidates: Candidates, threads: int) -> PairScores:
        """Score slots, in their order."""
        scores, read = self._scores(self._asked(queries), candidates.offsets, candidates.items, threads)
        return PairScores(scores, Stats(0.0, len(candidates.items), 0, read, read * POSTING_BYTES))

    def count(self, queries: Queries, allowed: BoolArray | None, up_to: int) -> tuple[int, bool]:
        """Return how many slots hold a word of the one query, and whether these are all."""
        masks = None if allowed is None else self._masks_of(allowed)
        counted: tuple[int, bool] = self.lists.called(self.lists.native.count, *self._asked(queries)[0], masks, up_to)
        return counted

    def highlighter(self, query: str) -> Highlighter:
        """Return what finds words that stand for a term of the query."""
        return TermHighlighter(self.analyzer, query)

    def _scored(self, asked: Asked, slot: int) -> float:
        return float(self._scores([asked], np.array([0, 1]), np.array([slot], np.int32), 1)[0][0])

    def _scores(
        self, asked: list[Asked], offsets: Int64Array, slots: Int32Array, threads: int
    ) -> tuple[NDArray[np.float32], int]:
        rows = [terms for terms, _ in asked], [weights for _, weights in asked]
        scores, read = self.lists.called(self.lists.native.score, *rows, offsets, slots, threads)
        return np.frombuffer(scores, np.float32), read

    def _asked(self, queries: Queries) -> list[Asked]:
        """Return the terms and weights of each query, read once per call."""
        known: list[Asked] | None = queries.memo((self, "words"))
        if known is None:
            known = queries.memoize((self, "words"), [self._read(text) for text in queries.texts])
        return known

    def _masks_of(self, allowed: BoolArray) -> list[Uint8Array]:
        """Return the allowed slots of each segment as bits; those of the last filter are kept."""
        last = self._masks
        if last is not None and last[0] is allowed:
            return last[1]
        if len(allowed) != len(self.lists):
            raise InputError(f"`allowed` must have a flag for each of {len(self.lists)} slots. Got {len(allowed)}.")
        masks, first = [], 0
        for segment in self.lists.segments:
            masks.append(np.packbits(allowed[first : first + len(segment)], bitorder="little"))
            first += len(segment)
        self._masks = allowed, masks
        return masks


def stretches_of(means: Float64Array, averages: list[Float64Array]) -> list[float]:
    """Return how much more a posting may give under these mean lengths than under those of each segment's bounds.

    An impact is gain × count / (count + norm), and a norm falls at most as the mean length rises.
    """
    then = np.array(averages, np.float64).reshape(len(averages), len(means))
    now, then = np.where(means, means, 1.0), np.where(then, then, 1.0)
    found: list[float] = np.maximum(1.0, (now / then).max(axis=1, initial=1.0) * (1 + 1e-9)).tolist()
    return found
