"""What the benchmark of budgeted search is run on: items, queries, all scores, cheap retrievers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adacur_scores import Matrix, Questions, late_interaction, pair_scores, questions, string_similarity
from benchmarks.corpus import data_folder
from benchmarks.cross_encoder_model import trained
from benchmarks.cross_encoder_onnx import small_model
from benchmarks.late_interaction import minilm_means
from benchmarks.pefa_collection import Collection
from vizsla.base.encoder import FunctionEncoder
from vizsla.data.dataset import Dataset
from vizsla.methods.dense import Dense, dense

SQUAD_TESTS = ("test-seen", "test-unseen")


@dataclass(frozen=True)
class World:
    """Items, queries, all scores of these, MiniLM's search, and what judges want of each query."""

    items: dict[str, str]
    asked: Questions
    scores: Matrix
    minilm: Dense
    wanted: list[set[int]]


@dataclass(frozen=True)
class Wish:
    """How large a world is to be: `items`, which are the first ones of squad-sent, `anchors` and `testing` queries.

    `quick` is for showing that everything runs; `folder` holds a trained cross-encoder.
    """

    quick: bool = False
    folder: Path | None = None
    items: int | None = None
    anchors: int | None = None
    testing: int | None = None

    def sizes(self, items: int, anchors: int, testing: int) -> tuple[int, int, int]:
        """Return what is wished for, or else these."""
        if self.quick:
            return 200, 24, 10
        return self.items or items, self.anchors or anchors, self.testing or testing


def late_squad(wish: Wish) -> World:
    """Exact late interaction over MiniLM's tokens, squad-sent, all items."""
    return _squad(late_interaction, wish)


def aligned_squad(wish: Wish) -> World:
    """Alignment of strings, squad-sent, all items."""
    return _squad(string_similarity, wish)


def judged_squad(wish: Wish) -> World:
    """A small cross-encoder, int8 on ONNX Runtime, some items of squad-sent: 1.5 million pairs."""
    folder, quick = wish.folder, wish.quick
    if folder is None:
        raise SystemExit("--folder must say where the cross-encoder is, or will be trained: see cross_encoder_model.")
    known, splits = Collection("squad-sent"), ("train", *SQUAD_TESTS)
    items, anchors, testing = wish.sizes(5000, 200, 100)
    asked = questions(known.data, SQUAD_TESTS, anchors=anchors, tuning=0, testing=testing)
    chosen = _some_items(known.data, splits, asked, items)
    texts = _texts(known.data, chosen)
    model = small_model(trained(folder, steps=4 if quick else 500), folder, known.data, queries=10 if quick else 100)
    scores = pair_scores(f"squad.{items}.pairs", model, list(texts.values()), asked.texts)
    minilm = dense(texts, known.encoder, vectors=known.vectors[chosen])
    return World(texts, asked, scores, minilm, _wanted(known.data, splits, asked, chosen))


def late_wordnet(wish: Wish) -> World:
    """Exact late interaction over MiniLM's tokens, made in bfloat16, 100,000 items of wordnet-senses."""
    data, (items, anchors, testing) = Dataset.open(data_folder() / "wordnet-senses"), wish.sizes(100_000, 200, 50)
    asked = questions(data, ("test",), anchors=anchors, tuning=0, testing=testing)
    chosen = _some_items(data, ("train", "test"), asked, items)
    name = f"wordnet.{items}.{anchors}.{testing}"  # what judges want of the queries is among the items
    texts = _texts(data, chosen)
    scores = late_interaction(name, list(texts.values()), asked.texts, narrow=True)
    rows = dict(zip(asked.texts, minilm_means(f"{name}.queries", asked.texts, narrow=True), strict=True))
    encoder = FunctionEncoder(lambda said: np.stack([rows[text] for text in said]), dim=384, name="minilm")
    minilm = dense(texts, encoder, vectors=minilm_means(f"{name}.items", list(texts.values()), narrow=True))
    return World(texts, asked, scores, minilm, _wanted(data, ("train", "test"), asked, chosen))


WORLDS = {
    "late interaction": late_squad,
    "alignment": aligned_squad,
    "cross-encoder": judged_squad,
    "late interaction, 100k": late_wordnet,
}


def _squad(score: Any, wish: Wish) -> World:
    known, splits = Collection("squad-sent"), ("train", *SQUAD_TESTS)
    if wish.quick:
        items, anchors, testing = wish.sizes(0, 0, 0)
        asked = questions(known.data, SQUAD_TESTS, anchors=anchors, tuning=0, testing=testing)
        chosen, name = _some_items(known.data, splits, asked, items), f"squad.{items}"
    else:
        asked, count = questions(known.data, SQUAD_TESTS), len(known.data.items)
        asked = replace(asked, used=wish.anchors and min(wish.anchors, asked.anchors))
        chosen = np.arange(min(wish.items or count, count))
        name = "squad" if len(chosen) == count else f"squad.{len(chosen)}"
    texts = _texts(known.data, chosen)
    scores = score(name, list(texts.values()), asked.texts)
    minilm = dense(texts, known.encoder, vectors=known.vectors[chosen])
    return World(texts, asked, scores, minilm, _wanted(known.data, splits, asked, chosen))


def _texts(data: Dataset, chosen: Any) -> dict[str, str]:
    return {item.id: item.default_text() for item in (data.items[int(at)] for at in chosen)}


def _some_items(data: Dataset, splits: tuple[str, ...], asked: Questions, count: int) -> Any:
    """Return the numbers of `count` items, ascending: those that judges want, and others at random."""
    needed = np.array(sorted(set().union(*_judged(data, splits, asked))), np.int64)
    others = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(len(data.items)), needed))
    return np.sort(np.concatenate([needed, others[: max(0, count - len(needed))]]))


def _wanted(data: Dataset, splits: tuple[str, ...], asked: Questions, chosen: Any) -> list[set[int]]:
    """Return what judges want of each query, as places among the chosen items."""
    place = {int(item): at for at, item in enumerate(chosen)}
    return [{place[item] for item in items if item in place} for items in _judged(data, splits, asked)]


def _judged(data: Dataset, splits: tuple[str, ...], asked: Questions) -> list[set[int]]:
    row = {id: at for at, id in enumerate(data.query_texts()[0])}
    every = [data.qrels(split) for split in splits]
    return [
        {int(item) for judged in every for item in judged.indices[judged.indptr[row[id]] : judged.indptr[row[id] + 1]]}
        for id in asked.ids
    ]
