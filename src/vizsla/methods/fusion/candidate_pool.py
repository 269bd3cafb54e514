"""Pool: what every part finds for the held-out queries and how it scores what the others found, once for all trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose.id_alignment import align
from vizsla.compose.normalize import METHODS, check_finite
from vizsla.core.candidates import Candidates, Stats
from vizsla.core.sparse import row_numbers
from vizsla.methods.fusion.scaling import SCALING_RULES, UNSCALED, FusionTrial, ScoreScaling, rules_of
from vizsla.typing import BoolArray, Float32Array, Float64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MEASURED_DEPTH = 10
MEASURE = "nDCG@10"
CANDIDATES_PER_PART = 50
"""So many of each part's list are candidates. An item behind that in every list is not among the best ten of a sum."""
NO_SCORE = np.float32(-1e30)
"""Stands for no score; unlike infinity it survives a weight."""


@dataclass(frozen=True)
class CandidatePool:
    """Candidates of all held-out queries, in rows that are filled up to one width.

    Parameters
    ----------
    scores : dict of str to list of arrays
        For each normalization and each part, its scores: queries × width.
    found : list of bool arrays
        For each part, which candidates are in its own list.
    rows, places : int arrays
        Where the clicked items are that anybody found.
    ideal : float array
        The best possible sum of discounts, a query.
    rules : list of dict
        For each part, the rules by which its scores are scaled, by name.
    unclicked : bool array
        Which candidates are items without clicks.
    """

    scores: dict[str, list[Float32Array]]
    found: list[BoolArray]
    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    ideal: Float64Array
    rules: list[dict[str, ScoreScaling]]
    unclicked: BoolArray

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self.found)

    def measured(self, trial: FusionTrial) -> Float64Array:
        """Return nDCG@10 of every held-out query, clicked or not being all that counts of an item."""
        totals = self._totals(trial)
        own = totals[self.rows, self.places]
        others = totals[self.rows]
        before = np.arange(totals.shape[1]) < self.places[:, None]
        # Equals go by item number, which is the order within a row.
        ahead = np.where(before, others >= own[:, None], others > own[:, None]).sum(axis=1)
        gains = np.where((ahead < MEASURED_DEPTH) & (own > NO_SCORE / 2), 1 / np.log2(ahead + 2), 0.0)
        return np.asarray(np.bincount(self.rows, gains, minlength=len(self.ideal)) / self.ideal)

    def _totals(self, trial: FusionTrial) -> Float32Array:
        """Return the weighted sums of what the used parts found, rounded as `Sum` does; everything else is out."""
        columns = self.scores[trial.how]
        first, *others = trial.used
        exact = np.multiply(columns[first], trial.weights[first], dtype=np.float64)
        for at in others:
            exact += np.multiply(columns[at], trial.weights[at], dtype=np.float64)
        if trial.lift:
            exact += trial.lift * self.unclicked
        totals = exact.astype(np.float32)
        if len(trial.used) < self.parts:
            seen = np.logical_or.reduce([self.found[at] for at in trial.used])
            totals[~seen] = NO_SCORE
        return totals


def make_pool(
    parts: Sequence[Retriever],
    texts: list[str],
    wanted: csr_array,
    *,
    depth: int,
    unclicked: BoolArray | None = None,
    threads: int = 1,
) -> CandidatePool:
    """Search every part once, and let it score what the others found.

    Parameters
    ----------
    parts : sequence of Retriever
        Parts that have not learned from these texts.
    texts : list of str
        The held-out queries.
    wanted : csr_array
        Their clicks: queries × items, numbered as the first part's.
    depth : int
        Length of a part's list, from which its scale is read.
    unclicked : bool array, optional
        Which items have no clicks, where these are to be lifted: then they are candidates however far down.
    threads : int
        How many queries are searched at a time.
    """
    queries, aligned = Queries(texts), align(parts)
    lists = [part.search(queries, depth, None, threads) for part in aligned]
    width = len(aligned[0].merged)
    judged = _keys(row_numbers(wanted.indptr), wanted.indices, width)
    lifted = np.zeros(width, np.bool_) if unclicked is None else unclicked
    keys = _joined([_cut(found, width, lifted) for found in lists], judged, [_all(found, width) for found in lists])
    rows, offsets = keys // width, np.searchsorted(keys, np.arange(len(texts) + 1) * width)
    items = (keys % width).astype(np.int32)
    union = Candidates.unchecked(offsets.astype(np.int64), items, None, aligned[0].merged, Stats())
    layout = _Layout(rows, np.arange(len(keys)) - offsets[rows], len(texts))
    raw = [part.score(queries, union, None, threads).scores for part in aligned]
    for part, found, each in zip(aligned, lists, raw, strict=True):
        for pairs, given in ((found, found._required_scores()), (union, each)):
            check_finite(queries, pairs, given, part.part, "to be weighed")
    scores: dict[str, list[Float32Array]] = {UNSCALED: [layout.padded(each) for each in raw]}
    for how in METHODS:
        scaled = (_scaled(found, each, keys, width, how) for found, each in zip(lists, raw, strict=True))
        scores[how] = [layout.padded(each) for each in scaled]
    rules = [rules_of(part, found) for part, found in zip(parts, lists, strict=True)]
    for how in SCALING_RULES:
        ruled = (own[how].of(part).rescaled(each) for own, part, each in zip(rules, parts, raw, strict=True))
        scores[how] = [layout.padded(each) for each in ruled]
    inside = [layout.padded(np.isin(keys, _all(found, width))) for found in lists]
    clicked = np.isin(keys, judged)
    clicks = rows[clicked], layout.places[clicked]
    return CandidatePool(scores, inside, *clicks, _ideal(wanted), rules, layout.padded(lifted[items]))


@dataclass(frozen=True)
class _Layout:
    """Return the position of each candidate in rows of one width."""

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    queries: int

    def padded(self, values: NDArray[Any]) -> NDArray[Any]:
        width = int(self.places.max(initial=0)) + 1
        fill = False if values.dtype == np.bool_ else NO_SCORE
        whole = np.full((self.queries, width), fill, values.dtype)
        whole[self.rows, self.places] = values
        return whole


def _keys(rows: NDArray[Any], items: NDArray[Any], width: int) -> NDArray[np.int64]:
    return np.asarray(rows * np.int64(width) + items)


def _all(found: Candidates, width: int) -> NDArray[np.int64]:
    return _keys(found.row_numbers(), found.items, width)


def _cut(found: Candidates, width: int, lifted: BoolArray) -> NDArray[np.int64]:
    """Return the best `CANDIDATES_PER_PART` of every list, and which of them may be lifted."""
    rows = found.row_numbers()
    return _all(found, width)[(np.arange(len(rows)) - found.offsets[rows] < CANDIDATES_PER_PART) | lifted[found.items]]


def _joined(
    cut: list[NDArray[np.int64]], judged: NDArray[np.int64], lists: list[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Return all candidates, each once, in order: the best of every list, and clicked items however far down."""
    return np.unique(np.concatenate([*cut, np.intersect1d(judged, np.concatenate(lists))]))


def _scaled(found: Candidates, raw: Float32Array, keys: NDArray[np.int64], width: int, how: str) -> Float32Array:
    """Return the candidates' scores as `Normalized` has them, on the scale of the part's own list."""
    if how == "rank":
        return _placed(found, keys, width)
    scales, rows = _scales(found, how), keys // width
    return np.asarray((raw - scales[rows, 0]) / scales[rows, 1], np.float32)


def _placed(found: Candidates, keys: NDArray[np.int64], width: int) -> Float32Array:
    """Return 1 / (60 + place) for items in the list, and 0 for the others."""
    own, rows = _all(found, width), found.row_numbers()
    scores = np.zeros(len(keys), np.float32)
    at = np.searchsorted(keys, own)
    there = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] == own)
    scores[at[there]] = (1 / (61 + np.arange(len(own)) - found.offsets[rows]))[there]
    return scores


def _scales(found: Candidates, how: str) -> NDArray[np.float64]:
    """Return two numbers a query, where zero lies and how long one is, as `Normalized` reads them from the list."""
    lists = found.offsets, found.items, found._required_scores()
    *_, scales = _native.normalize(*lists, how, max(1, len(found.items)), 1)
    return np.frombuffer(scales, np.float64).reshape(-1, 2)


def _ideal(wanted: csr_array) -> Float64Array:
    discounts = np.concatenate([[0.0], np.cumsum(1 / np.log2(np.arange(MEASURED_DEPTH) + 2))])
    return np.asarray(discounts[np.minimum(np.diff(wanted.indptr), MEASURED_DEPTH)])
