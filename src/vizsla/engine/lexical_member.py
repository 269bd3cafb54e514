"""BM25 as a live member: after every change the answers of an index that is built of the live texts, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.engine.live_words import LiveCounts, LiveMixedWords, WordReader
from vizsla.engine.member import LiveMember, LiveView
from vizsla.engine.word_segments import (
    SegmentLists,
    WordSegment,
    list_name,
    merged,
    read_segment,
    rows_of_texts,
    totals,
    write_segment,
)
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25_mixed import OWN_LANGUAGE, MixedQueryReader, QueryWords
from vizsla.methods.bm25_statistics import Weighting
from vizsla.text.analyzers import Analyzer, AnyLanguage, analyzer_of, surface_of
from vizsla.text.streams import batches, call_with
from vizsla.typing import BoolArray, Float64Array, Int32Array, Int64Array, Uint8Array

POSTING_BYTES = 6
TIER = 8
"""So many memory parts of about a size are joined into one: an item is copied a few times at most."""
CACHED_TERMS = 65_536
FLOOR = "\x00floor"
"""The name of what a query asks of every item, where there are several languages."""

Asked = tuple[list[_native.LiveTerm], list[float]]
"""The terms of a query and their weights."""


class Bm25Member(LiveMember):
    """BM25 over segments of whole numbers: counts, lengths and how many items hold a term, never weights.

    What a posting weighs is computed when it is asked for, from the statistics of the items that are live then, by the
    arithmetic of `Bm25`. The bounds by which lists are skipped are made for one average length; for a larger one they
    are stretched by the quotient, which is enough for any length. New items become small segments in memory, which are
    joined as they come, so that nothing that a view reads is ever changed.
    """

    kinds = ("bm25",)

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        super().__init__(recipe, settled, bindings)
        if not self.accepts(recipe):
            raise InputError(f"`recipe` must be of BM25 over its own statistics. Got {recipe!r}.")
        chosen = {name: recipe.settings[name] for name in ("variant", "k1", "b", "delta") if name in recipe.settings}
        self.weighting = Weighting(**chosen)
        self.analyzer = analyzer_of(settled["analyzer"])
        self.words = WordReader(self.analyzer)
        self._languages = max(len(self.analyzer.languages), 1)
        self._segments: list[WordSegment] = []
        self._stored = 0

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether the recipe is of BM25 with its own statistics, and an analyzer that is plain data."""
        analyzer = recipe.settings.get("analyzer")
        plain = analyzer is None or (isinstance(analyzer, Analyzer) and analyzer.vocabulary is None)
        return super().accepts(recipe) and plain and recipe.settings.get("statistics") is None

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Return the analyzer with the languages of the texts; without any, English stems, and no word is dropped."""
        analyzer: Analyzer = recipe.settings.get("analyzer") or AnyLanguage()
        if not analyzer.settled:
            builder = _native.BagBuilder(*analyzer.rule, sorted(analyzer.skipped))
            count = 0
            for batch in batches(texts):
                call_with(builder.add, batch)
                count += len(batch)
            if count:
                analyzer = analyzer.settled_by(builder, surface_of(builder))[0]
            else:
                analyzer = AnyLanguage("english", drop=False, roots=getattr(analyzer, "roots", True))
        return {"analyzer": analyzer.to_dict()}

    def open(self, folders: Sequence[Path], sizes: Sequence[int]) -> None:
        """Begin anew over these segments: their arrays are mapped, and checked as they are read."""
        known = {segment.folder: segment for segment in self._segments[: self._stored]}
        arrays = {folder: read_segment(folder) for folder in folders if folder not in known}
        lengths = [known[folder].arrays if folder in known else arrays[folder] for folder in folders]
        for folder, size, found in zip(folders, sizes, lengths, strict=True):
            if len(found["lengths"]) != size:
                raise FormatError(f"{folder}: expected {size} rows. Got {len(found['lengths'])}.")
        opened: list[WordSegment] = []
        for folder in folders:
            if folder in known:
                kept = known[folder]
                opened.append(WordSegment(kept.arrays, kept.native, kept.averages, *_whole(kept), folder))
            else:
                opened.append(self._segment(arrays[folder], opened, folder))
        self._segments, self._stored = opened, len(opened)

    def append(self, texts: Sequence[str]) -> None:
        """Add rows: a segment in memory, joined with those before it when there are many of about its size."""
        texts = list(texts)
        if not texts:
            return
        segments = list(self._segments)
        new = self._segment(rows_of_texts(self.analyzer, texts), segments)
        while tail := self._tail(segments, TIER * len(new)):
            before = segments[:-tail]
            new, segments = self._joined([*segments[-tail:], new], before), before
        self._segments = [*segments, new]

    def remove(self, slots: Int32Array, texts: Callable[[], Sequence[str]]) -> None:
        """Forget slots; the rows in the segments say which terms they held."""
        segments = list(self._segments)
        for number, own in self._split(np.asarray(slots, np.int32)):
            segments[number] = segments[number].without(own)
        self._segments = segments

    def view(self, live: BoolArray | None) -> Bm25View:
        """Return what answers over the slots as they are now."""
        return Bm25View(self, tuple(self._segments))

    def write(self, folder: Path, slots: Int32Array) -> None:
        """Write these slots as one segment."""
        parts = [(self._segments[number], own) for number, own in self._split(np.asarray(slots, np.int32))]
        write_segment(folder, merged(parts))

    @property
    def memory_bytes(self) -> int:
        """Bytes of the segments in memory."""
        return sum(segment.nbytes for segment in self._segments[self._stored :])

    def counts(self, segments: Sequence[WordSegment]) -> LiveCounts:
        """Return the statistics of the live items of segments."""
        documents = sum((segment.documents for segment in segments), np.zeros(self._languages, np.int64))
        length = sum((segment.length for segment in segments), np.zeros(self._languages))
        return LiveCounts(documents, length)

    def norms(self, lengths: Float64Array, spoken: Uint8Array, means: Float64Array) -> Float64Array:
        """Return the norm of items of these lengths and languages."""
        return self.weighting.norms(lengths, means[spoken])

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
        whole = self._segment(merged(list(zip(parts, everything, strict=True))), before)
        flags = [np.zeros(len(part), np.bool_) if part.dead is None else part.dead for part in parts]
        dead = np.flatnonzero(np.concatenate(flags)).astype(np.int32)
        return whole.without(dead) if len(dead) else whole

    def _tail(self, segments: list[WordSegment], below: int) -> int:
        """Return how many of the last memory parts have fewer slots, if there are enough to join them; else 0."""
        tail = 0
        while len(segments) - tail > self._stored and len(segments[-1 - tail]) < below:
            tail += 1
        return tail if tail >= TIER - 1 else 0

    def _split(self, slots: Int32Array) -> list[tuple[int, Int32Array]]:
        """Return which slots of each segment these are, numbered as there."""
        segments, found, first = self._segments, [], 0
        ends = np.searchsorted(slots, np.cumsum([len(segment) for segment in segments])).tolist()
        begin = 0
        for number, end in enumerate(ends):
            if end > begin:
                found.append((number, slots[begin:end] - np.int32(first)))
            begin, first = end, first + len(segments[number])
        if begin < len(slots):
            raise InputError(f"`slots` must be below {first}. Got {slots[-1]}.")
        return found


def _whole(segment: WordSegment) -> tuple[Int64Array, Float64Array]:
    """Return the counts of a segment of which nothing is removed."""
    return totals(segment.arrays["lengths"], segment.arrays["languages"], len(segment.documents))


class Bm25View(LiveView):
    """BM25 over the slots of one moment.

    Parameters
    ----------
    member : Bm25Member
        What made it: only its settings are used later.
    segments : sequence of WordSegment
        Those of this moment.
    """

    scale = "bm25"

    def __init__(self, member: Bm25Member, segments: Sequence[WordSegment]):
        self.weighting, self.analyzer, self.words = member.weighting, member.analyzer, member.words
        self.lists, self.counts = SegmentLists(segments), member.counts(segments)
        means = self.counts.means
        for segment in segments:
            lengths, spoken = segment.arrays["pair_lengths"] * 0.5, segment.arrays["pair_languages"]
            stretch = _stretch(means, segment.averages)
            norms = member.norms(lengths, spoken, means)
            self.lists.native.add(segment.native, segment.removed, segment.bits, stretch, norms)
        self._terms: dict[str, _native.LiveTerm] = {}
        self._masks: tuple[BoolArray, list[Uint8Array]] | None = None
        several = len(self.analyzer.languages) > 1
        self._mixed: LiveMixedWords | None = None
        if several:
            reader = MixedQueryReader(self.analyzer)
            self._mixed = LiveMixedWords(reader, self.weighting, self.counts, self.lists)

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

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Explain the score of one slot by the query's words."""
        score, text = self._scored(self._asked(queries)[0], slot), queries.texts[0]
        what = f"bm25 {self.weighting.variant}, the sum over the query's words"
        if self._mixed is not None:
            query = self._mixed.read(text)
            if query.language >= 0:
                spoken = self.analyzer.languages[query.language]
                what += f"; the query is in {spoken}, whose items count {OWN_LANGUAGE:g} times"
            return Explanation(score, what, self._word_shares(self._mixed, query, slot))
        words = self.analyzer.query_counts(text)
        return Explanation(score, what, [self._share(word, count, slot) for word, count in words.items()])

    def _share(self, word: str, count: float, slot: int) -> Explanation:
        holders, everything = self._holders(word), self.counts.everything
        if not holders:
            return Explanation(0.0, f"{word!r}: in no item")
        share = self._scored((self._found([word]), [count]), slot)
        idf = float(self.weighting.idf(np.array([holders], np.int64), everything)[0])
        return Explanation(share, f"{word!r}: in {holders} of {everything} items, idf {idf:.4f}{_times(count)}")

    def _word_shares(self, mixed: LiveMixedWords, query: QueryWords, slot: int) -> list[Explanation]:
        shares = []
        for text, times in query.times.items():
            [word] = mixed.known([text], query.language)
            if not word.holders:
                shares.append(Explanation(0.0, f"{text!r}: in no item"))
                continue
            share = self._scored(self._weighed(mixed, QueryWords(query.language, {text: times})), slot)
            whole = word.documents == self.counts.everything
            items = "items" if whole else f"{self.analyzer.languages[query.language]} items"
            facts = f"in {word.holders} of {word.documents} {items}, idf {word.idf:.4f}"
            shares.append(Explanation(share, f"{text!r}: {facts}{_times(times)}"))
        return shares

    def _holders(self, word: str) -> int:
        return int(self.lists.find([word])[1][0])

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

    def _read(self, text: str) -> Asked:
        if self._mixed is not None:
            return self._weighed(self._mixed, self._mixed.read(text))
        counts = self.words.counts(text)
        return self._found(list(counts)), list(counts.values())

    def _found(self, terms: list[str]) -> list[_native.LiveTerm]:
        """Return the terms with what they weigh now; those of the last queries are kept."""
        known = self._terms
        if missing := [term for term in terms if term not in known]:
            if len(known) + len(missing) > CACHED_TERMS:
                known = self._terms = {term: known[term] for term in terms if term in known}
            ids, holders, orders = self.lists.find(missing)
            idf = self.weighting.idf(holders, self.counts.everything)
            absent = self.weighting.absent(idf)
            found = self.lists.native.terms(
                ids,
                self.weighting.gains(idf),
                np.zeros(len(idf)) if absent is None else absent,
                orders,
                np.zeros(len(idf), np.int32),
            )
            known.update(zip(missing, found, strict=True))
        return [known[term] for term in terms]

    def _weighed(self, mixed: LiveMixedWords, query: QueryWords) -> Asked:
        """Return the lists that a query of a catalog in several languages asks for: the weights of its words, added."""
        has_floor = self.weighting.absent(np.ones(1)) is not None
        asked: dict[tuple[str, int], float] = {}
        words = mixed.known(query.times, query.language)
        for count, word in zip(query.times.values(), words, strict=True):
            for name, weight in zip(word.lists, word.weights, strict=True):
                asked[name] = asked.get(name, 0.0) + count * weight
            if has_floor and word.floor:
                asked[FLOOR, 0] = asked.get((FLOOR, 0), 0.0) + count * word.floor
        weights = np.array(list(asked.values()), np.float32).tolist()
        return self._lists_of(mixed, list(asked)), weights

    def _lists_of(self, mixed: LiveMixedWords, asked: list[tuple[str, int]]) -> list[_native.LiveTerm]:
        names = [list_name(term, language) for term, language in asked]
        known = self._terms
        if missing := [place for place, name in enumerate(names) if name not in known]:
            if len(known) + len(missing) > CACHED_TERMS:
                known = self._terms = {name: known[name] for name in names if name in known}
            ids = self.lists.find([names[place] for place in missing])[0]
            ones = np.ones(len(missing))
            is_floor = np.array([asked[place][0] == FLOOR for place in missing])
            absent = self.weighting.absent(ones)
            orders = [0 if asked[place][0] == FLOOR else mixed.facts[asked[place][0]].order for place in missing]
            found = self.lists.native.terms(
                ids,
                self.weighting.gains(ones),
                np.where(is_floor, 0.0 if absent is None else absent, 0.0),
                np.array(orders, np.uint64),
                np.array([asked[place][1] for place in missing], np.int32),
            )
            known.update(zip([names[place] for place in missing], found, strict=True))
        return [known[name] for name in names]

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


def _stretch(means: Float64Array, averages: Float64Array) -> float:
    """Return how much more a posting may give under these mean lengths than under those of a segment's bounds.

    An impact is gain × count / (count + norm), and a norm falls at most as the mean length rises.
    """
    now, then = np.where(means, means, 1.0), np.where(averages, averages, 1.0)
    return float(max(1.0, (now / then).max(initial=1.0) * (1 + 1e-9)))


def _times(count: float) -> str:
    return "" if count == 1 else f", {count:g} times in the query"
