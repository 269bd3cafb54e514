"""Tokens as a live member: binary lists, weighted by the idf of the live items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.explanation import Explanation
from vizsla.engine.word_member import CACHED_TERMS, Asked, WordMember, WordView
from vizsla.engine.word_segments import WordSegment
from vizsla.errors import InputError, check_range
from vizsla.methods.tokens.model import DEFAULT_B, TokenRetriever, idf
from vizsla.text.analyzers import Analyzer, analyzer_of
from vizsla.text.bag_of_words import length_norms
from vizsla.typing import BoolArray, Float64Array, Uint8Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset


class TokensMember(WordMember):
    """Tokens that weigh their idf, as `tokens` builds them with `epochs=0`: idf and length norms follow every change.

    How much an item's length counts is settled: what the recipe says, or what the clicks that are there say.
    """

    kinds = ("tokens",)
    binary = True

    def __init__(self, recipe: Recipe, settled: dict[str, Any], bindings: dict[str, Any]):
        super().__init__(recipe, settled, bindings, analyzer_of(settled["analyzer"]))
        if not self.accepts(recipe):
            raise InputError(f"`recipe` must be of tokens with `epochs=0`, in one language at most. Got {recipe!r}.")
        self.b = check_range("b", float(settled["b"]), 0, 1)

    @classmethod
    def accepts(cls, recipe: Recipe) -> bool:
        """Return whether the recipe learns nothing, and its analyzer is plain data, with one known language at most."""
        analyzer = recipe.settings.get("analyzer") or Analyzer()
        plain = isinstance(analyzer, Analyzer) and analyzer.vocabulary is None and analyzer.settled
        idle = recipe.settings.get("epochs") == 0
        whole = recipe.settings.get("fields") is None
        return super().accepts(recipe) and idle and plain and whole and len(analyzer.languages) < 2

    @classmethod
    def settle(cls, recipe: Recipe, texts: Iterable[str], bindings: dict[str, Any]) -> dict[str, Any]:
        """Return the analyzer, and how much lengths count."""
        analyzer = recipe.settings.get("analyzer") or Analyzer()
        b = recipe.settings.get("b", "auto")
        return {"analyzer": analyzer.to_dict(), "b": DEFAULT_B if b == "auto" else float(b)}

    @classmethod
    def settle_on(cls, recipe: Recipe, dataset: Dataset, bindings: dict[str, Any]) -> dict[str, Any]:
        """Return what `settle` does; where it is left open how much lengths count, clicks decide."""
        settled = cls.settle(recipe, (), bindings)
        if recipe.settings.get("b", "auto") == "auto" and dataset.clicks.nnz:
            made: Any = recipe.build(dataset)
            settled["b"] = float(made.b)
        return settled

    def norms(self, lengths: Float64Array, spoken: Uint8Array, means: Float64Array) -> Float64Array:
        """Return 0: what an item holds counts whole."""
        return np.zeros(len(lengths))

    def view(self, live: BoolArray | None) -> TokensView:
        """Return what answers over the slots as they are now."""
        return TokensView(self, tuple(self._segments))


class KnownToken(NamedTuple):
    """A token that live items hold: its lists, its idf, how many hold it, and where they name it first."""

    term: _native.LiveTerm
    weight: float
    holders: int
    order: int


class TokensView(WordView):
    """Tokens over the slots of one moment.

    A query's weights are counted in units of a power of two, as `native/postings/bag_query.hpp` has it, so that sums
    are exact in any order.

    Parameters
    ----------
    member : TokensMember
        The member that made it.
    segments : sequence of WordSegment
        Those of this moment.
    """

    scale = TokenRetriever.scale

    def __init__(self, member: TokensMember, segments: Sequence[WordSegment]):
        self._norms = np.zeros(0, np.float32)
        self._tokens: dict[str, KnownToken | None] = {}
        super().__init__(member, segments)

    def explain(self, queries: Queries, slot: int) -> Explanation:
        """Explain the score of one slot by the query's tokens."""
        score, norm = self._scored(self._asked(queries)[0], slot), self._norm(slot)
        shares = []
        for token, known in self._known(queries.texts[0]):
            if self._scored(([known.term], [1.0]), slot) > 0:
                facts = f"in {known.holders} of {self.counts.everything} items, weight {known.weight:.4f}"
                shares.append(Explanation(known.weight * norm, f"{token!r}: {facts}"))
            else:
                shares.append(Explanation(0.0, f"{token!r}: not in the item"))
        return Explanation(score, f"tokens, norm {norm:.4f} × the sum over the query's tokens", shares)

    def _length_norms(self, member: Any) -> NDArray[np.float32]:
        longest = max((_longest(segment) for segment in self.lists.segments), default=0)
        mean = float(self.counts.length[0]) / max(self.counts.everything, 1)
        self._norms = length_norms(np.arange(longest + 1, dtype=np.int32), mean, member.b)
        return self._norms

    def _norm(self, slot: int) -> float:
        for segment in self.lists.segments:
            if slot < len(segment):
                return float(self._norms[int(segment.arrays["lengths"][slot]) // 2])
            slot -= len(segment)
        raise InputError("`slot` must be below the number of slots. Got one that is not.")

    def _read(self, text: str) -> Asked:
        known = [token for _, token in self._known(text)]
        total = 0.0
        for token in known:
            total += token.weight
        if not total:
            return [], []
        exponent = max(frexp(total)[1], -80) - 23
        weights = [ldexp(max(round(ldexp(token.weight, -exponent)), 1), exponent) for token in known]
        return [token.term for token in known], weights

    def _known(self, text: str) -> list[tuple[str, KnownToken]]:
        """Return the tokens of a query that live items hold, in the order in which these name them first."""
        names, known = list(self.words.counts(text)), self._tokens
        if missing := [name for name in names if name not in known]:
            if len(known) + len(missing) > CACHED_TERMS:
                known = self._tokens = {name: known[name] for name in names if name in known}
            known.update(zip(missing, self._found(missing), strict=True))
        found = [(name, token) for name in names if (token := known[name]) is not None]
        return sorted(found, key=lambda pair: pair[1].order)

    def _found(self, names: list[str]) -> list[KnownToken | None]:
        ids, holders, orders = self.lists.find(names)
        count = len(names)
        terms = self.lists.native.terms(ids, np.ones(count), np.zeros(count), orders, np.zeros(count, np.int32))
        rows = zip(terms, idf(holders, self.counts.everything).tolist(), holders.tolist(), orders.tolist(), strict=True)
        return [KnownToken(*row) if row[2] else None for row in rows]


def _longest(segment: WordSegment) -> int:
    """Return the most tokens that an item of a segment holds; more than there are raises."""
    longest = int(segment.arrays["lengths"].max(initial=0)) // 2
    if longest > segment.native.terms:
        raise segment.damage(InputError("an item is longer than its words"))
    return longest
