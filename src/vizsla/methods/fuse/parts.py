"""The parts of a fusion: fitted retrievers, or functions that build one from a dataset."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.arguments import is_several
from vizsla.errors import InputError
from vizsla.retriever import Retriever
from vizsla.strings import Strings

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.dataset import Dataset

Part = Any
"""A Retriever, or a function from a Dataset to one."""
Parts = Sequence[Part] | Mapping[str, Part]
Build = Callable[["Dataset"], Retriever]


def named_parts(parts: Parts) -> tuple[list[str], list[Part]]:
    """Return the parts' names and the parts; without names they are called by what they are.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> named_parts([bm25(["a fig"]), bm25])[0]
    ['Bm25(1 items, lucene, english)', 'bm25']
    """
    if not is_several(parts):
        raise InputError(f"`parts` must be a list, or a mapping from names. Got {type(parts).__name__}.")
    given = list(parts.values()) if isinstance(parts, Mapping) else list(parts)
    for part in given:
        if not callable(part):  # retrievers are, too
            kind = type(part).__name__
            raise InputError(f"A part must be a Retriever, or a function from a dataset to one. Got {kind}.")
    if len(given) < 2:
        raise InputError(f"`parts` must be two or more. Got {len(given)}.")
    if isinstance(parts, Mapping):
        return list(Strings.of(list(parts))), given
    return _different([_called(part) for part in given]), given


def part_twin(part: Part, train: Dataset, *, threads: int = 1) -> Retriever:
    """Return the part as it would be had it never seen the clicks that are not in `train`."""
    return part.refitted(train, threads=threads) if isinstance(part, Retriever) else built_part(part, train)


def built_part(part: Part, dataset: Dataset) -> Retriever:
    """Return a fitted part as it is, and what a function makes of the dataset."""
    built = part if isinstance(part, Retriever) else part(dataset)
    if not isinstance(built, Retriever):
        raise InputError(f"A part's function must return a Retriever. Got {type(built).__name__}.")
    if built.scale == "none":
        raise InputError("A part must give scores. Got a match set: score it with a Scorer (`>>`).")
    return built


def numbered_as(wanted: csr_array, own: Strings, items: Strings) -> csr_array:
    """Return clicks with their columns renumbered from the dataset's items to the parts'."""
    if own == items:
        return wanted
    from scipy.sparse import csr_array

    numbers = items.find_all(own)[wanted.indices]
    if len(numbers) and numbers.min() < 0:
        unknown = own[int(wanted.indices[int(np.argmin(numbers))])]
        raise InputError(f"Every click must be on an item of the parts. Got {unknown!r}.")
    return csr_array((wanted.data, numbers, wanted.indptr), shape=(wanted.shape[0], len(items)))


def _called(part: Part) -> str:
    return str(part) if isinstance(part, Retriever) else getattr(part, "__name__", type(part).__name__)


def _different(names: list[str]) -> list[str]:
    """Number names that occur more than once."""
    return [f"{name} #{at}" if names.count(name) > 1 else name for at, name in enumerate(names, 1)]
