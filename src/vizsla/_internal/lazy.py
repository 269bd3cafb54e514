"""Optional libraries, imported on first use, and cached properties."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from vizsla._internal.forking import ForkLock
from vizsla.errors import FormatError, InputError, MissingExtraError, VizslaError

T = TypeVar("T")


def import_extra(module: str, feature: str, extra: str) -> Any:
    """Import a package of an extra; when it is missing, say what needs it and how to install it.

    Examples
    --------
    >>> import_extra("no_such_package", "Flying", "wings")
    Traceback (most recent call last):
    vizsla.errors.MissingExtraError: Flying needs an extra. Install it with: pip install 'vizsla[wings]'
    """
    if module == "onnxruntime":  # it would report to its vendor, and leave files of its own in the home and /tmp
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(feature, extra) from None


def lazy_attribute(module: str, public: Mapping[str, str], name: str) -> Any:
    """Return a public name of a package, whose module is imported on first use; an unknown one raises AttributeError.

    Examples
    --------
    >>> lazy_attribute("fruit", {"sqrt": "math"}, "sqrt")(9.0)
    3.0
    """
    if name not in public:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(importlib.import_module(public[name]), name)


_OURS = (VizslaError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit)


@contextmanager
def typed_errors(rule: str) -> Iterator[None]:
    """Turn whatever a foreign library raises into an InputError that begins with the rule.

    A panic of Rust code, as `tokenizers` is, arrives as a BaseException that no `except Exception` sees.

    Examples
    --------
    >>> with typed_errors("The model must be sound"):
    ...     [][0]
    Traceback (most recent call last):
    vizsla.errors.InputError: The model must be sound. Got an error: list index out of range.
    """
    try:
        yield
    except _OURS:
        raise
    except BaseException as error:
        said = " ".join(f"{error!s:.200}".split()) or type(error).__name__
        raise InputError(f"{rule}. Got an error: {said}.") from error


@contextmanager
def stored_model(what: str) -> Iterator[None]:
    """Turn what a model inside an artifact makes a library raise into a FormatError; a missing extra stays one."""
    try:
        with typed_errors(f"{what} must be sound"):
            yield
    except InputError as error:
        raise FormatError(str(error)) from error


_MODELS: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
_LOADING = ForkLock()


def shared_model(key: Hashable, load: Callable[[], T]) -> T:
    """Return the model of this key, which is loaded unless something in this process holds it already.

    Several artifacts, members and scorers that name one model so need its memory once. A model that nothing holds any
    more is let go.

    Parameters
    ----------
    key : hashable
        Identity of the model: its fingerprint, or its files and options.
    load : callable
        Loads it.

    Examples
    --------
    >>> class Model: ...
    >>> first = shared_model("a key", Model)
    >>> shared_model("a key", Model) is first, shared_model("another", Model) is first
    (True, False)
    """
    with _LOADING:
        known: T | None = _MODELS.get(key)
        if known is None:
            known = load()
            _MODELS[key] = known
        return known


def files_state(folder: Path) -> Hashable:
    """Return where a folder is, and sizes and times of its files; of what is no folder, its name."""
    if not folder.is_dir():
        return str(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return str(folder.resolve()), tuple((str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files)


# cached_property without a lock, as Python has it from 3.12 on.
#
# Before, one lock served all objects of a class while one of them computed: a child that was forked meanwhile found it
# held for good. Without it two threads may both compute, to the same value.

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 - as in functools
        """A property that is computed on first use and then kept among the object's attributes."""

        def __init__(self, function):
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, thing, owner=None):
            if thing is None:
                return self
            value = thing.__dict__[self.name] = self.function(thing)
            return value


__all__ = ["cached_property", "files_state", "import_extra", "shared_model", "stored_model", "typed_errors"]
