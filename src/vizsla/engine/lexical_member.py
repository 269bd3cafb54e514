"""BM25 as a live member: after every change the answers of an index that is built of the live texts, bit for bit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.explanation import Explanation
from vizsla.engine.live_words import LiveMixedWords
from vizsla.engine.word_member import CACHED_TERMS, Asked, WordMember, WordView
from vizsla.engine.word_segments import (
    WordSegment,
    list_name,
)
from vizsla.errors import InputError
from vizsla.methods.bm25_mixed import OWN_LANGUAGE, MixedQueryReader, QueryWords
from vizsla.methods.bm25_statistics import Weighting
from vizsla.text.analyzers import Analyzer, AnyLanguage, analyzer_of, surface_of
from vizsla.text.streams import batches, call_with
from vizsla.typing import BoolArray, Float64Array, Uint8Array

FLOOR_TERM = "\x00floor"
"""The name of what a query asks of every item, where there are several languages."""


class Bm25Member(WordMember):
    """BM25 over segments of whole numbers: counts, lengths and how many items hold a term, never weights.

    What a posting weighs is computed when it is asked for, from the statistics of the items that are live then, by the
    arithmetic of `Bm25`. The bounds by which lists are skipped are made for one average length; for a larger one they
    are stretched by the quotient, which is enough for any length. New items become small segments in memory, which are
    joined as they come, so that nothing that a view reads is ever changed.
    """

    kinds = ("bm25",)

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        super().__init__(recipe, settled, bindings, analyzer_of(settled["analyzer"]))
        if not self.accepts(recipe):
            raise InputError(f"`recipe` must be of BM25 over its own statistics. Got {recipe!r}.")
        chosen = {name: recipe.settings[name] for name in ("variant", "k1", "b", "delta") if name in recipe.settings}
        self.weighting = Weighting(**chosen)

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether the recipe is of BM25 over one text, its own statistics, and an analyzer of plain data."""
        analyzer = recipe.settings.get("analyzer")
        plain = analyzer is None or (isinstance(analyzer, Analyzer) and analyzer.vocabulary is None)
        whole = any(recipe.settings.get(name) is not None for name in ("statistics", "fields"))
        return super().accepts(recipe) and plain and not whole

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

    def norms(self, lengths: Float64Array, spoken: Uint8Array, means: Float64Array) -> Float64Array:
        """Return the norm of items of these lengths and languages."""
        return self.weighting.norms(lengths, means[spoken])

    def view(self, live: BoolArray | None) -> Bm25View:
        """Return what answers over the slots as they are now."""
        return Bm25View(self, tuple(self._segments))


class Bm25View(WordView):
    """BM25 over the slots of one moment.

    Parameters
    ----------
    member : Bm25Member
        The member that made it; only its settings are used later.
    segments : sequence of WordSegment
        Those of this moment.
    **shared
        As for `WordView`.
    """

    scale = "bm25"
    is_quick = True

    def __init__(self, member: Bm25Member, segments: Sequence[WordSegment], **shared: Any):
        super().__init__(member, segments, **shared)
        self.weighting = member.weighting
        self._terms: dict[str, _native.LiveTerm] = {}
        self._mixed: LiveMixedWords | None = None
        if len(self.analyzer.languages) > 1:
            self._mixed = LiveMixedWords(MixedQueryReader(self.analyzer), self.weighting, self.counts, self.lists)

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Explain the score of one slot by the query's words."""
        return self._explained(queries.texts[0], self._asked(queries)[0], slot)

    @property
    def formula(self) -> str:
        """What scores are made by."""
        return f"bm25 {self.weighting.variant}, the sum over the query's words"

    def _parts(
        self, lists: Sequence[tuple[str, int]], weights: Sequence[float], slot: int, share: float
    ) -> list[Explanation]:
        """Return what each field gives of the share of some lists; nothing where a text is one field."""
        return []

    def _explained(self, text: str, asked: Asked, slot: int) -> Explanation:
        score = self._scored(asked, slot)
        what = self.formula
        if self._mixed is not None:
            query = self._mixed.read(text)
            if query.language >= 0:
                spoken = self.analyzer.languages[query.language]
                what += f"; the query is in {spoken}, whose items count {OWN_LANGUAGE:g} times"
            return Explanation(score, what, self._word_shares(self._mixed, query, slot))
        words = self.analyzer.query_counts(text)
        return Explanation(score, what, [self._share(word, count, slot) for word, count in words.items()])

    def _share(self, word: str, count: float, slot: int) -> Explanation:
        holders, everything = self.holders(word), self.counts.everything
        if not holders:
            return Explanation(0.0, f"{word!r}: in no item")
        share = self._scored((self._found([word]), [count]), slot)
        idf = float(self.weighting.idf(np.array([holders], np.int64), everything)[0])
        facts = f"in {holders} of {everything} items, idf {idf:.4f}"
        parts = self._parts([(word, 0)], [count], slot, share)
        return Explanation(share, f"{word!r}: {facts}{_times(count)}", parts)

    def _word_shares(self, mixed: LiveMixedWords, query: QueryWords, slot: int) -> list[Explanation]:
        shares = []
        for text, times in query.times.items():
            [word] = mixed.known([text], query.language)
            if not word.holders:
                shares.append(Explanation(0.0, f"{text!r}: in no item"))
                continue
            lists, weights = self._asked_lists(mixed, QueryWords(query.language, {text: times}))
            share = self._scored((self._lists_of(mixed, lists), weights), slot)
            whole = word.documents == self.counts.everything
            items = "items" if whole else f"{self.analyzer.languages[query.language]} items"
            facts = f"in {word.holders} of {word.documents} {items}, idf {word.idf:.4f}"
            parts = self._parts(lists, weights, slot, share)
            shares.append(Explanation(share, f"{text!r}: {facts}{_times(times)}", parts))
        return shares

    def holders(self, term: str) -> int:
        """Return how many items hold a term."""
        return self.holders_of([term])[0]

    def holders_of(self, terms: Sequence[str]) -> list[int]:
        """Return how many items hold each term."""
        if self._mixed is not None:
            return [self._mixed.holders(term) for term in terms]
        found: list[int] = self.lists.find(list(terms))[1].tolist()
        return found

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
            idf = self.weighting.idf(holders, self.everything)
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
        lists, weights = self._asked_lists(mixed, query)
        return self._lists_of(mixed, lists), weights

    def _asked_lists(self, mixed: LiveMixedWords, query: QueryWords) -> tuple[list[tuple[str, int]], list[float]]:
        """Return the lists that a query of a catalog in several languages asks for: the weights of its words, added."""
        has_floor = self.weighting.absent(np.ones(1)) is not None
        asked: dict[tuple[str, int], float] = {}
        words = mixed.known(query.times, query.language)
        for count, word in zip(query.times.values(), words, strict=True):
            for name, weight in zip(word.lists, word.weights, strict=True):
                asked[name] = asked.get(name, 0.0) + count * weight
            if has_floor and word.floor:
                asked[FLOOR_TERM, 0] = asked.get((FLOOR_TERM, 0), 0.0) + count * word.floor
        return list(asked), np.array(list(asked.values()), np.float32).tolist()

    def _lists_of(self, mixed: LiveMixedWords, asked: list[tuple[str, int]]) -> list[_native.LiveTerm]:
        names = [list_name(term, language) for term, language in asked]
        known = self._terms
        if missing := [place for place, name in enumerate(names) if name not in known]:
            if len(known) + len(missing) > CACHED_TERMS:
                known = self._terms = {name: known[name] for name in names if name in known}
            ids = self.lists.find([names[place] for place in missing])[0]
            ones = np.ones(len(missing))
            is_floor = np.array([asked[place][0] == FLOOR_TERM for place in missing])
            absent = self.weighting.absent(ones)
            orders = [0 if asked[place][0] == FLOOR_TERM else mixed.facts[asked[place][0]].order for place in missing]
            found = self.lists.native.terms(
                ids,
                self.weighting.gains(ones),
                np.where(is_floor, 0.0 if absent is None else absent, 0.0),
                np.array(orders, np.uint64),
                np.array([asked[place][1] for place in missing], np.int32),
            )
            known.update(zip([names[place] for place in missing], found, strict=True))
        return [known[name] for name in names]


def _times(count: float) -> str:
    return "" if count == 1 else f", {count:g} times in the query"
