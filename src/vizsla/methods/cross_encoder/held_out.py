"""HeldOutPairs: queries kept from training, and how well their candidates are ordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.clicks.log import ClickLog
from vizsla.clicks.measures import PerQuery, ndcgs
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scored import Scored
from vizsla.stats import Stats
from vizsla.training.pair_learner import PairLearner

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DEPTH = 10
MEASURE = "nDCG@10"


@dataclass(frozen=True)
class HeldOutPairs:
    """Held-out queries and the items that a retriever found for them.

    Parameters
    ----------
    queries, texts : lists of str
        A query and an item for each candidate.
    found : Candidates
        The candidates.
    clicks : csr_array
        What was clicked, held-out queries × items.
    """

    queries: list[str]
    texts: list[str]
    found: Candidates
    clicks: csr_array

    @classmethod
    def of(
        cls, log: ClickLog, held: NDArray[np.int64], texts: list[str], retriever: Retriever, *, depth: int, threads: int
    ) -> HeldOutPairs:
        """Ask the retriever for the held-out queries of a log."""
        asked = log.take_queries(held)
        found = retriever._search(Queries(asked), min(depth, len(texts)), None, threads)
        rows = np.repeat(np.arange(len(asked)), np.diff(found.offsets)).tolist()
        pairs = [asked[row] for row in rows], [texts[item] for item in found.items.tolist()]
        return cls(*pairs, found, log.matrix[held])

    def measured(self, learner: PairLearner) -> PerQuery:
        """Return each query's nDCG@10 with the weights as they are."""
        scores = learner.measured(self.queries, self.texts)
        return ndcgs(self.found.rescored(Scored(scores, Stats()), k=DEPTH), self.clicks, depth=DEPTH)
