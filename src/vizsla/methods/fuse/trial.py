"""Trial: one way to add parts, and the composition that it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vizsla.compose.normalised import METHODS
from vizsla.compose.sum import Sum
from vizsla.methods.fuse.rules import RULES, Rule
from vizsla.retriever import Retriever

NONE = "none"
HOWS = (NONE, *METHODS, *RULES)
"""How scores come to one scale: as they are, by what else was found for the query, or by a rule for all queries."""


class Trial(NamedTuple):
    """How scores are brought to one scale, what each part weighs (all of them 1), and what items without clicks get.

    Examples
    --------
    >>> Trial("minmax", (0.75, 0.0, 0.25)).used
    (0, 2)
    """

    how: str
    weights: tuple[float, ...]
    lift: float = 0.0

    @property
    def used(self) -> tuple[int, ...]:
        """Which parts weigh anything."""
        return tuple(at for at, weight in enumerate(self.weights) if weight > 0)

    def composed(
        self,
        parts: Sequence[Retriever],
        rules: Sequence[dict[str, Rule]],
        *,
        depth: int,
        lifted: Retriever | None = None,
    ) -> Retriever:
        """Return the weighted sum of the parts that weigh anything; a single one is returned as it is.

        Parameters
        ----------
        parts : sequence of Retriever
            All parts, used or not.
        rules : sequence of dict
            For each part, the rules by which its scores are scaled, by name.
        depth : int
            How many candidates each contributes.
        lifted : Retriever, optional
            What gives items without clicks 1 and others 0, for a trial that lifts.
        """
        if len(self.used) == 1:
            return parts[self.used[0]]
        terms = [(self.weights[at], self._scaled(parts[at], rules[at], depth)) for at in self.used]
        return Sum(terms if lifted is None else [*terms, (self.lift, lifted)], depth=depth)

    def _scaled(self, part: Retriever, rules: dict[str, Rule], depth: int) -> Retriever:
        if self.how in METHODS:
            return part.normalised(self.how, depth=depth)
        return part if self.how == NONE else rules[self.how].of(part)


def alone(part: int, parts: int) -> Trial:
    """Return the trial of one part by itself.

    Examples
    --------
    >>> alone(1, 3)
    Trial(how='none', weights=(0.0, 1.0, 0.0), lift=0.0)
    """
    return Trial(NONE, tuple(float(at == part) for at in range(parts)))
