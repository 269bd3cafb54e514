"""Parts may number their items differently: one merged catalogue, and maps to and from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.index import Mask
from vizsla.retriever import Retriever
from vizsla.scorer import Scorer
from vizsla.strings import Strings


@dataclass(frozen=True)
class Aligned:
    """A part of a composition that speaks the merged catalogue's item numbers.

    `to_merged` is None when the part's own numbers are the merged ones.
    """

    part: Retriever
    merged: Strings
    to_merged: NDArray[np.int32] | None

    def search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        """Search the part; the answer is in merged numbers."""
        if self.to_merged is None:
            return self.part._search(texts, k, allowed, threads)
        own = None if allowed is None else allowed[self.to_merged]
        return self._translated(self.part._search(texts, k, own, threads))

    def complete(self, texts: list[str], found: Candidates, wanted: Candidates) -> Candidates:
        """Score `wanted`, given what this part's search found; everything in merged numbers."""
        if self.to_merged is None:
            return self.part._complete(texts, found, wanted)
        return self._translated(self.part._complete(texts, self._own(found), self._own(wanted)))

    def _translated(self, own: Candidates) -> Candidates:
        items = self.to_merged[own.items]  # type: ignore[index]
        if own.scores is None:
            return Candidates(own.offsets, items, None, catalogue=self.merged, stats=own.stats)
        return Candidates.ranked(own.offsets, items, own.scores, catalogue=self.merged, stats=own.stats)

    def _own(self, candidates: Candidates) -> Candidates:
        back = np.full(len(self.merged), -1, dtype=np.int32)
        back[self.to_merged] = np.arange(len(self.part.items), dtype=np.int32)
        items = back[candidates.items]
        if candidates.scores is None:
            return Candidates(candidates.offsets, items, None, catalogue=self.part.items)
        return Candidates.ranked(candidates.offsets, items, candidates.scores, catalogue=self.part.items)


def align(parts: Sequence[Retriever]) -> list[Aligned]:
    """Merge the parts' catalogues: the first one's order, then what the others add."""
    merged = merge_catalogues(parts)
    return [Aligned(part, merged, _numbers_in(part.items, merged)) for part in parts]


def merge_catalogues(parts: Sequence[Scorer]) -> Strings:
    """Return all parts' item ids, the first part's first."""
    merged = parts[0].items
    for part in parts[1:]:
        if part.items == merged:
            continue
        new = [item for item in part.items if item not in merged]
        if new:
            merged = Strings.of([*merged, *new])
    return merged


def _numbers_in(items: Strings, merged: Strings) -> NDArray[np.int32] | None:
    return None if items == merged else merged.find_all(items).astype(np.int32)
