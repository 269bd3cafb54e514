"""WrappedScorer: something that stands around a scorer and changes none of its scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.errors import CompositionError
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.scored import Scored
from vizsla.scorer import Scorer
from vizsla.strings import Strings


class WrappedScorer(Scorer):
    """What a Budget and a ScoreCache share: they are scorers with the items and the scale of the one inside.

    Parameters
    ----------
    scorer : Scorer
        What makes the scores.
    """

    wrapped: Scorer

    def __init__(self, scorer: Scorer):
        if not isinstance(scorer, Scorer):
            raise CompositionError(f"`scorer` must be a Scorer. Got {type(scorer).__name__}.")
        if scorer.composed or scorer.scale == "none":
            name = type(self).__name__
            raise CompositionError(
                f"A {name} must stand around the one scorer that makes the calls. Got {scorer}: write "
                f"a >> {name}(scorer, …)."
            )
        self.wrapped, self.scale, self.model_calls = scorer, scorer.scale, scorer.model_calls
        self.highest = scorer.highest

    @property
    def items(self) -> Strings:
        """The ids of the items that the scorer inside can score."""
        return self.wrapped.items

    @property
    def nbytes(self) -> int:
        """Bytes of the scorer inside."""
        return self.wrapped.nbytes

    def _byte_counts(self) -> dict[Any, int]:
        return self.wrapped._byte_counts()

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        return self.wrapped._score(queries, candidates, filter, threads)

    def _afford(self, queries: Queries, pairs: NDArray[np.int64]) -> None:
        self.wrapped._afford(queries, pairs)

    def _inserted(self, wrap: Callable[[Scorer], Scorer]) -> Scorer:
        return self._around(self.wrapped._inserted(wrap))

    def _around(self, scorer: Scorer) -> Self:
        other = copy(self)
        other.wrapped = scorer
        return other
