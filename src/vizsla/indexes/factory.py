"""An index over vectors by its name."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from vizsla.errors import InputError, check_choice
from vizsla.indexes.dense_index import DenseIndex

DENSE_MODULES = {
    "flat": "vizsla.indexes.flat:FlatIndex",
    "hnsw": "vizsla.indexes.hnsw:HnswIndex",
    "ivf": "vizsla.indexes.ivf:IvfIndex",
    "pq": "vizsla.indexes.pq.pq_index:PqIndex",
    "hnswpq": "vizsla.indexes.pq.ann_over_pq:HnswPqIndex",
    "ivfpq": "vizsla.indexes.pq.ann_over_pq:IvfPqIndex",
}
"""Where each kind of dense index is implemented."""


def make_index(kind: str, vectors: Any, **options: Any) -> DenseIndex:
    """Build the index of this kind over vectors; `options` are those of its `build`.

    Examples
    --------
    >>> len(make_index("flat", [[1.0, 0.0]], storage="float16"))
    1
    """
    check_choice("index", kind, list(DENSE_MODULES))
    module, _, name = DENSE_MODULES[kind].partition(":")
    build = getattr(importlib.import_module(module), name).build
    known = _options(build)
    for option in options:
        if option not in known:
            raise InputError(f"Options of the index {kind!r} must be among {', '.join(known)}. Got {option!r}.")
    built: DenseIndex = build(vectors, **options)
    return built


def _options(build: Callable[..., Any]) -> list[str]:
    """Return the names of the options; a structure over codes also takes those of the codes."""
    given = [one for one in inspect.signature(build).parameters.values() if one.name != "vectors"]
    names = [one.name for one in given if one.kind is not one.VAR_KEYWORD]
    if len(names) == len(given):
        return names
    from vizsla.indexes.pq.pq_index import PqIndex

    return [*names, *(name for name in _options(PqIndex.build) if name not in names)]
