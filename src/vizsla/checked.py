"""Arguments held against their annotations, once, where a caller comes in."""

from __future__ import annotations

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sized
from typing import Any, TypeVar

import numpy as np

from vizsla.arguments import check_seed, is_several, path_of
from vizsla.errors import InputError

F = TypeVar("F", bound=Callable[..., Any])
Test = Callable[[Any], bool]
_SUBSCRIPT = re.compile(r"\[[^\[\]]*\]")
_LARGEST = 2**1000
"""A whole number that is no float any more is larger still."""


def checked(function: F) -> F:
    """Let a function raise InputError for an argument that is plainly not what its annotation says.

    Looks at what a value is, not at what it holds: that a `Sequence[str]` has a length, not that it holds texts. Two
    are held to more, since those who take them only hand them on: a path must name a place, and `seed` be a seed.
    Names that the function's module does not know when it runs, and aliases, say nothing. A class may say by `in_words`
    what a user would call it. It costs about a microsecond, so the query path, which checks by itself, goes without.

    Examples
    --------
    >>> @checked
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


def checked_init(kind: type[Any]) -> Any:
    """Let the constructor of a class check its arguments: for dataclasses, which write it themselves."""
    kind.__init__ = checked(kind.__init__)
    return kind


def caller_level() -> int:
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
        path_of(value, name)


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
        return not isinstance(value, bool) and -_LARGEST < int(value) < _LARGEST
    return isinstance(value, float | np.floating)


def _is_sequence(value: Any) -> bool:
    return is_several(value) and isinstance(value, Sized) and not isinstance(value, Mapping | set | frozenset)


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
    "Iterable": ("a list", is_several),
    "Sequence": ("a list", _is_sequence),
    "Callable": ("a function", callable),
    "Watch": ("a function", callable),  # of trainings
}
