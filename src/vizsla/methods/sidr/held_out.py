"""HeldOutQueries: what beta search finds for queries that were held out of the clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from vizsla.encoders.sparsify import sparsified, summed
from vizsla.indexes.bag import BagIndex
from vizsla.methods.bag.clicked import Clicked
from vizsla.sparse_rows import SparseRows
from vizsla.training.vocabulary_model import Tokens, VocabularyModel

PART = 64


@dataclass(frozen=True)
class HeldOutQueries:
    """Queries, their clicks, and what the table says of them.

    Parameters
    ----------
    clicked : Clicked
        Texts and clicks.
    queries : list of int64 arrays
        Token ids, as the transformer reads them.
    tables : SparseRows
        What a table that never saw these clicks says for each.
    cold : bool array
        Whose items lost every click.
    """

    clicked: Clicked
    queries: list[Tokens]
    tables: SparseRows
    cold: NDArray[np.bool_]

    def some(self, most: int, seed: int) -> Self:
        """Return at most so many of them, warm and cold alike."""
        order = np.random.default_rng(seed).permutation(len(self.queries))
        kinds = [order[self.cold[order] == cold][: most // 2] for cold in (True, False)]
        chosen = np.sort(np.concatenate(kinds))
        texts = [self.queries[number] for number in chosen.tolist()]
        return type(self)(self.clicked.take(chosen), texts, self.tables.take(chosen), self.cold[chosen])

    def measured(self, model: VocabularyModel, index: BagIndex, held: Tokens, most: int) -> NDArray[np.float64]:
        """Return the reciprocal rank of each query's first clicked item in beta search."""
        found = index.search(self.weighted(model, held, most), 10)
        return self.clicked.reciprocal_ranks(found)

    def weighted(self, model: VocabularyModel, held: Tokens, most: int) -> SparseRows:
        """Return the queries' rows: the table's weights and the transformer's."""
        parts = []
        for start in range(0, len(self.queries), PART):
            with model.no_gradients():
                encoding = model.encode(self.queries[start : start + PART])
            values = model.fixed_values(encoding, held, scale=model.query_scale)
            parts.append(sparsified(values, held, most, self.tables.width))
        return summed(self.tables, SparseRows.stacked(parts, self.tables.width))

    def quality(self, measured: NDArray[np.float64]) -> float:
        """Return the mean over warm and cold queries, each kind counting alike."""
        kinds = [kind for kind in (measured[~self.cold], measured[self.cold]) if len(kind)]
        return float(np.mean([kind.mean() for kind in kinds])) if kinds else 0.0
