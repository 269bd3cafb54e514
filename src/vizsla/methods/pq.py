"""pq: a dense retriever made small."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from vizsla.base.recipe import builds
from vizsla.errors import InputError
from vizsla.indexes.dense_index import DenseIndex, StoredIndex
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.methods.dense import Dense
from vizsla.methods.pefa.xs import PefaXs

Model = TypeVar("Model", Dense, PefaXs)


@builds("pq", data=None)
def pq(base: Model, **options: Any) -> Model:
    """Return the same retriever over codes instead of vectors: many times smaller, and less exact the smaller it is.

    Parameters
    ----------
    base : Dense or PefaXs
        The retriever to compress; it is not changed. Of PEFA, both the moved vectors and those of its base are coded.
        Clicks cannot be added afterwards, so add them first.
    **options
        Options of `PqIndex.build`: `bytes` per item (32), `bits` of a code (8 or 4), `opq`, `rounds`, `seed`,
        `memory_mb`, `threads`.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> from vizsla.methods.dense import dense
    >>> letters = FunctionEncoder(lambda texts: [[t.count(c) for c in "aefgpr"] for t in texts], dim=6, name="letters")
    >>> small = pq(dense({"a": "fig", "b": "grape", "c": "pear"}, letters), bytes=3)
    >>> small("ripe fig", k=2).ids, small.index.compression
    ([['b', 'c']], 8.0)
    """
    if isinstance(base, PefaXs):
        below = base.base
        if not isinstance(below, Dense):
            raise InputError(f"`base` must be PEFA-XS over a dense retriever. Got it over {type(below).__name__}.")
        return base._with(base=below._with(index=_coded(below.index, options)), index=_coded(base.index, options))
    if not isinstance(base, Dense):
        raise InputError(f"`base` must be a dense retriever, or PEFA-XS over one. Got {type(base).__name__}.")
    return base._with(index=_coded(base.index, options))


def _coded(index: Any, options: dict[str, Any]) -> Any:
    if isinstance(index, GroupedIndex):
        return GroupedIndex(_coded(index.index, options), index.owners)
    if isinstance(index, PqIndex):
        raise InputError("`base` must hold vectors. Got codes, which would lose a second time.")
    if not isinstance(index, DenseIndex):
        raise InputError(f"`base` must have a dense index. Got one of kind {index.kind!r}.")
    rows = index.vectors if isinstance(index, StoredIndex) else index.take(slice(None))
    return PqIndex.build(np.asarray(rows), **options)
