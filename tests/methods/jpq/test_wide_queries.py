"""A query with hundreds of clicked items costs the others neither time nor negatives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.jpq.catalog import CLICKS, ITEMS, coded, flat
from vizsla.learning import losses
from vizsla.methods.jpq import trainer
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.train_jpq import prepared_run, train_jpq

FAST = {"teacher": flat(), "click_loss_weight": 0.5, "epochs": 1, "stop": 1, "batch": 64, "negatives": 30, "depth": 20}
EVERYTHING = [("q0", f"i{number}") for number in range(ITEMS)]


@pytest.fixture
def shapes(monkeypatch):
    """Collect how many relevant and other items each step looks at."""
    seen = []

    def spied(loss, relevant, others, weights):
        seen.append((relevant.shape[1], others.shape[1]))
        return losses.in_pieces(loss, relevant, others, weights)

    monkeypatch.setattr(trainer, "in_pieces", spied)
    return seen


def test_only_its_own_step_is_wide(shapes):
    found = train_jpq(coded(), CLICKS + EVERYTHING, **FAST)
    assert np.isfinite(found.index.centroids).all()
    assert sorted(shapes)[-1] == (ITEMS, 1), "nothing is irrelevant there but what fills the list"
    assert len(shapes) > 20 and set(sorted(shapes)[:-1]) == {(1, 30)}


def test_pieces_learn_what_the_whole_does(monkeypatch):
    whole = train_jpq(coded(), CLICKS + EVERYTHING[:300], **FAST)
    monkeypatch.setattr(losses, "MAX_PAIRS_PER_CHUNK", 1000)
    found = train_jpq(coded(), CLICKS + EVERYTHING[:300], **FAST)
    np.testing.assert_allclose(found.index.centroids, whole.index.centroids, atol=1e-5)


def test_padding_changes_no_bit():
    """Lists that are padded for no reason give the very same steps."""
    run = prepared_run(coded(), CLICKS, **FAST)
    relevant, settings = (
        run.training_data.relevant,
        JpqSettings(**{name: FAST[name] for name in FAST if name != "teacher"}),
    )
    padded = relevant._replace(
        items=np.pad(relevant.items, ((0, 0), (0, 40)), constant_values=-1),
        weights=np.pad(relevant.weights, ((0, 0), (0, 40))),
    )
    both = [
        trainer.JpqTraining(
            run.index, run.training_data.rows, settings, relevant=each, teacher=run.training_data.teacher
        )
        for each in (relevant, padded)
    ]
    assert list(both[0].epoch()) == list(both[1].epoch())
    assert np.array_equal(both[0].scores.centroids, both[1].scores.centroids)
