"""Check arguments at the public border, and warn about data that was skipped."""

from __future__ import annotations

import functools
import inspect
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, Set, Sized, ValuesView
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Integral, Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vizsla.errors import MAX_NATIVE_INT, InputError

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


def is_iterable(value: Any) -> bool:
    """Return whether a value can be gone through one by one, and is not a single text or number, nor a sparse matrix.

    Examples
    --------
    >>> is_iterable(["fig"]), is_iterable("fig"), is_iterable(np.array(3))
    (True, False, False)
    """
    if isinstance(value, str | bytes) or hasattr(value, "nnz"):
        return False
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and not value.ndim)


def check_listed(name: str, value: Any) -> None:
    """Raise for what can be gone through one by one, but whose texts are not the records that it holds.

    A data frame gives its column names, a file its lines, a view of a mapping ids or texts that have lost each other,
    and a mapping that is one record would be read as a record for each of its keys.

    Examples
    --------
    >>> check_listed("items", {"fig": "a fig"}.keys())
    Traceback (most recent call last):
    vizsla.errors.InputError: `items` must be a list or a mapping. Got dict_keys: give the mapping itself.
    """
    if isinstance(value, Mapping) and all(isinstance(value.get(key), str) for key in ("id", "text")):
        raise InputError(
            f"`{name}` must be a list or a mapping of ids. Got one with an id and a text: put it into a list."
        )
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


def as_path(path: str | os.PathLike[str], name: str = "path") -> Path:
    """Return a path; anything that does not name a place raises.

    Examples
    --------
    >>> as_path(None)
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


def as_array(name: str, values: Any, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array of this type; what is no number, or does not fit the type, raises instead of changing silently.

    Examples
    --------
    >>> as_array("items", [1, 2], np.int32).dtype.name
    'int32'
    >>> as_array("items", [2**40], np.int32)
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


F = TypeVar("F", bound=Callable[..., Any])
Test = Callable[[Any], bool]
_SUBSCRIPT = re.compile(r"\[[^\[\]]*\]")
_FLOAT_OVERFLOW = 2**1000
"""A whole number that is no float any more is larger still."""


def validate_args(function: F) -> F:
    """Decorate a function so that arguments that contradict their annotations raise InputError.

    Looks at what a value is, not at what it holds: that a `Sequence[str]` has a length, not that it holds texts. Two
    are held to more, since functions only pass them on: a path must name a place, and `seed` be a seed.
    Names that the function's module does not know when it runs, and aliases, say nothing. A class may say by `in_words`
    what a user would call it. It costs about a microsecond, so the query path, which checks by itself, goes without.

    Examples
    --------
    >>> @validate_args
    ... def half(value: float) -> float:
    ...     return value / 2
    >>> half("x")
    Traceback (most recent call last):
    vizsla.errors.InputError: `value` must be a number. Got str.
    """
    tests = _tests(function)
    names = list(inspect.signature(function).parameters)
    demands = _demands(function)

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        for name, value in (*zip(names, given, strict=False), *named.items()):
            test = tests.get(name)
            if test is not None and not any(accepts(value) for _, accepts in test):
                wanted = " or ".join(dict.fromkeys(words for words, _ in test))
                hint = ": put it into a list" if isinstance(value, str) and "a list" in wanted else ""
                raise InputError(f"`{name}` must be {wanted}. Got {type(value).__name__}{hint}.")
            if name in demands:
                demands[name](value, name)
        return function(*given, **named)

    return called  # type: ignore[return-value]


def validate_init(kind: type[Any]) -> Any:
    """Check the arguments of a class's constructor; for dataclasses, whose constructor is generated."""
    kind.__init__ = validate_args(kind.__init__)
    return kind


def user_stacklevel() -> int:
    """Return the `stacklevel` of a warning that blames the first line outside of the library."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("vizsla."):
        level, frame = level + 1, frame.f_back
    return level


def _tests(function: Callable[..., Any]) -> dict[str, list[tuple[str, Test]]]:
    """Return, for each argument that can be tested, what it may be, in words and as tests."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        if isinstance(annotation, str) and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            accepted = [_test(part.strip(), function) for part in _bare(annotation).split("|")]
            if all(accepted):
                found[name] = [test for test in accepted if test is not None]
    return found


def _demands(function: Callable[..., Any]) -> dict[str, Callable[[Any, str], Any]]:
    """Return, for each argument that is handed on to the system or to random numbers, what refuses a wrong one."""
    parameters = inspect.signature(function).parameters
    paths = [name for name in parameters if "Path" in re.split(r"\W+", str(parameters[name].annotation))]
    seeds = {"seed": check_seed} if "seed" in parameters else {}
    return {**dict.fromkeys(paths, _check_path), **seeds}


def _check_path(value: Any, name: str) -> None:
    if isinstance(value, str | os.PathLike):
        as_path(value, name)


def _bare(annotation: str) -> str:
    """Return an annotation without what stands in brackets.

    Examples
    --------
    >>> _bare("dict[str, list[int]] | None")
    'dict | None'
    """
    while (bare := _SUBSCRIPT.sub("", annotation)) != annotation:
        annotation = bare
    return annotation


def _test(name: str, function: Callable[..., Any]) -> tuple[str, Test] | None:
    if name in _PLAIN:
        return _PLAIN[name]
    known = inspect.unwrap(function).__globals__.get(name)
    if isinstance(known, type) and known.__module__.startswith("vizsla") and not getattr(known, "_is_protocol", False):
        words = vars(known).get("in_words", f"{'an' if name[0] in 'AEIOU' else 'a'} {name}")
        return words, lambda value: isinstance(value, known)
    return None


def _is_number(value: Any) -> bool:
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool) and -_FLOAT_OVERFLOW < int(value) < _FLOAT_OVERFLOW
    return isinstance(value, float | np.floating)


def _is_sequence(value: Any) -> bool:
    return is_iterable(value) and isinstance(value, Sized) and not isinstance(value, Mapping | set | frozenset)


_PLAIN: dict[str, tuple[str, Test]] = {
    "None": ("None", lambda value: value is None),
    "str": ("a text", lambda value: isinstance(value, str)),
    "bool": ("True or False", lambda value: isinstance(value, bool | np.bool_)),
    "int": ("a whole number", lambda value: isinstance(value, int | np.integer) and not isinstance(value, bool)),
    "float": ("a number", _is_number),
    "Path": ("a path", lambda value: isinstance(value, str | os.PathLike)),
    "Mapping": ("a mapping", lambda value: isinstance(value, Mapping)),
    "dict": ("a dict", lambda value: isinstance(value, dict)),
    "list": ("a list", lambda value: isinstance(value, list)),
    "tuple": ("a tuple", lambda value: isinstance(value, tuple)),
    "Iterable": ("a list", is_iterable),
    "Sequence": ("a list", _is_sequence),
    "Callable": ("a function", callable),
    "Watch": ("a function", callable),  # of trainings
}


@dataclass(frozen=True)
class NumberRange:
    """The finite numbers from `low` to `high`, without bools; integers have at most 64 bits.

    Parameters
    ----------
    low, high : float
        Both included by default.
    whole : bool
        Whether it must be a whole number.
    above, below : bool
        Whether `low`, or `high`, is itself left out.
    optional : bool
        Whether None is allowed, too.

    Examples
    --------
    >>> str(NumberRange(0, 1)), str(NumberRange(1, whole=True)), str(NumberRange(0, above=True, optional=True))
    ('between 0 and 1', 'a whole number above 0', 'a number above 0, or None')
    >>> NumberRange(0, 1).contains(0.5), NumberRange(0, 1).contains(True)
    (True, False)
    """

    low: float = -inf
    high: float = inf
    whole: bool = False
    above: bool = False
    below: bool = False
    optional: bool = False

    def contains(self, value: object) -> bool:
        """Return whether a value is one of these numbers."""
        if value is None:
            return self.optional
        if isinstance(value, bool) or not isinstance(value, Integral if self.whole else Real):
            return False
        number: Any = value
        inside = abs(int(number)) <= MAX_NATIVE_INT if isinstance(value, Integral) else isfinite(float(number))
        low = number > self.low if self.above else number >= self.low
        return bool(inside and low and (number < self.high if self.below else number <= self.high))

    def check(self, name: str, value: object) -> None:
        """Raise unless a value is one of these numbers."""
        if not self.contains(value):
            raise InputError(f"`{name}` must be {self}. Got {value!r}.")

    def __str__(self) -> str:
        plain = not (self.whole or self.above or self.below)
        if plain and isfinite(self.low) and isfinite(self.high):
            text = f"between {self.low:g} and {self.high:g}"
        else:
            text = " ".join(["a whole number" if self.whole else "a number", *self._limits()])
        return f"{text}, or None" if self.optional else text

    def _limits(self) -> list[str]:
        """Say the limits that there are."""
        limits = []
        if isfinite(self.low):
            least = self.low - 1 if self.whole and self.low == 1 else self.low
            limits.append(f"{'above' if self.above or least != self.low else 'of at least'} {least:g}")
        if isfinite(self.high):
            limits.append(f"{'below' if self.below else 'at most'} {self.high:g}")
        return [" and ".join(limits)] if limits else ["that is finite"]


SHARE = NumberRange(0, 1)
COUNT = NumberRange(1, whole=True)
COUNT_OR_NONE = NumberRange(1, whole=True, optional=True)
COUNT_FROM_0 = NumberRange(0, whole=True)
FROM_0 = NumberRange(0)
ABOVE_0 = NumberRange(0, above=True)


def check_numbers(settings: Any, ranges: Mapping[str, NumberRange]) -> None:
    """Raise unless every named number of some settings is in its range.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_numbers(SimpleNamespace(share=0.5, epochs=True), {"share": SHARE, "epochs": COUNT})
    Traceback (most recent call last):
    ...
    vizsla.errors.InputError: `epochs` must be a whole number above 0. Got True.
    """
    for name, range_ in ranges.items():
        range_.check(name, getattr(settings, name))


class DatasetWarning(UserWarning):
    """A warning that something in the data was handled by a documented rule, with a count."""


class WarningLog:
    """Collects counted messages while a dataset is read, and emits each once.

    Examples
    --------
    >>> tally = WarningLog()
    >>> tally.add(0, "items with an empty text")
    >>> tally.add(2, "items with an empty text")
    >>> tally.messages
    ('2 items with an empty text',)
    """

    def __init__(self) -> None:
        self.messages: tuple[str, ...] = ()

    def add(self, count: int, what: str) -> None:
        """Note that `what` was seen `count` times; nothing happens for 0."""
        if count:
            self.messages += (f"{count} {what}",)

    def emit(self, *, since: int = 0) -> None:
        """Warn once for every message from number `since` on."""
        for message in self.messages[since:]:
            warnings.warn(message, DatasetWarning, stacklevel=user_stacklevel())
