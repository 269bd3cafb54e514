"""Which class reads which kind of artifact: built-in ones by a table, others by entry points or once defined."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from vizsla.artifacts.manifest import NAME
from vizsla.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from vizsla.artifacts.artifact import Artifact

BUILT_IN = {
    "item-metadata": "vizsla.data.metadata:ItemMetadata",
    "strings": "vizsla.artifacts.string_table:StringTable",
    "inverted": "vizsla.indexes.inverted:InvertedIndex",
    "tree": "vizsla.indexes.tree:TreeIndex",
    "flat": "vizsla.indexes.flat:FlatIndex",
    "hnsw": "vizsla.indexes.hnsw:HnswIndex",
    "ivf": "vizsla.indexes.ivf:IvfIndex",
    "pq": "vizsla.indexes.pq.pq_index:PqIndex",
    "hnswpq": "vizsla.indexes.pq.ann_over_pq:HnswPqIndex",
    "ivfpq": "vizsla.indexes.pq.ann_over_pq:IvfPqIndex",
    "token-index": "vizsla.indexes.tokens:TokenIndex",
    "grouped": "vizsla.indexes.grouped:GroupedIndex",
    "bag-of-words": "vizsla.text.bag_of_words:BagOfWords",
    "ngrams": "vizsla.text.ngrams:NgramTfidf",
    "completer": "vizsla.text.completion:Completer",
    "lsa": "vizsla.encoders.lsa:LsaEncoder",
    "token-table": "vizsla.encoders.token_table:TokenTable",
    "sidr-encoder": "vizsla.encoders.sidr:SidrEncoder",
    "adapted-encoder": "vizsla.encoders.adapted:AdaptedEncoder",
    "two-sided-encoder": "vizsla.encoders.adapted:TwoSidedEncoder",
    "model": "vizsla.encoders.persistence:BundledModel",
    "vectors": "vizsla.encoders.vectors:Vectors",
    "word-encoder": "vizsla.encoders.late:WordEncoder",
    "token-vectors": "vizsla.encoders.late:TokenVectors",
    "cross-encoder": "vizsla.scorers.cross_encoder:CrossEncoder",
    "late-interaction": "vizsla.methods.late_interaction:LateInteraction",
    "bm25": "vizsla.methods.bm25:Bm25",
    "bm25-statistics": "vizsla.methods.bm25_statistics:Statistics",
    "typo-tolerant": "vizsla.methods.typo_tolerant:TypoTolerant",
    "tokens": "vizsla.methods.tokens.model:TokenRetriever",
    "tfidf": "vizsla.methods.tfidf:Tfidf",
    "click-memory": "vizsla.methods.remembered_clicks:ClickMemory",
    "cold-item-boost": "vizsla.methods.cold_items:ColdItemBoost",
    "xrlinear": "vizsla.methods.xrlinear.model:XrLinear",
    "dense": "vizsla.methods.dense:Dense",
    "jpq": "vizsla.methods.jpq.model:Jpq",
    "sidr": "vizsla.methods.sidr.model:Sidr",
    "training-state": "vizsla.learning.loop:TrainingState",
    "pefa-xs": "vizsla.methods.pefa.xs:PefaXs",
    "pefa-xl": "vizsla.methods.pefa.xl:PefaXl",
    "cur-factors": "vizsla.methods.cur.factors:Factors",
    "anchor-scores": "vizsla.methods.cur.anchors:AnchorScores",
    "adacur": "vizsla.methods.cur.adacur:Adacur",
    "residual-cur": "vizsla.methods.cur.residual:ResidualCur",
    "composition": "vizsla.compose.composition:Composition",
    "signal": "vizsla.compose.signal:Signal",
}
"""Where each built-in kind is defined; a module is imported only when one is loaded. A manifest names kinds only."""

ENTRY_POINT_GROUP = "vizsla.kinds"
"""The group of entry points by which a distribution declares its kinds: `oracle = "fruit.oracle:Oracle"`."""

_registered: dict[str, type[Artifact]] = {}


def register(kind: type[Artifact]) -> None:
    """Remember which class reads its kind; another class with the same kind raises.

    The same class defined once more, as in a notebook, takes the place of the first.
    """
    name = kind.kind
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"`kind` must be letters, digits, '_', '-' and '.'. Got {name!r} in {_place(kind)}.")
    other = _place(_registered[name]) if name in _registered else BUILT_IN.get(name)
    if other is not None and other != _place(kind):
        raise InputError(f"`kind` must be new. Got {name!r} in {_place(kind)}, which {other} has: choose another.")
    _registered[name] = kind


def class_of(kind: str) -> type[Artifact] | None:
    """Return the class that reads a kind, or None; a built-in one is imported.

    Examples
    --------
    >>> class_of("bm25").__name__, class_of("oracle")
    ('Bm25', None)
    """
    if kind in BUILT_IN and kind not in _registered:
        importlib.import_module(BUILT_IN[kind].partition(":")[0])
    elif kind not in _registered:
        _import_installed(kind)
    return _registered.get(kind)


def _declared(kind: str | None = None) -> list[EntryPoint]:
    from importlib.metadata import entry_points  # takes longer to import than the rest of this module

    return list(
        entry_points(group=ENTRY_POINT_GROUP) if kind is None else entry_points(group=ENTRY_POINT_GROUP, name=kind)
    )


def _import_installed(kind: str) -> None:
    """Import the class that an installed distribution declares for a kind; of two the first on the path."""
    for found in _declared(kind):
        try:
            loaded = found.load()
        except Exception as error:
            cause = f"{type(error).__name__}: {error!s:.200}"
            raise InputError(f"`{found.value}` must be a class of the kind {kind!r}. Got an error: {cause}.") from error
        if getattr(loaded, "kind", None) != kind:
            raise InputError(f"`{found.value}` must be a class of the kind {kind!r}. Got {loaded!r:.100}.")
        return


def known_kinds() -> list[str]:
    """Return all kinds that can be loaded now, those of installed distributions included."""
    return sorted({*BUILT_IN, *_registered, *(found.name for found in _declared())})


def check_saveable(artifact: Artifact) -> None:
    """Raise unless a saved artifact would be loaded as the class that it is."""
    own, name = type(artifact), getattr(artifact, "kind", None)
    reads = class_of(name) if isinstance(name, str) else None
    if reads is None:
        raise InputError(f"{own.__name__} must have a `kind` to be saved. Got none: give the class one.")
    if not reads._reads(own):
        raise InputError(
            f"{own.__name__} must have a `kind` of its own to be saved. Got {name!r}, which loads as {reads.__name__}."
        )


def _place(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"
