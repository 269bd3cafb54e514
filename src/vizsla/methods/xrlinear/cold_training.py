"""The items without clicks in training: where the tree takes them, and what their matchers become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vizsla.cached_property import cached_property
from vizsla.indexes.tree import NodeWeights
from vizsla.methods.xrlinear.calibrate import calibrate
from vizsla.methods.xrlinear.calibration import Calibration
from vizsla.methods.xrlinear.cold import cold_matchers
from vizsla.methods.xrlinear.item_texts import ItemTexts
from vizsla.methods.xrlinear.leaves import leaf_numbers
from vizsla.methods.xrlinear.tree import LabelTree

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class ColdItems:
    """What training knows of the items without clicks.

    Parameters
    ----------
    texts : ItemTexts
        The texts of all items.
    warm : bool array
        Which items have clicks.
    neighbours : int
        How many neighbours make a matcher.
    threads : int
        How many to use.
    """

    texts: ItemTexts
    warm: NDArray[np.bool_]
    neighbours: int
    threads: int

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The items without clicks."""
        return np.flatnonzero(~self.warm)

    @cached_property
    def near(self) -> csr_array:
        """Items without clicks × items: the neighbours that have some."""
        vectors = self.texts.vectors[self.numbers]
        return self.texts.nearest(vectors, self.neighbours, among=self.warm, threads=self.threads)

    def calibrate(
        self, last: NodeWeights, tree: LabelTree, features: csr_array, clicks: csr_array, *, bias: float, seed: int
    ) -> tuple[NodeWeights, Calibration]:
        """Learn how cold matchers are made, and return the last layer with theirs in it.

        Parameters
        ----------
        last : NodeWeights
            The last layer as it was trained.
        tree : LabelTree
            Where the items are.
        features, clicks : csr_array
            Queries × features and queries × items.
        bias : float
            The value of the bias feature.
        seed : int
            Draws what is learned from.
        """
        matchers = _by_item(last, tree, features.shape[1] + 1)
        leaf_of = leaf_numbers(tree.layers[-1], tree.places)
        how = calibrate(
            self.texts, matchers, features, clicks, leaf_of,
            bias=bias, neighbours=self.neighbours, seed=seed, threads=self.threads,
        )  # fmt: skip
        if self.warm.all():
            return last, how
        cold = cold_matchers(self.near, matchers, self.texts.vectors[self.numbers], how)
        return NodeWeights.of(_replaced(matchers, self.numbers, cold)[tree.items]), how


def _by_item(layer: NodeWeights, tree: LabelTree, width: int) -> csr_array:
    from scipy.sparse import csr_array

    matrix: csr_array = csr_array((layer.values, layer.features, layer.offsets), shape=(len(tree), width))
    return matrix[tree.places]


def _replaced(matrix: csr_array, rows: NDArray[np.int64], new: csr_array) -> csr_array:
    from scipy.sparse import vstack

    at = np.arange(matrix.shape[0])
    at[rows] = matrix.shape[0] + np.arange(len(rows))
    rows_of_both: csr_array = vstack([matrix, new], format="csr")
    return rows_of_both[at]
