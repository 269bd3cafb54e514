"""`where`: which items an answer may contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.strings import Strings

Where = NDArray[np.bool_] | Iterable[str] | Callable[[str], bool]


def allowed_items(where: Where | None, items: Strings) -> NDArray[np.bool_] | None:
    """Return one boolean an item: from a mask, a collection of ids, or a predicate on the id.

    Examples
    --------
    >>> allowed_items({"fig"}, Strings.of(["apple", "fig"])).tolist()
    [False, True]
    """
    if where is None:
        return None
    if isinstance(where, np.ndarray):
        return _checked_mask(where, len(items))
    if isinstance(where, str):
        raise InputError(f"`where` must be a mask, a collection of ids or a function of an id. Got the text {where!r}.")
    if callable(where):
        return np.fromiter((bool(where(item)) for item in items), dtype=np.bool_, count=len(items))
    return _mask_of_ids(list(where), items)


def _checked_mask(mask: NDArray[np.bool_], count: int) -> NDArray[np.bool_]:
    if mask.dtype != np.bool_ or mask.shape != (count,):
        raise InputError(f"`where` as an array must be {count} booleans. Got {mask.dtype} of shape {mask.shape}.")
    return np.ascontiguousarray(mask)


def _mask_of_ids(ids: list[str], items: Strings) -> NDArray[np.bool_]:
    numbers = items.find_all(ids)
    if (numbers < 0).any():
        raise InputError(f"`where` must name known items. Got {ids[int(np.argmax(numbers < 0))]!r}.")
    mask = np.zeros(len(items), dtype=np.bool_)
    mask[numbers] = True
    return mask
