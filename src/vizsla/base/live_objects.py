"""Live objects: what a recipe names by its fingerprint, and where a retriever holds it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vizsla.artifacts.manifest import digest


class Binding(NamedTuple):
    """A live object that a recipe needs and cannot hold as plain data, such as an encoder.

    Attributes
    ----------
    name : str
        The setting that it stands for.
    fingerprint : str
        Which object it is.
    """

    name: str
    fingerprint: str


def fingerprint_of(value: Any) -> str | None:
    """Return what tells an object from others in every process; None where nothing does.

    Examples
    --------
    >>> fingerprint_of(["a fig"] * 300)
    'list of 300 a0678f3aa2a6e4d1'
    >>> fingerprint_of(print)
    """
    mark = getattr(value, "fingerprint", None)
    if isinstance(mark, str):
        return mark
    if isinstance(value, np.ndarray):
        return None if value.dtype.hasobject else f"array {value.dtype} {value.shape} {_array_digest(value)}"
    if all(isinstance(getattr(value, name, None), np.ndarray) for name in ("data", "indices", "indptr")):
        parts = " ".join(_array_digest(each) for each in (value.data, value.indices, value.indptr))
        return f"{type(value).__name__} {value.shape} {parts}"
    if isinstance(value, Path):
        return f"path {digest(str(value).encode())}"
    if not isinstance(value, list | tuple | Mapping):
        return None
    try:
        written = json.dumps(dict(value) if isinstance(value, Mapping) else value, allow_nan=False)
    except (TypeError, ValueError):
        return None
    kind = "mapping" if isinstance(value, Mapping) else "list"
    return f"{kind} of {len(value)} {digest(written.encode())}"


def live_parts(part: Any) -> Iterator[Any]:
    """Yield an object and all that it says it holds (`_live_parts`), each once.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> search = bm25(["a fig tree"])
    >>> search.encoder in list(live_parts(search % 5))
    True
    """
    seen, left = set[int](), [part]
    while left:
        each = left.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            yield each
            left.extend(each._live_parts() if hasattr(each, "_live_parts") else ())


def _array_digest(values: Any) -> str:
    return digest(np.ascontiguousarray(values).reshape(-1).view(np.uint8))
