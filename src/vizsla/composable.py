"""The operators and methods by which retrievers combine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

from vizsla.checked import checked
from vizsla.errors import CompositionError

if TYPE_CHECKING:
    from vizsla.compose import Cut, Normalised, Rerank, Scaled, Shards, Sum, Union
    from vizsla.retriever import Retriever
    from vizsla.scorer import Scorer

T = TypeVar("T")

DEPTH = 100
"""How many candidates a part contributes unless told otherwise."""


class Composable:
    """Gives a Retriever `>>`, `|`, `+`, `*` and `%`; each has a method form with its own depth."""

    @checked
    def rerank(self, scorer: Scorer, *, depth: int = DEPTH) -> Rerank:
        """Find `depth` candidates here and let the scorer score them: `self >> scorer`."""
        from vizsla.compose import Rerank

        return Rerank(self._retriever(), scorer, depth=depth)

    @checked
    def union(self, other: Retriever, *, depth: int = DEPTH) -> Union:
        """Join both sides' best `depth` into a match set without scores: `self | other`."""
        from vizsla.compose import Union

        return Union([self._retriever(), other], depth=depth)

    @checked
    def plus(self, other: Retriever, *, depth: int = DEPTH) -> Sum:
        """Add both sides' scores over their best `depth`: `self + other`."""
        from vizsla.compose import Sum

        return Sum([(1.0, self._retriever()), (1.0, other)], depth=depth)

    def shards(self, *others: Retriever) -> Shards:
        """Search this and others, over disjoint parts of a catalogue, as one: `vizsla.shards([self, *others])`."""
        from vizsla.compose import Shards

        return Shards([self._retriever(), *others])

    @checked
    def times(self, weight: float) -> Sum:
        """Multiply the scores: `weight * self`."""
        from vizsla.compose import Sum

        return Sum([(float(weight), self._retriever())])

    @checked
    def cut(self, k: int) -> Cut:
        """Keep at most the best `k`: `self % k`."""
        from vizsla.compose import Cut

        return Cut(self._retriever(), k)

    @checked
    def normalised(self, how: str = "minmax", *, depth: int = DEPTH) -> Normalised:
        """Bring scores to a common scale, query by query, over the best `depth`: "minmax", "zscore" or "rank"."""
        from vizsla.compose import Normalised

        return Normalised(self._retriever(), how, depth=depth)

    def scaled(self, how: str = "linear", *, slope: float = 1.0, height: float = 1.0) -> Scaled:
        """Bring scores to another scale by one rule for all queries: slope · score, or height · e^(slope · score)."""
        from vizsla.compose import Scaled

        return Scaled(self._retriever(), how, slope=slope, height=height)

    def __rshift__(self, scorer: Scorer) -> Rerank:
        from vizsla.scorer import Scorer

        return self.rerank(_operand(scorer, Scorer, ">>"))

    def __or__(self, other: Retriever) -> Union:
        return self.union(_operand(other, Composable, "|"))

    def __add__(self, other: Retriever) -> Sum:
        return self.plus(_operand(other, Composable, "+"))

    def __radd__(self, other: object) -> NoReturn:
        raise CompositionError(
            f"`+` must stand between Retrievers. Got {type(other).__name__}. `sum([a, b])` begins at 0: write `a + b`, "
            "or `functools.reduce(operator.add, parts)`."
        )

    def __mul__(self, weight: float) -> Sum:
        return self.times(_operand(weight, (int, float), "*"))

    __rmul__ = __mul__

    def __mod__(self, k: int) -> Cut:
        return self.cut(_operand(k, int, "%"))

    def _retriever(self) -> Retriever:
        return cast("Retriever", self)


def _operand(value: T, expected: type | tuple[type, ...], operator: str) -> T:
    if not isinstance(value, expected):
        name = expected.__name__.replace("Composable", "Retriever") if isinstance(expected, type) else "number"
        raise CompositionError(f"`{operator}` must be followed by a {name}. Got {type(value).__name__}.")
    return value
