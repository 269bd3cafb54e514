"""A training step of JPQ against its twin: loss, moments and weights, on a log with several clicks per query."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tests.methods.jpq.step_twin import JpqTwin
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.queries import Queries
from vizsla.indexes.pq.click_flag import marked_index
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.data import Positives
from vizsla.learning.distillation import Teacher
from vizsla.methods.dense import dense
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.trainer import JpqTraining, clicked_gradients

torch = pytest.importorskip("torch", reason="the extra neural is not installed")

ITEMS, DIM = 80, 8
CLICKS = [{3: 1.0, 7: 3.0}, {5: 2.0}, {9: 1.0, 3: 1.0, 11: 2.0}, {20: 1.0, 21: 1.0}, {7: 5.0}]
CLICKS += [{40: 1.0, 3: 2.0, 2: 1.0}]
SETTINGS = {
    "batch": 3,
    "epochs": 3,
    "negatives": 12,
    "depth": 7,
    "sharpness": 1.7,
    "click_loss_weight": 0.3,
    "synthetic_queries": 0.7,
}
SETTINGS |= {"adapter_rate": 0.02, "centroid_rate": 0.05, "decay": 0.2, "warm_up": 0.5, "clip": 0.5}


@cache
def vectors():
    """Return items and queries near the first item that was clicked for each."""
    pick = np.random.default_rng(3)
    items = pick.standard_normal((ITEMS, DIM))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    queries = np.array([items[next(iter(clicked))] for clicked in CLICKS]) + 0.2 * pick.standard_normal((6, DIM))
    return items.astype(np.float32), (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)


@cache
def index():
    return PqIndex.build(vectors()[0], bytes=2, bits=4, rounds=3)


def teacher():
    items, queries = vectors()
    known = {f"i{number}": row for number, row in enumerate(items)} | {f"q{n}": row for n, row in enumerate(queries)}
    encoder = FunctionEncoder(lambda texts: [known[text] for text in texts], dim=DIM, name="known")
    found = dense({f"i{number}": f"i{number}" for number in range(ITEMS)}, encoder)
    return Teacher(found, Queries([f"q{number}" for number in range(len(CLICKS))]), depth=SETTINGS["depth"])


def relevant(clicks=CLICKS):
    offsets = np.concatenate([[0], np.cumsum([len(clicked) for clicked in clicks])])
    items = np.array([item for clicked in clicks for item in clicked], np.int32)
    return Positives.of(offsets, items, np.array([weight for clicked in clicks for weight in clicked.values()]))


@pytest.mark.parametrize(
    ("changes", "marked"),
    [
        ({}, False),
        ({"clip": 100.0, "sharpness": 0.6}, False),
        ({"click_loss_weight": 1.0, "loss": "lambdarank"}, False),
        ({"loss": "hinge", "synthetic_queries": 0.0}, False),
        ({"stage": "centroids", "loss": "ranknet"}, False),
        ({"stage": "loss", "synthetic_queries": 2.0}, False),
        ({"stage": "negatives"}, False),
        ({"stage": "negatives", "loss": "lambdarank"}, False),
        ({"click_loss_weight": 0.0}, False),
        ({}, True),
    ],
)
def test_three_steps_are_the_twins(changes, marked):
    settings = JpqSettings(**{**SETTINGS, **changes})
    items, rows = vectors()
    codes = index()
    if marked:
        clicked = np.isin(np.arange(ITEMS), [item for each in CLICKS for item in each])
        codes = marked_index(codes, items, clicked)
    taught = teacher() if settings.stage_click_loss_weight < 1 else None
    training = JpqTraining(codes, rows, settings, relevant=relevant(), teacher=taught, vectors=items)
    twin = JpqTwin(torch, codes, rows, CLICKS, items, settings)
    assert training.steps == 6
    # Rates rise over the first three of six steps, and then fall.
    for numbers, factor in zip(([0, 2, 5], [1, 3, 4], [0, 1, 2], [2, 4, 5]), (1 / 3, 2 / 3, 1.0, 1.0), strict=True):
        loss = training.step(np.array(numbers))
        assert loss == pytest.approx(twin.step(numbers, factor=factor), rel=1e-4)
        pairs = zip((training.adapter, training.centroids), twin.parameters, twin.moments, strict=True)
        for moved, values, (mean, square) in pairs:
            assert np.allclose(moved.mean, mean, rtol=1e-3, atol=1e-6)
            assert np.allclose(moved.square, square, rtol=1e-3, atol=1e-8)
            clear = np.abs(mean) > 1e-5
            assert np.allclose(moved.parameters[clear], values[clear], rtol=1e-3, atol=1e-4)
            assert clear.any() or np.array_equal(values, moved.start)
            if not clear.any():
                assert np.array_equal(moved.parameters, moved.start)


@pytest.mark.parametrize("click_loss_weight", [0.3, 1.0])
def test_recoding_sees_the_first_and_the_second_derivative_of_the_loss(click_loss_weight):
    """With one click per query both parts of the loss are softmaxes, whose curvatures torch can derive."""
    once = [{3: 1.0}, {5: 1.0}, {9: 1.0}, {20: 1.0}, {7: 1.0}, {40: 1.0}]
    changes = {"click_loss_weight": click_loss_weight, "synthetic_queries": 0.0, "reassignments": 1}
    settings = JpqSettings(**{**SETTINGS, **changes})
    items, rows = vectors()
    training = JpqTraining(index(), rows, settings, relevant=relevant(once), teacher=teacher(), vectors=items)
    twin = JpqTwin(torch, index(), rows, once, items, settings)
    seen, clicked = clicked_gradients(training), [item for each in once for item in each]
    found = np.zeros((2, len(once), ITEMS))
    np.add.at(found[0], (seen.queries, seen.items), seen.slopes)
    np.add.at(found[1], (seen.queries, seen.items), seen.curvatures)
    assert np.flatnonzero(found[1].any(axis=0)).tolist() == sorted(clicked), "of clicked items alone"
    scores = twin._scores(twin._tensors(), twin.rows).detach()
    for query, each in enumerate(once):
        order = np.argsort(-scores[query].numpy(), kind="stable").tolist()
        negatives = [item for item in order if item not in each][: settings.negatives]

        def loss(given, query=query, each=each, negatives=negatives):
            given = given * settings.sharpness / twin.spread
            total = click_loss_weight * twin._click_loss(given, each, negatives)
            return total + (1 - click_loss_weight) * twin._divergence(query, given, each, negatives)

        slopes = torch.autograd.functional.jacobian(loss, scores[query]).numpy()
        curvatures = torch.diagonal(torch.autograd.functional.hessian(loss, scores[query])).numpy()
        assert np.allclose(found[0, query, clicked], slopes[clicked], rtol=1e-3, atol=1e-6)
        assert np.allclose(found[1, query, clicked], curvatures[clicked], rtol=1e-3, atol=1e-6)
        assert (curvatures[clicked] > 1e-3).any()
