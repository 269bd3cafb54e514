"""How texts reach the native core: in lists, in batches, and with an error a person can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, ValuesView
from itertools import islice
from typing import Any

from vizsla.arguments import check_listed
from vizsla.errors import InputError
from vizsla.io.frames import series_of

BATCH = 512
"""Texts handed to a native builder at once; the result does not depend on it."""


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield lists of texts, so that an iterable larger than memory can be read.

    Examples
    --------
    >>> [len(batch) for batch in batches("a text" for _ in range(600))]
    [512, 88]
    """
    remaining = iter(_many(texts))
    while batch := list(islice(remaining, BATCH)):
        yield batch


def listed(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list; a single str raises."""
    return list(_many(texts))


def _many(texts: Any) -> Iterable[str]:
    if isinstance(texts, str):
        raise InputError("`texts` must hold many texts. Got one str: put it into a list.")
    texts = series_of(texts)
    if not isinstance(texts, ValuesView):  # of a mapping: texts, whose ids are not wanted here
        check_listed("texts", texts)
    if not isinstance(texts, Iterable) or getattr(texts, "ndim", 1) == 0:
        raise InputError(f"`texts` must hold many texts. Got {type(texts).__name__}.")
    return texts


def call_with(function: Any, texts: list[str], *rest: Any) -> Any:
    """Call a native function with texts; what is not a text raises InputError."""
    try:
        return function(texts, *rest)
    except TypeError as error:
        raise InputError(str(error)) from None
