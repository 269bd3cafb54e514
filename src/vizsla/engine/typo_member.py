"""Typo tolerance as a live member: words of new items are known at once, and those of removed ones are forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.engine.fields_member import FieldsView
from vizsla.engine.lexical_member import Bm25Member, Bm25View
from vizsla.engine.member import LiveMember, LiveView
from vizsla.engine.row_words import LiveLists
from vizsla.engine.word_member import CACHED_TERMS, Asked, WordMember
from vizsla.engine.word_segments import SegmentLists, WordSegment
from vizsla.errors import InputError
from vizsla.methods.bm25_mixed import QueryWords
from vizsla.methods.typo_tolerant import described, query_words, stop_words
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.highlights import Highlighter
from vizsla.text.spelling import Correction, FuzzyDictionary, Lexicon, Neighbor, corrections, may_be_typo, suggestion
from vizsla.typing import BoolArray, Float64Array, Int32Array, Uint8Array

SURFACE = "surface"
"""The folder, in a segment's, of the words as they are written."""


class SurfaceWords(WordMember):
    """Which items hold which words as they are written: segments in which removed items are counted, too.

    Parameters
    ----------
    analyzer : Analyzer
        That of the texts, whose stems are left out.
    """

    binary = True

    def __init__(self, recipe: Recipe, analyzer: Analyzer):
        plain = AnyLanguage([]) if isinstance(analyzer, AnyLanguage) else replace(analyzer, stem=None)
        super().__init__(recipe, {}, {}, plain)
        self._fuzzy: list[tuple[Any, _native.FuzzyWords]] = []

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Return nothing: the analyzer is the base's."""
        return {}

    def norms(self, lengths: Float64Array, spoken: Uint8Array, means: Float64Array) -> Float64Array:
        """Return ones: no item is scored by these words."""
        return np.ones(len(lengths))

    def view(self, live: BoolArray | None) -> LiveView:
        """Raise: words as they are written are looked up, not searched."""
        raise InputError("Surface words must be looked up. Got a search.")

    def lists(self) -> SegmentLists:
        """Return the words of the segments as they are now, with how many live items hold each."""
        lists = SegmentLists(tuple(self._segments))
        for segment in self._segments:
            norms = np.ones(len(segment.arrays["pair_lengths"]))
            lists.native.add(segment.native, segment.removed, segment.bits, 1.0, norms, None)
        return lists

    def fuzzy(self, segments: Sequence[WordSegment]) -> list[tuple[Strings, _native.FuzzyWords]]:
        """Return the words of each segment, and what finds their neighbors: made once for each segment."""
        known = {id(arrays): (arrays, fuzzy) for arrays, fuzzy in self._fuzzy}
        found = []
        for segment in segments:
            words = [segment.arrays[name] for name in ("term_bytes", "term_offsets", "term_table")]
            kept = known.get(id(segment.arrays))
            if kept is None:
                built = _native.fuzzy_build(words[0], words[1])
                kept = known[id(segment.arrays)] = segment.arrays, _native.FuzzyWords(words[0], words[1], *built)
            found.append((kept, Strings(words[0], words[1], words[2])))
        self._fuzzy = [kept for kept, _ in found]
        return [(words, kept[1]) for kept, words in found]


class LiveLexicon:
    """The words of the live items as they are written, with the counts that the vocabulary of a fresh index has.

    Parameters
    ----------
    surface : SurfaceWords
        Which items hold which words.
    view : Bm25View
        How many items hold which stems.
    """

    def __init__(self, surface: SurfaceWords, view: Bm25View):
        self._surface, self._view, self._lists = surface, view, surface.lists()
        self._dictionaries: list[tuple[Strings, _native.FuzzyWords]] | None = None
        analyzer = view.analyzer
        self._stop_words: FuzzyDictionary | None = None
        if analyzer.languages and analyzer.dropped:
            dropped = Strings.of(sorted(analyzer.dropped))
            self._stop_words = FuzzyDictionary(dropped, np.full(len(dropped), view.counts.everything))

    def counts(self, words: Sequence[str]) -> list[int]:
        """Return how many live items hold each word in any of its forms."""
        if not words:
            return []
        alive = self._lists.find(list(words))[1].tolist()
        counts = word_holders(self._view, words)
        return [count if held else self._dropped(word) for word, held, count in zip(words, alive, counts, strict=True)]

    def near(self, word: str, edits: int) -> list[Neighbor]:
        """Return the words of live items within this number of edits, the nearest first."""
        if self._dictionaries is None:
            self._dictionaries = self._surface.fuzzy(self._lists.segments)
        found = {
            words[number]: distance
            for words, fuzzy in self._dictionaries
            for number, distance in fuzzy.near(word, edits)
        }
        if self._stop_words is not None:
            found |= {one.word: one.edits for one in self._stop_words.near(word, edits)}
        counts = self.counts(list(found))
        near = [Neighbor(text, found[text], count) for text, count in zip(found, counts, strict=True) if count]
        return sorted(near, key=lambda one: (one.edits, one.word))

    def _dropped(self, word: str) -> int:
        languages = self._view.analyzer.languages
        return self._view.counts.everything if languages and word in self._view.analyzer.dropped else 0


class RowLexicon:
    """The words of the live items, read from their texts when a word is first looked for that few items hold.

    Parameters
    ----------
    words : function
        Returns the words of the texts.
    view : Bm25View
        How many items hold which stems: a word is known where an item holds it in any form.
    """

    def __init__(self, words: Callable[[], LiveLists], view: Bm25View):
        self._words, self._view = words, view
        self._counts: dict[str, int] = {}
        self._lists: LiveLists | None = None

    @property
    def is_read(self) -> bool:
        """Whether the words of the texts have been read already."""
        return self._lists is not None

    def counts(self, words: Sequence[str]) -> list[int]:
        """Return how many live items hold each word in any of its forms; those of the last words are kept."""
        known = self._counts
        if missing := [word for word in words if word not in known]:
            if len(known) + len(missing) > CACHED_TERMS:
                known = self._counts = {word: known[word] for word in words if word in known}
            known.update(zip(missing, word_holders(self._view, missing), strict=True))
        return [known[word] for word in words]

    def near(self, word: str, edits: int) -> list[Neighbor]:
        """Return the words of live items within this number of edits, the nearest first."""
        lists = self._lists
        if lists is None:
            lists = self._lists = self._words()
        found = lists.near(word, edits)
        counts = self.counts(list(found))
        near = [Neighbor(text, found[text], count) for text, count in zip(found, counts, strict=True)]
        return sorted((one for one in near if one.holders), key=lambda one: (one.edits, one.word))


def word_holders(view: Bm25View, words: Sequence[str]) -> list[int]:
    """Return how many items hold each word in any of its forms; all of them for a stop word."""
    analyzer, everything = view.analyzer, view.counts.everything
    if not analyzer.languages:
        return view.holders_of(words)
    folded = list(zip(*analyzer.folded(list(words)), strict=True))
    stems = list(dict.fromkeys(stem for ways in folded for stem in ways if stem))
    held = dict(zip(stems, view.holders_of(stems), strict=True))
    return [
        everything if word in analyzer.dropped or not any(ways) else max(held[stem] for stem in ways if stem)
        for word, ways in zip(words, folded, strict=True)
    ]


class TypoTolerantView(Bm25View):
    """Typo-tolerant BM25 over the slots of one moment.

    Parameters
    ----------
    base : Bm25Member
        The base member.
    surface : SurfaceWords
        The vocabulary.
    """

    is_quick = False  # words that are near misspelled ones are looked for

    def __init__(self, base: Bm25Member, surface: SurfaceWords):
        super().__init__(base, base.segments)
        self.lexicon: Lexicon = LiveLexicon(surface, self)
        self._last: tuple[str, list[Correction]] | None = None

    def hints(self, queries: Queries) -> tuple[str, ...]:
        """Return which query was probably meant."""
        text, typed = queries.texts[0], queries.typed[0]
        meant = suggestion(typed, self._corrections(text), signs=typed != text)
        return () if meant is None else (f"Did you mean {meant!r}?",)

    def highlighter(self, query: str) -> Highlighter:
        """Return what finds the words of the query and those that they may stand for."""
        return super().highlighter(" ".join([query, *(one.word for one in self._corrections(query))]))

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Explain the score of one slot by the query's words and what they may stand for."""
        found, text = self._corrections(queries.texts[0]), queries.texts[0]
        if not found:
            return super().explain(queries, slot)
        plain = self._explained(text, super()._read(text), slot)
        shares = [Explanation(self._scored(self._of(text, [one], alone=True), slot), described(one)) for one in found]
        score = self._scored(self._asked(queries)[0], slot)
        return Explanation(score, f"{plain.reason}; misspelled words", [*plain.parts, *shares])

    def _read(self, text: str) -> Asked:
        found = self._corrections(text)
        return self._of(text, found) if found else super()._read(text)

    def _of(self, text: str, found: list[Correction], *, alone: bool = False) -> Asked:
        """Return what a query asks for with corrections, or what these ask for alone."""
        if self._mixed is not None:
            query = self._mixed.read(text)
            times: dict[str, float] = {} if alone else dict(query.times)
            for one in found:
                times[one.word] = times.get(one.word, 0.0) + one.weight
            return self._weighed(self._mixed, QueryWords(query.language, times))
        counts = {} if alone else self.words.counts(text)
        for one in found:
            for term, share in self.words.counts(one.word).items():
                counts[term] = counts.get(term, 0.0) + one.weight * share
        return self._found(list(counts)), np.array(list(counts.values()), np.float32).tolist()

    def _corrections(self, text: str) -> list[Correction]:
        last = self._last
        if last is None or last[0] != text:  # a search asks for the words, and then for the hint
            words = query_words(text, self.analyzer)
            found = corrections(words, self.lexicon, stop_words(self.analyzer), self.counts.everything)
            last = self._last = text, found
        return last[1]


class ForgivingView(TypoTolerantView):
    """What a view of plain BM25 answers where typos are forgiven: the words come from the texts of the catalog.

    Parameters
    ----------
    view : Bm25View
        The view, whose lists are shared.
    words : function
        Returns the words of the texts.
    """

    is_quick = True

    def __init__(self, view: Bm25View, words: Callable[[], LiveLists]):
        vars(self).update(vars(view))
        self.lexicon = self._rows = RowLexicon(words, view)
        self._last = None

    def is_quick_for(self, text: str) -> bool:
        """Return whether no word is unknown, and those near rare ones can be looked up without reading any text."""
        words, everything = query_words(text, self.analyzer), self.counts.everything
        joined = [one + other for one, other in pairwise(words)]
        counts = self.lexicon.counts([*words, *joined])
        rare = [held for word, held in zip(words, counts, strict=False) if may_be_typo(word, held, everything)]
        if not rare and not any(counts[len(words) :]):
            self._last = text, []
            return True
        quick = not rare or (self._rows.is_read and all(rare))
        if quick:
            self._last = text, corrections(words, self.lexicon, stop_words(self.analyzer), everything)
        return quick


class ForgivingFieldsView(ForgivingView, FieldsView):
    """The same for words that are weighed by field."""


class TypoTolerantMember(LiveMember):
    """Typo-tolerant BM25: a BM25 member, its own or another of the engine, and the words of the texts as written."""

    kinds = ("typo_tolerant",)

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        super().__init__(recipe, settled, bindings)
        base = recipe.settings.get("base")
        self._owned = isinstance(base, Recipe)
        self.base: Any = Bm25Member(base, settled, bindings) if isinstance(base, Recipe) else bindings.get("base")
        if not isinstance(self.base, Bm25Member):
            raise InputError(f"`base` must be BM25, or a member that is. Got {type(self.base).__name__}.")
        self.surface = SurfaceWords(recipe, self.base.analyzer)

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether the base is a BM25 member."""
        base = recipe.settings.get("base")
        return super().accepts(recipe) and isinstance(base, Recipe) and Bm25Member.accepts(base)

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Return what the base settles; nothing where that is another member."""
        base = recipe.settings.get("base")
        return Bm25Member.settle(base, texts, bindings) if isinstance(base, Recipe) else {}

    def open(self, folders: Sequence[Path], sizes: Sequence[int]) -> None:
        """Begin anew over these segments."""
        if self._owned:
            self.base.open(folders, sizes)
        self.surface.open([folder / SURFACE for folder in folders], sizes)

    def append(self, texts: Sequence[str]) -> None:
        """Add rows."""
        if self._owned:
            self.base.append(texts)
        self.surface.append(texts)

    def remove(self, slots: Int32Array, texts: Callable[[], Sequence[str]]) -> None:
        """Forget slots, and the words that no other holds."""
        if self._owned:
            self.base.remove(slots, texts)
        self.surface.remove(slots, texts)

    def view(self, live: BoolArray | None) -> TypoTolerantView:
        """Return what answers over the slots as they are now."""
        return TypoTolerantView(self.base, self.surface)

    def write(self, folder: Path, slots: Int32Array) -> None:
        """Write these slots as one segment."""
        if self._owned:
            self.base.write(folder, slots)
        self.surface.write(folder / SURFACE, slots)

    @property
    def memory_bytes(self) -> int:
        """Bytes of the segments in memory."""
        return self.surface.memory_bytes + (self.base.memory_bytes if self._owned else 0)
