"""VectorScores: scores of uncompressed items as a function of the adapter alone, for the paper's first ablation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla.training.code_scores import Asked, CodeScores, Floats, Items


class VectorScores:
    """``score(q, i) = ⟨W q, xᵢ⟩`` (Eq. 13 of the JPQ paper): what ranking would be by if nothing were compressed.

    Parameters
    ----------
    vectors : float32 array, items × dimensions
        The items.
    codes : CodeScores
        Whose adapter is trained.
    """

    def __init__(self, vectors: Floats, codes: CodeScores):
        self.vectors, self.codes = vectors, codes

    def of(self, asked: Asked, items: Items) -> Floats:
        """Return the scores of these items, queries × items."""
        return np.asarray(np.matmul(self.vectors[items], asked.adapted[:, :, None])[:, :, 0])

    def gradients(self, asked: Asked, items: Items, by_score: NDArray[np.float64]) -> tuple[Floats, Floats]:
        """Return the loss's derivatives by the centroids, which are 0, and by the adapter."""
        return np.zeros_like(self.codes.centroids), self._by_adapted(items, by_score).T @ asked.rows

    def row_gradients(self, asked: Asked, items: Items, by_score: NDArray[np.float64]) -> tuple[Floats, Floats]:
        """Return the loss's derivatives by the centroids, which are 0, and by the queries' rows."""
        return np.zeros_like(self.codes.centroids), np.asarray(self._by_adapted(items, by_score) @ self.codes.adapter)

    def _by_adapted(self, items: Items, by_score: NDArray[np.float64]) -> Floats:
        return np.asarray(np.matmul(by_score.astype(np.float32)[:, None, :], self.vectors[items])[:, 0])
