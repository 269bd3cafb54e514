"""Propensity-scored precision: precision that counts a rarely clicked item for more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vizsla.core.candidates import Candidates
from vizsla.errors import InputError
from vizsla.typing import Float64Array

PROPENSITY_A, PROPENSITY_B = 0.55, 1.5
"""Of Jain et al. (KDD 2016), who use them for data sets without constants of their own."""
_NAME = re.compile(r"PSP@([1-9][0-9]{0,6})")


@dataclass(frozen=True)
class PropensityPrecision:
    """PSP@k of Jain et al. (KDD 2016): Σ of inverse propensities of the relevant items found, over the best possible Σ.

    As usual for this measure, both sums go over all queries before they are divided. A query's value is its own sum
    over the mean of the best possible sums, so that the mean of the values is the measure; single values may exceed 1.

    Parameters
    ----------
    cutoff : int
        The depth k.

    Examples
    --------
    >>> PropensityPrecision.parse("PSP@5"), PropensityPrecision.parse("P@5")
    (PSP@5, None)
    """

    cutoff: int
    NAME: ClassVar[str] = "PSP"

    @classmethod
    def parse(cls, text: Any) -> PropensityPrecision | None:
        """Return the measure of that name; None for another name."""
        if isinstance(text, cls):
            return text
        found = _NAME.fullmatch(text) if isinstance(text, str) else None
        return None if found is None else cls(int(found[1]))

    @property
    def params(self) -> dict[str, int]:
        """The cutoff, as measures of ir-measures have it."""
        return {"cutoff": self.cutoff}

    def __repr__(self) -> str:
        return f"PSP@{self.cutoff}"

    def per_query(
        self, run: Candidates, qrels: Mapping[str, Mapping[str, int]], weights: Mapping[str, float] | None
    ) -> Float64Array:
        """Return a value for each judged query; items that no click named weigh like those with 0 clicks."""
        if weights is None:
            raise InputError("`measures` must be computable. Got PSP, which needs a dataset with clicks: pass one.")
        unseen = weights[""]
        answers = dict(zip(run.query_ids, run.ids, strict=True))
        found, best = np.zeros(len(qrels)), np.zeros(len(qrels))
        for row, (query, grades) in enumerate(qrels.items()):
            gains = {item: weights.get(item, unseen) for item, grade in grades.items() if grade > 0}
            found[row] = sum(gains.get(item, 0.0) for item in answers.get(query, [])[: self.cutoff])
            best[row] = sum(sorted(gains.values(), reverse=True)[: self.cutoff])
        return found / best.mean() if best.any() else found


def inverse_propensities(dataset: Any) -> dict[str, float] | None:
    """Return 1 / propensity of every clicked item from the dataset's clicks, and under "" that of all others.

    1 / p = 1 + C · (n + B)^−A with C = (log N − 1) · (B + 1)^A, where n queries of N clicked the item.
    """
    clicks = getattr(dataset, "clicks", None)
    if clicks is None or not clicks.nnz:
        return None
    counts = np.bincount(clicks.indices[clicks.data > 0], minlength=clicks.shape[1])
    queries = int((np.diff(clicks.indptr) > 0).sum())
    slope = (np.log(queries) - 1.0) * (PROPENSITY_B + 1.0) ** PROPENSITY_A
    weights = 1.0 + max(slope, 0.0) * (np.arange(counts.max() + 1) + PROPENSITY_B) ** -PROPENSITY_A
    clicked = np.flatnonzero(counts)
    ids = dataset.item_ids.take(clicked)
    return {"": float(weights[0]), **dict(zip(ids, weights[counts[clicked]].tolist(), strict=True))}
