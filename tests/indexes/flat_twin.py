"""What flat search must answer, in numpy: every pair scored by the definition, best first, ties by item number."""

from __future__ import annotations

import numpy as np

from vizsla.indexes.vectors import ItemVectors


def exact_scores(queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Every query's score with every row: eight float64 sums, joined in one order, rounded once."""
    lanes = np.zeros((8, len(queries), len(rows)))
    for at in range(rows.shape[1]):
        lanes[at % 8] += queries[:, at, None].astype(np.float64) * rows[None, :, at].astype(np.float64)
    even, odd = (lanes[0] + lanes[4]) + (lanes[2] + lanes[6]), (lanes[1] + lanes[5]) + (lanes[3] + lanes[7])
    with np.errstate(over="ignore"):
        return (even + odd).astype(np.float32)


def twin(
    queries: np.ndarray, vectors: ItemVectors, k: int, numbers: np.ndarray | None = None
) -> list[tuple[list[int], bytes]]:
    """The items and the bytes of their scores, for every query."""
    chosen = np.arange(len(vectors)) if numbers is None else numbers
    scores = exact_scores(queries, vectors.take(chosen))
    answers = []
    for row in scores:
        order = np.lexsort((chosen, -row))[:k]
        answers.append((chosen[order].tolist(), row[order].tobytes()))
    return answers
