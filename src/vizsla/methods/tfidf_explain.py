"""Why TF-IDF gave an item its score: the n-grams that it shares with the query."""

from __future__ import annotations

import numpy as np

from vizsla.candidates import Candidates
from vizsla.explanation import Explanation
from vizsla.indexes.inverted import InvertedIndex
from vizsla.queries import Queries
from vizsla.sparse_rows import SparseRows
from vizsla.text.ngrams import NgramTfidf

MOST_SHARES = 12


def explain_tfidf(score: float, encoder: NgramTfidf, index: InvertedIndex, queries: Queries, item: int) -> Explanation:
    """Return the shares of the query's n-grams, the largest one by one; they add up to `score`."""
    row: SparseRows = queries.encoded(encoder)  # type: ignore[assignment]
    count = len(row.columns)
    alone = SparseRows(np.arange(count + 1), row.columns, row.values, row.width)
    shares = index.scores(alone, Candidates.matches([np.array([item], np.int32)] * count)).scores.astype(float)
    order = np.argsort(-shares, kind="stable")
    shared = order[: int(np.count_nonzero(shares))]
    parts = [
        Explanation(float(shares[at]), _named(encoder, int(row.columns[at]), float(row.values[at])))
        for at in shared[:MOST_SHARES]
    ]
    if len(shared) > MOST_SHARES:
        others = float(shares[shared[MOST_SHARES:]].sum())
        parts.append(Explanation(others, f"{len(shared) - MOST_SHARES} other n-grams"))
    if len(shared) < count:
        parts.append(Explanation(0.0, f"{count - len(shared)} n-grams of the query that the item lacks"))
    return Explanation(score, "tf-idf, the sum over the n-grams that query and item share", parts)


def _named(encoder: NgramTfidf, feature: int, value: float) -> str:
    return f"{encoder.feature_name(feature)!r}: {encoder.feature_kind(feature)}, {value:.4f} in the query"
