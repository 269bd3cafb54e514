"""Long steps that a placement takes, each as a function of it that returns a digest of all that it made."""

from __future__ import annotations

import hashlib
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import vizsla
from tests.autopilot.made_log import made_log
from tests.support.folders import contents
from vizsla.autopilot.proposals import Candidate
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.resumable import resumable_encode
from vizsla.evaluation.sweep import sweep
from vizsla.methods.cur.anchors import score_anchors
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.scale import build_shards, connect

Work = Callable[[Any], str]

SHARDS, DIM = 4, 64
ASKED, ANCHORS, DEPTH = 200, 12, 50
QUICK = {
    "bm25": Candidate("bm25", "words", Recipe.of("bm25")),
    "bm25_clicks": Candidate("bm25_clicks", "n-grams", Recipe.of("pefa", base="bm25", variant="xs"), True),
    "memory": Candidate("memory", "memory", Recipe.of("click_memory"), True),
}
"""What `learn` tries here; none of it depends on the clock."""


def part_of(dataset: Dataset, items: int) -> Dataset:
    """Return the first items of a dataset, and the queries and clicks of these."""
    clicks = dataset.clicks[:, :items].tocoo()
    ids = [item.id for item in itertools.islice(dataset.items, items)]
    texts = [query.text for query in dataset.queries]
    log = [(texts[row], ids[at], float(weight)) for row, at, weight in zip(*clicks.coords, clicks.data, strict=True)]
    catalog = {item.id: item.default_text() for item in itertools.islice(dataset.items, items)}
    return Dataset.of(catalog, clicks=log)


def digest(folder: Path) -> str:
    """Return a hash of all files below a folder, and their names; of provenance, which has the time, none."""
    read = hashlib.blake2b(digest_size=16)
    for path, data in sorted(contents(folder).items()):
        read.update(f"{path} {len(data)} ".encode())
        read.update(data)
    return read.hexdigest()


def said(value: Any) -> str:
    """Return a hash of something that JSON can hold."""
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()


def works(shop: Dataset) -> dict[str, Work]:
    """Return the long steps over a dataset with clicks, by name; the digest without a placement is the reference."""
    texts = {item.id: item.default_text() for item in shop.items}
    queries = [query.text for query in itertools.islice(shop.queries, ASKED)]
    lsa = LsaEncoder.fit(texts.values(), dim=DIM)
    wholes = {
        "BM25 shards": (Recipe.of("bm25"), vizsla.bm25(shop)),
        "dense shards": (
            Recipe.of("dense", encoder=lsa, storage="float32"),
            vizsla.dense(shop, lsa, storage="float32"),
        ),
    }
    for name, whole in {
        "PQ shards": vizsla.dense(shop, lsa, index="pq", bytes=16),
        "TF-IDF shards": vizsla.tfidf(shop),
        "token shards": vizsla.tokens(Dataset.of(texts)),
    }.items():
        wholes[name] = whole, whole
    found: dict[str, Work] = {
        "XR-Linear": lambda on: saved(xrlinear(shop, on=on, kind_shares=(1.0, 1.0, 1.0), branching=8)),
        "encoding": lambda on: encoded(lsa, list(texts.values()) * 4, on),
    }
    for name, (what, whole) in wholes.items():
        found[name] = lambda on, what=what, whole=whole: sharded(shop, what, whole, queries, on)
    scorer = vizsla.bm25(shop)
    found["anchor matrix"] = lambda on: saved(score_anchors(scorer, queries[:ANCHORS], shard=2_000, on=on))
    judged = Dataset(shop.items, shop.queries, clicks=shop.clicks, qrels={"test": shop.clicks})
    found["sweep"] = lambda on: swept(judged, on)
    found["learn's trials"] = learned
    return found


def saved(model: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "made")
        return digest(Path(folder))


def encoded(encoder: Any, texts: list[str], on: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        resumable_encode(encoder, texts, folder, on=on)
        return digest(Path(folder))


def sharded(shop: Dataset, what: Any, whole: Any, queries: list[str], on: Any) -> str:
    """Build shards, here in a thread without a placement; raise unless they answer as the whole."""
    with tempfile.TemporaryDirectory() as base, connect(workers=1) as here:
        parts = build_shards(shop, what, SHARDS, Path(base) / "shards", on=on or here)
        if parts(queries, k=DEPTH) != whole(queries, k=DEPTH):
            raise AssertionError("shards must answer as the whole")
        return digest(Path(base))


def swept(judged: Dataset, on: Any) -> str:
    systems = {k1: vizsla.bm25(judged, k1=k1) for k1 in (0.5, 1.0, 1.5, 2.0)}
    found = sweep("k1", systems, judged, measures=["R@5", "MRR@10"], latency_queries=0, on=on)
    return said([[value, one.measures] for value, one in found.evaluations.items()])


def learned(on: Any) -> str:
    with FewCandidates():
        report = vizsla.learn(made_log(), time="10m", on=on).report
    trials = sorted((one["name"], one["clicks"], one["searches"], one["quality"]) for one in report.trials)
    return said([report.winner, list(report.members), trials])


class FewCandidates:
    """Let `learn` try few methods meanwhile: a whole race takes minutes, and its limits are those of a clock."""

    def __enter__(self) -> None:
        from vizsla.autopilot import learn

        self._proposed = learn.proposed
        learn.proposed = lambda *_, **__: dict(QUICK)  # type: ignore[assignment]

    def __exit__(self, *error: object) -> None:
        from vizsla.autopilot import learn

        learn.proposed = self._proposed


def changes(seed: int, rounds: int) -> Iterator[tuple[str, Any]]:
    """Yield writes to a live collection: items, deletions and clicks."""
    pick = np.random.default_rng(seed)
    words = np.array(
        ["fig", "pear", "plum", "apple", "tree", "green", "red", "ripe", "sweet", "garden", "shop", "old", "new"]
    )
    for _ in range(rounds):
        numbers = pick.choice(300, 20, replace=False)
        yield "upsert", {f"i{number}": " ".join(pick.choice(words, 6)) for number in numbers}
        yield "clicks", [("green fig", f"i{number}") for number in numbers[:3]]
        yield "delete", [f"i{number}" for number in numbers[:4]]
