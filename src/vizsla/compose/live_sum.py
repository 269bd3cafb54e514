"""A sum whose parts are native indexes: one native call searches, joins and scores, query by query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla import _native
from vizsla.candidates import Candidates
from vizsla.encoded import Encoded
from vizsla.errors import InputError
from vizsla.queries import Queries
from vizsla.stats import Stats
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.compose.fusion import Term


class LiveSum:
    """What `fused` does in many calls, in one: the same answer, to the last bit.

    It serves where no part's search is any code of its own but that of a native index, no filter stands, and every
    part's list tells its scale.

    Parameters
    ----------
    terms : sequence of Term
        The parts of the sum.
    """

    def __init__(self, terms: Sequence[Term]):
        self._parts: list[Any] = [term.part.part for term in terms]
        self._merged: Strings = terms[0].part.merged
        self._longest = min(term.longest for term in terms)
        self._sum = _native.LiveSum([term.live() for term in terms])

    @classmethod
    def of(cls, terms: Sequence[Term]) -> Self | None:
        """Return the sum of these parts if it can be made so, else None."""
        parts = [term.part.part for term in terms]
        return cls(terms) if all(isinstance(part, Encoded) and part.is_plain for part in parts) else None

    def serves(self, taken: int) -> bool:
        """Whether lists of so many tell all scales."""
        return taken <= self._longest

    def search(self, queries: Queries, k: int, taken: int, threads: int) -> Candidates:
        """Return the best `k` of what the parts' best `taken` add up to."""
        rows = [part._rows(queries) for part in self._parts]
        try:
            sources = [part.index.live_source(own) for part, own in zip(self._parts, rows, strict=True)]
            offsets, items, scores, certain, costs = self._sum.search(sources, taken, k, threads)
        except InputError:
            raise
        except (ValueError, TypeError) as error:
            raise InputError(f"The queries must be sound. Got others: {error}.") from error
        return Candidates.trusted(
            np.frombuffer(offsets, np.int64),
            np.frombuffer(items, np.int32),
            np.frombuffer(scores, np.float32),
            self._merged,
            self._stats(costs, certain),
        )

    def _stats(self, costs: list[tuple[int, int, bool]], certain: bool) -> Stats:
        read = scored = size = 0
        for part, (entries, pairs, exact) in zip(self._parts, costs, strict=True):
            read, scored, size = read + entries, scored + pairs, size + entries * part.index.entry_bytes
            certain = certain and exact
        return Stats(0.0, scored, 0, read, size, certain)
