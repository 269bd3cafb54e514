"""What a caller hands over, checked where it comes in: a seed, a path, an array of numbers."""

from __future__ import annotations

import io
import os
from collections.abc import ItemsView, Iterable, KeysView, Mapping, Set, ValuesView
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vizsla.errors import InputError

T = TypeVar("T")
MAX_SEED = 2**62
_FINITE_BLOCK = 1 << 20


def check_seed(seed: int, name: str = "seed") -> int:
    """Return a seed as an int; it must be a whole number from 0 to 2^62.

    Examples
    --------
    >>> check_seed(-1)
    Traceback (most recent call last):
    vizsla.errors.InputError: `seed` must be a whole number from 0 to 4611686018427387904. Got -1.
    """
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= MAX_SEED:
        raise InputError(f"`{name}` must be a whole number from 0 to {MAX_SEED}. Got {seed!r:.60}.")
    return int(seed)


def check_type(name: str, value: Any, kind: type[T] | tuple[type, ...], what: str) -> T:
    """Return the value if it is of the kind; `what` says in words which that is.

    Examples
    --------
    >>> check_type("items", None, dict, "a mapping")
    Traceback (most recent call last):
    vizsla.errors.InputError: `items` must be a mapping. Got NoneType.
    """
    if not isinstance(value, kind):
        raise InputError(f"`{name}` must be {what}. Got {type(value).__name__}.")
    return value  # type: ignore[return-value]


def is_several(value: Any) -> bool:
    """Return whether a value can be gone through one by one, and is not a single text or number, nor a sparse matrix.

    Examples
    --------
    >>> is_several(["fig"]), is_several("fig"), is_several(np.array(3))
    (True, False, False)
    """
    if isinstance(value, str | bytes) or hasattr(value, "nnz"):
        return False
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and not value.ndim)


def check_listed(name: str, value: Any) -> None:
    """Raise for what can be gone through one by one, but whose texts are not the records that it holds.

    A data frame gives its column names, a file its lines, a view of a mapping ids or texts that have lost each other.

    Examples
    --------
    >>> check_listed("items", {"fig": "a fig"}.keys())
    Traceback (most recent call last):
    vizsla.errors.InputError: `items` must be a list or a mapping. Got dict_keys: give the mapping itself.
    """
    if isinstance(value, list | tuple | Mapping):
        return
    remedy = None
    if isinstance(value, str | bytes | bytearray | memoryview):
        remedy = "put it into a list"
    elif isinstance(value, KeysView | ValuesView):
        remedy = "give the mapping itself"
    elif isinstance(value, io.IOBase) or hasattr(value, "readline"):
        remedy = "read a file by Dataset.open(path)"
    elif isinstance(value, Set) and not isinstance(value, ItemsView):
        remedy = "its order is not fixed, so make it a list"
    elif hasattr(type(value), "columns") or hasattr(type(value), "__dataframe__"):
        remedy = "give one column of a data frame, or convert it to pandas, polars or Arrow where a frame is taken"
    if remedy is not None:
        raise InputError(f"`{name}` must be a list or a mapping. Got {type(value).__name__}: {remedy}.")


def path_of(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return a path; anything that does not name a place raises.

    Examples
    --------
    >>> path_of(None)
    Traceback (most recent call last):
    vizsla.errors.InputError: `path` must be a path. Got NoneType.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"`{name}` must be a path. Got {type(path).__name__}.")
    if "\0" in str(path):
        raise InputError(f"`{name}` must be a path, without a zero byte. Got {str(path)!r:.60}.")
    try:
        os.fsencode(path)
    except UnicodeEncodeError as error:
        raise InputError(f"`{name}` must be a path. Got {str(path)!r:.60} ({error.reason}).") from None
    return Path(path)


def check_unicode(name: str, text: str, where: str = "") -> str:
    """Return a text that can be stored as UTF-8; half a surrogate pair raises.

    Examples
    --------
    >>> check_unicode("prefix", "\\ud800")
    Traceback (most recent call last):
    vizsla.errors.InputError: `prefix` must be valid Unicode. Got '\\ud800': surrogates not allowed.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"`{name}` must be valid Unicode. Got {text!r:.100}{where}: {error.reason}.") from None
    return text


def array_of(name: str, values: Any, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of this type; what is no number, or does not fit the type, raises instead of changing silently.

    Examples
    --------
    >>> array_of("items", [1, 2], np.int32).dtype.name
    'int32'
    >>> array_of("items", [2**40], np.int32)
    Traceback (most recent call last):
    vizsla.errors.InputError: `items` must be whole numbers that fit int32. Got 1099511627776.
    """
    wanted = np.dtype(dtype)
    if isinstance(values, np.ndarray) and values.dtype == wanted:
        return np.ascontiguousarray(values)
    try:
        given = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"`{name}` must be an array of numbers. Got another: {error}.") from None
    whole = wanted.kind in "iu"
    if given.size and given.dtype.kind not in ("iu" if whole else "iufb"):
        kind = "whole numbers" if whole else "numbers"
        raise InputError(f"`{name}` must be {kind}. Got {given.dtype}, such as {given.reshape(-1)[0]!r:.60}.")
    if whole and given.size and given.dtype.kind in "iu":
        limits, least, most = np.iinfo(wanted), int(given.min()), int(given.max())
        if least < limits.min or most > limits.max:
            wrong = least if least < limits.min else most
            raise InputError(f"`{name}` must be whole numbers that fit {wanted.name}. Got {wrong}.")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(given, dtype=wanted)


def all_finite(values: NDArray[Any]) -> bool:
    """Return whether an array holds neither NaN nor infinity, without a copy of it: a large one may be mapped.

    Examples
    --------
    >>> all_finite(np.array([1.0, np.nan])), all_finite(np.array([[1.0], [-2.0]])), all_finite(np.array([3]))
    (False, True, True)
    """
    if values.dtype.kind != "f" or not values.size:
        return True
    flat = values.reshape(-1)
    for start in range(0, len(flat), _FINITE_BLOCK):
        block = flat[start : start + _FINITE_BLOCK]
        if block.dtype == np.float16:  # whose largest value is slow to find
            block = block.astype(np.float32)
        if not (np.isfinite(block.min()) and np.isfinite(block.max())):  # NaN is both
            return False
    return True


def generator(seed: int) -> np.random.Generator:
    """Return random numbers that the seed fixes.

    Examples
    --------
    >>> bool(generator(7).integers(100) == generator(7).integers(100))
    True
    """
    return np.random.default_rng(check_seed(seed))
