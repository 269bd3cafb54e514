"""Calls of libraries that read models, whose errors are of many types: all become InputError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vizsla.errors import FormatError, InputError, VizslaError

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
    """Turn what a model inside an artefact makes a library raise into a FormatError; a missing extra stays one."""
    try:
        with typed_errors(f"{what} must be sound"):
            yield
    except InputError as error:
        raise FormatError(str(error)) from error
