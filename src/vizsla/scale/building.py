"""Build the shards of a catalog on the workers of a placement: each is an artifact in a folder of its own."""

from __future__ import annotations

import hashlib
import json
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vizsla.artifacts.artifact import load
from vizsla.artifacts.manifest import MANIFEST
from vizsla.base.placement import Placement
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.compose.shards import Shards
from vizsla.core.strings import Strings
from vizsla.core.validation import as_path, check_type
from vizsla.data.dataset import Dataset
from vizsla.encoders.batching import encode_items
from vizsla.errors import InputError, check_positive
from vizsla.indexes.flat import FlatIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.indexes.tokens import TokenIndex
from vizsla.io.atomic import writing
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import Statistics
from vizsla.methods.dense import Dense, dense
from vizsla.methods.tfidf import Tfidf, cut_rows
from vizsla.methods.tokens.model import TokenRetriever
from vizsla.text.bag_of_words import length_norms

if TYPE_CHECKING:
    from vizsla.text.analyzers import Analyzer
    from vizsla.typing import Float32Array


ITEMWISE = ("bm25", "dense")
"""Kinds whose shards answer as the whole."""
RECORD = "building.json"


class ShardTask(NamedTuple):
    """What one worker builds.

    Attributes
    ----------
    items : dict of str to str
        Ids and texts.
    folder : str
        Where the artifact goes; storage that all workers and the caller share.
    """

    items: dict[str, str]
    folder: str


class ShardModel(NamedTuple):
    """What a trained retriever needs to index other items: no items of its own, so that it travels.

    Attributes
    ----------
    kind : type
        Dense, Tfidf or TokenRetriever.
    encoder : Encoder
        Its encoder; of a TokenRetriever the table.
    index : PqIndex or dict
        Codebooks without codes; else the options of the index.
    mark : str
        Its fingerprint.
    """

    kind: type[Dense | Tfidf | TokenRetriever]
    encoder: Any
    index: Any
    mark: str

    @classmethod
    def of(cls, model: Any) -> ShardModel:
        """Return what a retriever has learned that other items are indexed by."""
        kind: type[Dense | Tfidf | TokenRetriever] = type(model)
        mark = f"{kind.__name__} {getattr(getattr(model, 'encoder', None), 'fingerprint', '')}"
        if kind is Dense and type(model.index) is PqIndex:
            book = model.index.with_codes(np.empty((0, model.index.codebook.subspaces), np.uint8))
            read = hashlib.blake2b(digest_size=16)
            for learned in (book.centroids, book.coder.centroids, book.rotation):
                read.update(b"" if learned is None else np.ascontiguousarray(learned).tobytes())
            return cls(kind, model.encoder, book, f"{mark} {read.hexdigest()}")
        if kind is Dense and type(model.index) is FlatIndex:
            options = dict(model.index.options)
        elif kind is Tfidf and not model.fields:
            options = {"entries": model.entries}
        elif kind is TokenRetriever:
            options = {"b": float(model.b), "mean": float(model.lengths.mean())}
        else:
            raise InputError(
                "`recipe` must be a recipe, or a trained retriever that scores items one by one: dense over a flat "
                f"index or codes, TF-IDF without fields, or tokens. Got {model!r:.80}."
            )
        return cls(kind, model.encoder, options, f"{mark} {json.dumps(options, sort_keys=True)}")

    def over(self, items: dict[str, str], priorities: Float32Array | None = None) -> Retriever:
        """Return the retriever over these items; nothing is learned. Those of TF-IDF are given what `heaviest` says."""
        ids, texts = Strings.unique(list(items)), list(items.values())
        if self.kind is Tfidf:
            rows = cut_rows(self.encoder.items(texts), **self.index)
            return Tfidf(ids, self.encoder, InvertedIndex.from_rows(rows, priorities=priorities), **self.index)
        if self.kind is Dense and isinstance(self.index, PqIndex):
            return Dense(ids, self.encoder, self.index.with_items(encode_items(self.encoder, texts)))
        if self.kind is Dense:
            return dense(items, self.encoder, **self.index)
        rows = self.encoder.words.items(texts)
        counts = np.bincount(rows.columns, minlength=self.encoder.dim).astype(np.int64)
        lengths, b = np.diff(rows.offsets).astype(np.int32), self.index["b"]
        index = TokenIndex.build(rows, norms=length_norms(lengths, self.index["mean"], b))
        return TokenRetriever(ids, self.encoder, index, frequencies=counts, lengths=lengths, b=b, learned=True)

    def heaviest(self, items: dict[str, str]) -> Float32Array:
        """Return the largest value of each n-gram: a TF-IDF search adds up n-grams in an order that depends on it."""
        rows = cut_rows(self.encoder.items(list(items.values())), **self.index)
        largest = np.zeros(rows.width, np.float32)
        np.maximum.at(largest, rows.columns, rows.values)
        return largest


def build_shards(
    dataset: Dataset,
    recipe: Recipe | Retriever,
    count: int,
    path: str | Path,
    *,
    on: Placement,
    memory_mb: float | None = None,
) -> Shards:
    """Build a retriever over a dataset in shards, and return them as one, loaded from their folders.

    Shards of BM25 are counted first, and weighed by the counts of all, so that answers are those of one index, bit for
    bit. What must learn from items, such as codes, TF-IDF and tokens, is trained before, on all items or a sample, and
    given in place of a recipe: its encoder, codebook or table is used as it is, and answers are those of one index. A
    shard that is there already is not built again: after a kill the same call continues.

    Parameters
    ----------
    dataset : Dataset
        The items; shards are runs of them, in order.
    recipe : Recipe or Retriever
        What is built: bm25 without fields, or dense; or a trained retriever: dense over vectors or codes, TF-IDF, or
        tokens.
    count : int
        How many shards.
    path : path
        A folder that the workers share; shard `i` is its folder `i`.
    on : Placement
        Where.
    memory_mb : float, optional
        Maximum memory of building a shard.

    Examples
    --------
    >>> import tempfile
    >>> from vizsla.scale import connect
    >>> fruit = Dataset.of({"f": "a fig tree", "p": "a pear", "a": "an apple tree"})
    >>> with tempfile.TemporaryDirectory() as folder, connect(workers=2) as on:
    ...     build_shards(fruit, Recipe.of("bm25"), 2, folder, on=on)("tree").ids
    [['f', 'a']]
    """
    check_type("on", on, Placement, "a Placement")
    folder, count = as_path(path), check_positive("count", count)
    texts = {item.id: item.default_text() for item in dataset.items}
    if count > len(texts):
        raise InputError(f"`count` must be at most the number of items, {len(texts)}. Got {count}.")
    if isinstance(recipe, Recipe):
        what: Recipe | ShardModel = recipe
        if recipe.kind not in ITEMWISE or recipe.settings.get("index", "flat") == "pq":
            raise InputError(
                f"`recipe` must score items one by one, as {' and '.join(ITEMWISE)} do. Got {recipe!r:.80}: what "
                "learns from items is trained before, and given in place of a recipe."
            )
    else:
        what = ShardModel.of(recipe)
    ends = np.arange(count + 1) * len(texts) // count
    ids = list(texts)
    runs = [{id: texts[id] for id in ids[first:last]} for first, last in pairwise(ends.tolist())]
    tasks = [ShardTask(run, str(folder / str(number))) for number, run in enumerate(runs)]
    common: tuple[Recipe | ShardModel, Any] = what, None
    lexical = what if isinstance(what, Recipe) and what.kind == "bm25" else None
    if lexical is not None and any(lexical.settings.get(name) is not None for name in ("fields", "statistics")):
        raise InputError("`recipe` must be of BM25 over one text and its own statistics. Got another.")
    _check_same(folder, what, count, texts)
    if lexical is not None:
        analyzer = lexical.settings.get("analyzer")
        if analyzer is None or not analyzer.settled:  # its languages are those of all texts
            common = what, Statistics.of(texts, analyzer=analyzer)
        else:
            words = on.map(_counted, tasks, common=analyzer, memory_mb=memory_mb, what="counting words")
            common = what, reduce(Statistics.merged, words)
    elif isinstance(what, ShardModel) and what.kind is Tfidf:
        largest = on.map(_heaviest, tasks, common=what, memory_mb=memory_mb, what="weighing n-grams")
        common = what, reduce(np.maximum, largest)
    list(on.map(_built, tasks, common=common, memory_mb=memory_mb, what="building shards"))
    parts: list[Any] = [load(task.folder) for task in tasks]
    return Shards(parts)


def _check_same(folder: Path, what: Recipe | ShardModel, count: int, texts: dict[str, str]) -> None:
    """Note what is built in a folder, and raise where another was begun there."""
    read = hashlib.blake2b(digest_size=16)
    read.update(json.dumps([list(texts.items()), count], ensure_ascii=True).encode())
    read.update(what.mark.encode() if isinstance(what, ShardModel) else repr(what).encode())
    folder.mkdir(parents=True, exist_ok=True)
    record, mark = folder / RECORD, json.dumps({"digest": read.hexdigest()}).encode()
    if not record.exists():
        if any(folder.iterdir()):
            raise InputError(
                f"`path` must be a new folder, or that of the same call. Got {folder}, which holds others."
            )
        with writing(record) as out:
            out.write(mark)
    elif record.read_bytes() != mark:
        raise InputError(
            f"`path` must be a new folder, or that of the same call. Got {folder}, where shards of other items or "
            "another recipe were begun: choose another."
        )


def _counted(task: ShardTask, analyzer: Analyzer) -> Statistics:
    return Statistics.of(task.items, analyzer=analyzer)


def _heaviest(task: ShardTask, model: ShardModel) -> Float32Array:
    return model.heaviest(task.items)


def _built(task: ShardTask, common: tuple[Recipe | ShardModel, Any]) -> None:
    recipe, shared = common
    if (Path(task.folder) / MANIFEST).is_file():  # it is there whole, or not at all
        return
    built: Any
    if isinstance(recipe, ShardModel):
        built = recipe.over(task.items, shared)
    elif shared is None:
        built = recipe.build(Dataset.of(task.items))
    else:
        chosen = {name: value for name, value in recipe.settings.items() if name != "analyzer"}
        built = bm25(task.items, statistics=shared, **chosen)
    built.save(task.folder)
