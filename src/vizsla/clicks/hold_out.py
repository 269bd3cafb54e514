"""Chooses which queries to hold out: cold ones, whose items lose every click, and warm ones, whose items keep one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.arguments import generator
from vizsla.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


class HeldOut(NamedTuple):
    """Rows to hold out, and the items that lose their clicks."""

    cold: Rows
    warm: Rows
    cold_items: Mask


def hold_out(clicks: csr_array, *, queries: int, cold: float, seed: int) -> HeldOut:
    """Choose `queries` rows, a share `cold` of them cold.

    Where warm rows are too few, fewer cold rows are chosen too, so that the share stays. None at all of a kind that is
    asked for raises.
    """
    found = _hold_out(clicks, queries, cold, seed)
    possible = queries
    if not _enough_warm(found, queries, cold):
        possible, found = _fewer(clicks, queries, cold, seed)
    if not len(found.warm) and queries > round(cold * queries):
        raise InputError(f"`cold` must be 1 for these clicks: no query shares all its items with others. Got {cold!r}.")
    if not len(found.cold) and round(cold * possible):
        remedy = "pass cold=0, or hold out more queries"
        raise InputError(f"`cold` must be 0 for these clicks: every item has too many queries. Got {cold!r}: {remedy}.")
    return found


def _fewer(clicks: csr_array, queries: int, cold: float, seed: int) -> tuple[int, HeldOut]:
    """Find, by bisection, how many rows there can be with enough warm ones among them."""
    best = _hold_out(clicks, 0, cold, seed)
    low, high = 0, queries
    while high - low > 1:
        middle = (low + high) // 2
        found = _hold_out(clicks, middle, cold, seed)
        if _enough_warm(found, middle, cold):
            low, best = middle, found
        else:
            high = middle
    return low, best


def _enough_warm(found: HeldOut, queries: int, cold: float) -> bool:
    return len(found.warm) == queries - round(cold * queries)


def _hold_out(clicks: csr_array, queries: int, share: float, seed: int) -> HeldOut:
    cold = round(share * queries)
    return hold_out_counts(clicks, cold=cold, warm=queries - cold, seed=seed)


def hold_out_counts(clicks: csr_array, *, cold: int, warm: int, seed: int, eligible: Mask | None = None) -> HeldOut:
    """Choose so many cold and so many warm rows, or as many of either kind as there are.

    Parameters
    ----------
    clicks : csr_array
        Queries × items.
    cold, warm : int
        How many rows of either kind are wanted.
    seed : int
        Draws the rows.
    eligible : bool array, optional
        Which rows may be chosen; all with clicks unless given. The others may lose clicks on cold items, but not all.
    """
    rng = generator(seed)
    asked = np.diff(clicks.indptr) > 0
    rows = rng.permutation(np.flatnonzero(asked if eligible is None else asked & eligible))
    order = rows[np.argsort(_damage(clicks)[rows], kind="stable")]
    cold_rows, cold_items = _cold_rows(clicks, cold, order, np.isin(np.arange(len(asked)), rows))
    return HeldOut(cold_rows, warm_rows(clicks, warm, rng.permutation(rows), cold_items), cold_items)


def _damage(clicks: csr_array) -> Rows:
    """Bound the clicks of other queries that are set aside if a query becomes cold."""
    sizes = np.diff(clicks.indptr)
    several = np.repeat(sizes > 1, sizes)
    shared = np.bincount(clicks.indices[several], minlength=clicks.shape[1])
    totals = np.concatenate([[0], np.cumsum(shared[clicks.indices])])
    damage: Rows = totals[clicks.indptr[1:]] - totals[clicks.indptr[:-1]] - np.where(sizes > 1, sizes, 0)
    return damage


def _cold_rows(clicks: csr_array, wanted: int, order: Rows, eligible: Mask) -> tuple[Rows, Mask]:
    """Take rows in order; with each come all rows whose last item thereby turns cold, if there is room for them."""
    by_item, sizes = clicks.tocsc(), np.diff(clicks.indptr)
    inside = np.zeros(len(sizes), dtype=np.int64)
    cold_items, too_popular = np.zeros(clicks.shape[1], dtype=np.bool_), np.zeros(clicks.shape[1], dtype=np.bool_)
    taken: list[int] = []
    for row in order.tolist():
        if len(taken) >= wanted:
            break
        items = clicks.indices[clicks.indptr[row] : clicks.indptr[row + 1]]
        new = items[~cold_items[items]]
        if not len(new) or too_popular[new].any():
            continue
        clicked = [by_item.indices[by_item.indptr[item] : by_item.indptr[item + 1]] for item in new]
        touched, counts = np.unique(np.concatenate(clicked), return_counts=True)
        complete = touched[inside[touched] + counts == sizes[touched]]
        if len(taken) + len(complete) > wanted:
            # Rows only ever join, so an item that is too much alone stays too much: every item is tried once.
            too_popular[new] |= len(new) == 1
            continue
        if not eligible[complete].all():
            continue
        inside[touched] += counts
        cold_items[new] = True
        taken += complete.tolist()
    return np.sort(np.array(taken, dtype=np.int64)), cold_items


def warm_rows(clicks: csr_array, wanted: int, order: Rows, cold_items: Mask | None = None) -> Rows:
    """Take rows in order as long as each of their items keeps a click of a row that is not taken."""
    left = np.bincount(clicks.indices, minlength=clicks.shape[1])
    if cold_items is not None:
        left[cold_items] = 0
    taken: list[int] = []
    for row in order.tolist():
        if len(taken) >= wanted:
            break
        items = clicks.indices[clicks.indptr[row] : clicks.indptr[row + 1]]
        if (left[items] > 1).all():
            left[items] -= 1
            taken.append(row)
    return np.sort(np.array(taken, dtype=np.int64))
