"""The steps of section 5.3 of the JPQ paper, by both losses, ours after them, and DPQ: codes that learn by a loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row
from vizsla.base.retriever import Retriever
from vizsla.evaluation.compare import compare
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.clicks import ClickLog
from vizsla.learning.losses import contrastive
from vizsla.learning.optimizers import AdamW, rate_factor
from vizsla.methods.dense import Dense
from vizsla.methods.jpq.settings import STAGES
from vizsla.methods.jpq.train_jpq import train_jpq

MEASURES = ("R@10", "RR@10")
STEPS = {"negatives": "+ end-to-end negatives", "loss": "+ ranking loss", "centroids": "+ trained centroids"}
SUPERVISED = 0.3


def ablation_rows(label: str, one: Collection, coded: Dense, flat: Dense, splits: Sequence[str]) -> list[Row]:
    """Return every step's figures; the steps before ours have neither a teacher nor synthetic queries."""
    how: dict[str, Any]
    systems: dict[str, Retriever] = {"opq": coded, "dpq-style": restored(coded, one, flat)}
    systems["dpq"] = differentiable(coded, one)
    for stage in STEPS:
        how = {"loss": "lambdarank", "synthetic_queries": 0.0, "click_loss_weight": 1.0, "stop": 3}
        systems[f"{STEPS[stage]}, LambdaRank"] = train_jpq(coded, one.data, teacher=flat, stage=stage, **how)
    for stage in STAGES:
        how = {"synthetic_queries": 1.0 if stage == "distillation" else 0.0}
        name = STEPS.get(stage, "+ distillation and synthetic queries")
        systems[name] = train_jpq(coded, one.data, teacher=flat, stage=stage, click_loss_weight=0.5, stop=3, **how)
    rows = []
    for split in splits:
        compared = compare(systems, one.data, split, MEASURES, baseline="opq", latency_queries=1)
        for name in compared.names:
            for measure in MEASURES:
                ours, base = (float(compared.evaluations[n].measures[measure]) for n in (name, "opq"))
                rows.append(Row(f"{label} {split} {measure}, {name}", ours, "opq", base, "", "", False))
    return rows


def restored(coded: Dense, one: Collection, flat: Dense, *, epochs: int = 3, batch: int = 512) -> Dense:
    """Train centroids to restore item vectors moved towards their clicks: supervised, but with a reconstruction loss.

    This is what DPQ and its kin minimize; codes and query side stay, as in JPQ.
    """
    index: PqIndex = coded.index  # type: ignore[assignment]
    wanted = index.codebook.rotated(_moved(one, flat)).reshape(len(index), index.codebook.subspaces, -1)
    centroids, codes = index.centroids.copy(), index.codes
    steps = -(-len(codes) // batch) * epochs
    adam, parts, pick = AdamW(centroids, rate=2e-3), np.arange(codes.shape[1]), np.random.default_rng(0)
    for step in range(steps):
        items = pick.integers(0, len(codes), batch)
        gradient = np.zeros_like(centroids)
        np.add.at(gradient, (parts, codes[items]), centroids[parts, codes[items]] - wanted[items])
        adam.step(gradient / batch, factor=rate_factor(step, steps, warm_up=0.1))
    return Dense(coded.items, coded.encoder, index.with_centroids(centroids))


def differentiable(
    coded: Dense, one: Collection, *, epochs: int = 10, batch: int = 256, rate: float = 2e-3, scale: float = 20.0
) -> Dense:
    """Train codes and centroids together by in-batch softmax on clicks, as DPQ does (differentiable, VQ form).

    An item's code is that of the nearest centroids of a vector of its own, which learns as well: gradients go straight
    through the choice, and centroid and vector are pulled to each other. The query side stays.
    """
    index: PqIndex = coded.index  # type: ignore[assignment]
    book = index.codebook
    log = ClickLog.of(one.data, coded.items, one.encoder.queries)
    asked = book.rotated(np.asarray(log.vectors, np.float32))
    own = book.rotated(one.vectors).reshape(len(index), book.subspaces, -1)
    centroids, pick = index.centroids.copy(), np.random.default_rng(0)
    movers = AdamW(centroids, rate=rate), AdamW(own, rate=rate)
    steps = epochs * (len(log.items) // batch)
    parts = np.arange(book.subspaces)
    for step in range(steps):
        clicks = pick.integers(0, len(log.items), batch)
        queries, items = asked[log.rows[clicks]], log.items[clicks]
        codes = _nearest(own[items], centroids)
        decoded = centroids[parts, codes]
        flat = decoded.reshape(batch, -1)
        excluded = (items[None] == items[:, None]) & ~np.eye(batch, dtype=np.bool_)
        by_score = contrastive(scale * queries @ flat.T, excluded).by_score
        gradient = (scale * by_score.T @ queries).reshape(decoded.shape).astype(np.float32)
        apart = (decoded - own[items]) / batch
        by_centroid, by_vector = np.zeros_like(centroids), np.zeros_like(own)
        np.add.at(by_centroid, (parts, codes), gradient + apart)
        np.add.at(by_vector, items, gradient - apart)
        for mover, each in zip(movers, (by_centroid, by_vector), strict=True):
            mover.step(each, factor=rate_factor(step, steps, warm_up=0.1))
    codes = np.concatenate([_nearest(own[at : at + 1024], centroids) for at in range(0, len(own), 1024)])
    return Dense(coded.items, coded.encoder, index.with_codes(codes.astype(np.uint8)).with_centroids(centroids))


def _nearest(vectors: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Return each vector's nearest centroid, part by part."""
    products = np.einsum("nmw,mkw->nmk", vectors, centroids, optimize=True)
    return np.asarray((np.square(centroids).sum(axis=2)[None] - 2 * products).argmin(axis=2))


def _moved(one: Collection, flat: Dense) -> np.ndarray:
    """Return item vectors, those with clicks moved towards the queries they were clicked for."""
    log = ClickLog.of(one.data, flat.items, one.encoder.queries)
    sums = np.zeros_like(one.vectors)
    np.add.at(sums, log.items, log.vectors[log.rows])
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    moved = one.vectors + SUPERVISED * np.divide(sums, lengths, where=lengths > 0, out=np.zeros_like(sums))
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)
