"""An index over vectors by its name."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from vizsla.errors import InputError, check_choice
from vizsla.indexes.dense_index import DenseIndex

DENSE = {
    "flat": "vizsla.indexes.flat:FlatIndex",
    "hnsw": "vizsla.indexes.hnsw:HnswIndex",
    "ivf": "vizsla.indexes.ivf:IvfIndex",
    "pq": "vizsla.indexes.pq:PqIndex",
}
"""Where each kind of dense index is implemented."""


def make_index(kind: str, vectors: Any, **options: Any) -> DenseIndex:
    """Build the index of this kind over vectors; `options` are those of its `build`.

    Examples
    --------
    >>> len(make_index("flat", [[1.0, 0.0]], storage="float16"))
    1
    """
    check_choice("index", kind, list(DENSE))
    module, _, name = DENSE[kind].partition(":")
    build = getattr(importlib.import_module(module), name).build
    known = [option for option in inspect.signature(build).parameters if option != "vectors"]
    for option in options:
        if option not in known:
            raise InputError(f"Options of the index {kind!r} must be among {', '.join(known)}. Got {option!r}.")
    built: DenseIndex = build(vectors, **options)
    return built
