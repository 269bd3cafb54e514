"""Where learning a table begins: at the bag's own weights, with room for the expansions that clicks suggest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.encoders.token_table import TokenTable
from vizsla.methods.bag.clicked import Clicked
from vizsla.methods.bag.expansion import strongest_pairs
from vizsla.methods.bag.learner import LearningSettings, TokenLearner
from vizsla.methods.bag.model import Bag

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.sparse_rows import SparseRows


def begun(bag: Bag, clicked: Clicked, clicks: csr_array, settings: LearningSettings) -> TokenLearner:
    """Return a learner at the bag's own table, with room for the expansions that these clicks suggest."""
    queries = bag.encoder.bag.queries(clicked.texts)
    table = _with_room(bag, queries, clicks, settings.expansions)
    return TokenLearner(bag, table, queries, clicks, settings)


def _with_room(bag: Bag, queries: SparseRows, clicks: csr_array, most: int) -> TokenTable:
    """Return the bag's table with the strongest pairs of these clicks added to its expansions, at 0."""
    table: TokenTable = bag.encoder
    items = bag.index.item_rows().to_scipy()
    rows = np.repeat(np.arange(clicks.shape[0]), np.diff(clicks.indptr))
    asked = queries.with_values(np.ones(len(queries.columns), np.float32)).to_scipy()
    offsets, targets = strongest_pairs(asked[rows], items[clicks.indices], table.weights, most=most)
    if not table.expands:
        return TokenTable(table.bag, table.weights, offsets, targets, np.zeros(len(targets), np.float32))
    return table.with_edges(offsets, targets)
