"""Build the shards of a catalog on the workers of a placement: each is an artifact in a folder of its own."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vizsla.artifacts.artifact import load
from vizsla.artifacts.manifest import MANIFEST
from vizsla.base.recipe import Recipe
from vizsla.compose.shards import Shards
from vizsla.core.validation import as_path, check_type
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError, check_positive
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import Statistics

if TYPE_CHECKING:
    from vizsla.base.placement import Placement
    from vizsla.text.analyzers import Analyzer


ITEMWISE = ("bm25", "dense")
"""Kinds whose shards answer as the whole."""


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


def build_shards(
    dataset: Dataset,
    recipe: Recipe,
    count: int,
    path: str | Path,
    *,
    on: Placement,
    memory_mb: float | None = None,
) -> Shards:
    """Build a retriever over a dataset in shards, and return them as one, loaded from their folders.

    Shards of BM25 are counted first, and weighed by the counts of all, so that answers are those of one index, bit for
    bit. Those of other kinds must score an item by itself, as vectors and token weights do. A shard that is there
    already is not built again: after a kill the same call continues.

    Parameters
    ----------
    dataset : Dataset
        The items; shards are runs of them, in order.
    recipe : Recipe
        What is built: bm25 without fields, or a kind that scores items one by one.
    count : int
        How many shards.
    path : path
        A folder that the workers share; shard `i` is its folder `i`.
    on : Placement
        Where.
    memory_mb : float, optional
        What building a shard takes at most.

    Examples
    --------
    >>> import tempfile
    >>> from vizsla.scale import connect
    >>> fruit = Dataset.of({"f": "a fig tree", "p": "a pear", "a": "an apple tree"})
    >>> with tempfile.TemporaryDirectory() as folder, connect(workers=2) as on:
    ...     build_shards(fruit, Recipe.of("bm25"), 2, folder, on=on)("tree").ids
    [['f', 'a']]
    """
    check_type("recipe", recipe, Recipe, "a Recipe")
    folder, count = as_path(path), check_positive("count", count)
    texts = {item.id: item.default_text() for item in dataset.items}
    if count > len(texts):
        raise InputError(f"`count` must be at most the number of items, {len(texts)}. Got {count}.")
    if recipe.kind not in ITEMWISE:
        raise InputError(f"`recipe` must score items one by one: {', '.join(ITEMWISE)}. Got {recipe.kind!r}.")
    folder.mkdir(parents=True, exist_ok=True)
    ends = np.arange(count + 1) * len(texts) // count
    ids = list(texts)
    runs = [{id: texts[id] for id in ids[first:last]} for first, last in pairwise(ends.tolist())]
    tasks = [ShardTask(run, str(folder / str(number))) for number, run in enumerate(runs)]
    common: tuple[Recipe, Any] = recipe, None
    if recipe.kind == "bm25":
        analyzer = recipe.settings.get("analyzer")
        if recipe.settings.get("fields") is not None or recipe.settings.get("statistics") is not None:
            raise InputError("`recipe` must be of BM25 over one text and its own statistics. Got another.")
        if analyzer is None or not analyzer.settled:  # its languages are those of all texts
            common = recipe, Statistics.of(texts, analyzer=analyzer)
        else:
            counted = on.map(_counted, tasks, common=analyzer, memory_mb=memory_mb, what="counting words")
            common = recipe, reduce(Statistics.merged, counted)
    list(on.map(_built, tasks, common=common, memory_mb=memory_mb, what="building shards"))
    parts: list[Any] = [load(task.folder) for task in tasks]
    return Shards(parts)


def _counted(task: ShardTask, analyzer: Analyzer) -> Statistics:
    return Statistics.of(task.items, analyzer=analyzer)


def _built(task: ShardTask, common: tuple[Recipe, Statistics | None]) -> None:
    recipe, statistics = common
    if (Path(task.folder) / MANIFEST).is_file():  # it is there whole, or not at all
        return
    if statistics is None:
        built = recipe.build(Dataset.of(task.items))
    else:
        chosen = {name: value for name, value in recipe.settings.items() if name != "analyzer"}
        built = bm25(task.items, statistics=statistics, **chosen)
    built.save(task.folder)
