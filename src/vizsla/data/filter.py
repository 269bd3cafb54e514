"""Filter: a prepared `where`, which says which items an answer may contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, ref

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.forking import ForkLock
from vizsla._internal.lazy import cached_property
from vizsla.core.strings import Strings
from vizsla.data.conditions import Condition
from vizsla.errors import InputError, check_choice
from vizsla.typing import BoolArray

T = TypeVar("T")


class Filter:
    """A boolean per item, and the forms that indexes derive from it; made once and used for many queries.

    Parameters
    ----------
    mask : bool array
        One entry an item: whether it may be found.
    items : Strings, optional
        The catalog that the mask is over.
    condition : Condition, optional
        The condition on metadata that the mask comes from.

    Examples
    --------
    >>> stock = Filter.of({"fig"}, Strings.of(["apple", "fig"]))
    >>> stock
    Filter(1 of 2 items)
    >>> Filter.of(["fig", "plum"], stock.items, unknown="ignore").mask.tolist()
    [False, True]
    """

    def __init__(self, mask: BoolArray, items: Strings | None = None, *, condition: Condition | None = None):
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.ndim != 1:
            raise InputError(f"`mask` must be an array of booleans. Got {getattr(mask, 'dtype', type(mask).__name__)}.")
        if items is not None and not isinstance(items, Strings):
            raise InputError(f"`items` must be the catalog's Strings. Got {type(items).__name__}.")
        if items is not None and len(mask) != len(items):
            raise InputError(f"`mask` must have a flag for each of {len(items)} items. Got {len(mask)}.")
        # Always a copy: a read-only view may belong to an array that its owner still changes.
        self.mask = mask.copy()
        self.mask.flags.writeable = False
        self.items, self.condition = items, condition
        self.count = int(np.count_nonzero(self.mask))
        self.is_piece = False
        self._forms: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self._last: tuple[Any, Any] = (_nobody, None)
        self._lock = ForkLock()

    @classmethod
    def of(cls, where: Where, items: Strings, *, unknown: str = "raise") -> Filter:
        """Prepare what may be found of a catalog.

        Parameters
        ----------
        where : Filter, mask, Condition, collection of ids, or function of an id
            Which items; a Condition on metadata comes from `vizsla.where`. A Filter must be over the same catalog.
        items : Strings
            The catalog.
        unknown : {"raise", "ignore"}
            What becomes of ids that the catalog does not know.
        """
        check_choice("unknown", unknown, ["raise", "ignore"])
        if not isinstance(items, Strings):
            raise InputError(f"`items` must be the catalog's Strings. Got {type(items).__name__}.")
        if isinstance(where, Filter):
            return where._over(items)
        if isinstance(where, Condition):
            return cls(where.mask(items), items, condition=where)
        if isinstance(where, np.ndarray) and where.dtype.kind != "U":
            if where.dtype != np.bool_ or where.shape != (len(items),):
                wanted = f"{len(items)} booleans"
                raise InputError(f"`where` as an array must be {wanted}. Got {where.dtype} of shape {where.shape}.")
            return cls(where, items)
        if callable(where):
            return cls(np.fromiter((bool(where(item)) for item in items), np.bool_, len(items)), items)
        return cls(_mask_of_ids(_listed(where), items, unknown), items)

    @classmethod
    def prepared(cls, where: Where | None, items: Strings) -> Filter | None:
        """Prepare what may be found; None where that is everything: such a filter is no filter."""
        if where is None:
            return None
        filter = cls.of(where, items)
        return None if filter.allows_everything else filter

    @classmethod
    def piece(cls, mask: BoolArray, items: Strings | None = None) -> Filter:
        """Return what a filter means to a part of a composition, which may know only some of the items.

        It stays a filter where it allows all items of the part: others are forbidden elsewhere, and `k` items must
        still be found whenever `k` match.
        """
        filter = cls(mask, items)
        filter.is_piece = True
        return filter

    def __len__(self) -> int:
        return len(self.mask)

    @property
    def allows_everything(self) -> bool:
        """Whether a search under it is one without a filter."""
        return self.count == len(self.mask) and not self.is_piece

    def __repr__(self) -> str:
        return f"Filter({self.count:,} of {len(self.mask):,} items)"

    @cached_property
    def numbers(self) -> NDArray[np.int32]:
        """The allowed items' numbers, ascending."""
        return np.flatnonzero(self.mask).astype(np.int32)

    @cached_property
    def hints(self) -> tuple[str, ...]:
        """Values of the condition that no item has, and what may have been meant; computed when they are asked for."""
        return () if self.condition is None or self.items is None else self.condition.hints(self.items)

    def form(self, owner: Any, make: Callable[[Filter], T]) -> T:
        """Return what `owner` derived from this filter, or derive it now; it lives as long as both do."""
        last, known = self._last  # nearly always the same index asks again
        if last() is owner:
            found: T = known
            return found
        with self._lock:
            form = self._forms.get(owner)
        if form is None:
            form = make(self)
            with self._lock:
                self._forms[owner] = form
        me = ref(self)  # or this filter would keep itself alive
        self._last = ref(owner, lambda gone: _forget(me(), gone)), form
        found = form
        return found

    def translated(self, numbers: NDArray[np.int32]) -> Filter:
        """Return the filter for a catalog whose item `i` is item ``numbers[i]`` here."""
        return Filter.piece(self.mask[numbers])

    def _over(self, items: Strings) -> Filter:
        if self.items is not items and (self.items is None or self.items != items):
            raise InputError(
                f"`where` must be prepared for this catalog of {len(items)} items. Got {self!r} of another: use "
                "`.filter(where)` of the retriever that is asked."
            )
        return self


def _nobody() -> None:
    """Stand for an owner that is gone."""


def _forget(filter: Filter | None, owner: object) -> None:
    """Let what was derived go with its owner."""
    if filter is not None and filter._last[0] is owner:
        filter._last = _nobody, None


Where = Filter | BoolArray | Condition | Iterable[str] | Callable[[str], bool]


def _listed(where: Any) -> list[str]:
    if isinstance(where, Mapping) and isinstance(where.get("type"), str):
        raise InputError("`where` must be `vizsla.where({...})` for a condition on metadata. Got the dict alone.")
    if isinstance(where, str | bytes):
        raise InputError(
            f"`where` must be a mask, a collection of ids or a function of an id. Got the text {where!r}: a condition "
            "on metadata is given as `vizsla.where(...)`."
        )
    try:
        ids = list(where)
    except TypeError:
        raise InputError(f"`where` must be a mask, ids or a function of an id. Got {type(where).__name__}.") from None
    wrong = next((id for id in ids if not isinstance(id, str)), None)
    if wrong is not None:
        hint = " As a mask it must be a numpy array of booleans." if isinstance(wrong, bool | np.bool_) else ""
        raise InputError(f"`where` must hold ids, which are texts. Got {wrong!r}.{hint}")
    return ids


def _mask_of_ids(ids: list[str], items: Strings, unknown: str) -> BoolArray:
    numbers = items.find_all(ids)
    missing = numbers < 0
    if unknown == "raise" and missing.any():
        hint = 'Prepare it with `.filter(where, unknown="ignore")` if the list may be out of step.'
        raise InputError(f"`where` must name known items. Got {ids[int(np.argmax(missing))]!r}. {hint}")
    mask = np.zeros(len(items), dtype=np.bool_)
    mask[numbers[~missing]] = True
    return mask
