"""Training: what it wins back, what it leaves alone, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.jpq.catalog import CLICKS, ENCODER, IDS, coded, dataset, flat, reciprocal_rank
from vizsla.errors import InputError
from vizsla.learning.clicks import WEIGHT_UNITS
from vizsla.learning.selection import ChoiceWarning
from vizsla.learning.splits import log_splits
from vizsla.methods.dense import dense
from vizsla.methods.jpq.train_jpq import jpq, train_jpq
from vizsla.methods.jpq.training_data import HeldOutClicks, log_and_queries, lost_clicks
from vizsla.methods.pefa import pefa_xl, pefa_xs

HELD = [number for number in range(1200, 1500) if number % 600 < 540]
"""Queries whose items others clicked; none of them is trained on."""
COLD = [number for number in range(1500) if number % 600 >= 540]
TRAIN = [click for click in CLICKS if int(click[0][1:]) < 1200]
FAST = {"epochs": 4, "stop": 4, "batch": 64, "negatives": 30, "depth": 20}


@pytest.mark.parametrize("bits", [8, 4])
def test_training_wins_back_what_coding_lost(bits):
    base = coded(bits)
    trained = train_jpq(base, TRAIN, teacher=flat(), click_loss_weight=0.5, **FAST)
    for queries in (HELD, COLD):
        lost = reciprocal_rank(flat(), queries) - reciprocal_rank(base, queries)
        assert reciprocal_rank(trained, queries) > reciprocal_rank(base, queries) + 0.1 * lost


def test_training_leaves_the_codes_and_the_base_alone():
    base = coded()
    before = base.index.centroids.copy()
    trained = train_jpq(base, TRAIN, teacher=flat(), click_loss_weight=0.5, **FAST | {"stop": 1})
    assert trained.index.codes.tobytes() == base.index.codes.tobytes()
    assert np.array_equal(base.index.centroids, before)
    assert np.array_equal(trained.index.coder.centroids, before)
    assert not np.array_equal(trained.index.centroids, before)


def test_the_same_seed_gives_the_same_bits():
    one, other = (
        train_jpq(coded(), TRAIN, teacher=flat(), click_loss_weight=0.5, **FAST | {"stop": 1}) for _ in range(2)
    )
    assert one.encoder.fingerprint == other.encoder.fingerprint
    assert np.array_equal(one.index.centroids, other.index.centroids)


def test_what_is_chosen_is_chosen_on_held_out_clicks():
    trained = train_jpq(coded(), TRAIN, teacher=flat(), **FAST | {"stop": None, "epochs": 2})
    choice = trained.choice
    assert choice.trials[0]["epochs"] == 0
    assert {trial["click_loss_weight"] for trial in choice.trials[1:]} == {0.3, 0.7}
    assert (trained.settings.click_loss_weight, trained.settings.stop) == (
        choice.chosen["click_loss_weight"],
        choice.chosen["epochs"],
    )
    assert choice.chosen["warm"] >= choice.trials[0]["warm"] and choice.chosen["cold"] >= choice.trials[0]["cold"]


@pytest.mark.parametrize(
    ("qualities", "taken", "best"),
    [([0.3, 0.5, 0.6, 0.55, 0.9], 3, 2), ([0.3, 0.2, 0.1, 0.9], 2, 0), ([0.3, 0.5, 0.5, 0.6, 0.7], 4, 4)],
)
def test_an_epoch_that_is_worse_than_the_one_before_is_the_last(qualities, taken, best, monkeypatch):
    """However good it still is against the first; what was best is taken."""
    left = iter(qualities)
    monkeypatch.setattr(HeldOutClicks, "measured", lambda held, *_: [np.full(len(held.rows), next(left))])
    how = {"epochs": 4, "batch": 400, "negatives": 10, "depth": 10}
    choice = train_jpq(coded(), TRAIN, teacher=flat(), click_loss_weight=0.5, **how).choice
    assert [trial["epochs"] for trial in choice.trials] == list(range(taken + 1))
    assert choice.chosen["epochs"] == best


def test_no_epoch_is_the_base():
    trained = train_jpq(coded(), TRAIN, teacher=flat(), click_loss_weight=0.5, **FAST | {"stop": 0})
    queries = [f"q{number}" for number in range(20)]
    assert trained(queries, 5).ids == coded()(queries, 5).ids


@pytest.mark.parametrize("loss", ["lambdarank", "ranknet", "hinge", "softmax"])
def test_every_loss_learns_from_clicks(loss):
    trained = train_jpq(coded(), TRAIN, click_loss_weight=1.0, loss=loss, **FAST | {"stop": 2})
    assert reciprocal_rank(trained, HELD) > reciprocal_rank(coded(), HELD)


def test_the_stages_train_what_they_say():
    how = {"teacher": flat(), "click_loss_weight": 0.5, **FAST, "stop": 1}
    first, second, third, last = (
        train_jpq(coded(), TRAIN, stage=stage, **how) for stage in ("negatives", "loss", "centroids", "distillation")
    )
    start = coded().index.centroids
    assert np.array_equal(first.index.centroids, start) and np.array_equal(second.index.centroids, start)
    assert not np.array_equal(third.index.centroids, start)
    assert len({each.encoder.fingerprint for each in (first, second, third, last)}) == 4


def test_without_clicks_the_teacher_is_followed():
    queries = [click[0] for click in TRAIN]
    trained = train_jpq(coded(), queries=queries, teacher=flat(), **FAST)
    assert trained.settings.click_loss_weight == 0 and trained.choice is None
    assert reciprocal_rank(trained, HELD + COLD) > reciprocal_rank(coded(), HELD + COLD)


def test_without_any_query_pieces_of_the_items_serve():
    without = dataset().__class__.of({name: name for name in IDS})
    trained = train_jpq(coded(), without, **FAST | {"stop": 1})
    assert trained.settings.click_loss_weight == 0


def test_a_datasets_items_are_the_teacher_unless_one_is_given():
    trained = train_jpq(coded(), dataset(), click_loss_weight=0.5, **FAST | {"stop": 1})
    given = train_jpq(coded(), dataset(), click_loss_weight=0.5, teacher=flat(), **FAST | {"stop": 1})
    assert trained.encoder.fingerprint == given.encoder.fingerprint


def test_pefa_teaches_and_pefa_follows():
    teacher = pefa_xs(flat(), TRAIN, weight=0.8, calibrated=True)
    trained = train_jpq(coded(), TRAIN, teacher=teacher, click_loss_weight=0.5, **FAST)
    adapted = pefa_xl(trained, TRAIN, weight=0.5, neighbors=5, votes="max", near=0.5, threshold=0.1)
    assert reciprocal_rank(adapted, HELD) >= reciprocal_rank(trained, HELD) - 0.02
    assert len(adapted("q3", 5)[0]) == 5


def test_jpq_compresses_and_trains_at_once():
    small = jpq(flat(), TRAIN, bytes=2, click_loss_weight=0.5, **FAST | {"stop": 1})
    assert small.index.compression == 64 and small.index.coder is not small.index.codebook


def test_the_papers_numbers_are_a_switch_and_may_be_changed():
    trained = train_jpq(coded(), TRAIN, paper=True, **FAST | {"stop": 1, "negatives": 50})
    how = trained.settings
    assert (how.loss, how.stage, how.synthetic_queries, how.click_loss_weight) == ("lambdarank", "centroids", 0, 1)
    assert (how.adapter_rate, how.centroid_rate, how.negatives) == (5e-6, 5e-6, 50)


def test_few_clicks_are_no_ground_to_choose_on():
    with pytest.warns(ChoiceWarning, match="at least 5"):
        train_jpq(coded(), TRAIN[:3], teacher=flat(), **FAST | {"stop": None, "epochs": 1})


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(InputError, match="over a PqIndex"):
        train_jpq(flat(), TRAIN)
    with pytest.raises(InputError, match="must be left alone: the base holds codes"):
        jpq(coded(), TRAIN, bytes=4)
    with pytest.raises(InputError, match="`click_loss_weight` must be 1 without a teacher"):
        train_jpq(coded(), TRAIN, click_loss_weight=0.5)
    with pytest.raises(InputError, match="`click_loss_weight` must be 0 without clicks"):
        train_jpq(coded(), queries=["q1"], teacher=flat(), click_loss_weight=0.5)
    with pytest.raises(InputError, match="`teacher` must be given"):
        train_jpq(coded(), queries=["q1"])
    with pytest.raises(InputError, match="to train on"):
        train_jpq(coded(), teacher=flat())
    with pytest.raises(InputError, match="`loss` must be"):
        train_jpq(coded(), TRAIN, teacher=flat(), loss="square")
    with pytest.raises(InputError, match="`teacher` must be over the base's items"):
        train_jpq(coded(), TRAIN, teacher=dense({"i1": "i1"}, ENCODER))


@pytest.mark.parametrize("seed", [0, 1])
def test_clicks_are_left_or_lost_with_their_weights(seed):
    """What a teacher is to forget is what is held out, click by click, as it was given."""
    rng = np.random.default_rng(seed)
    pairs = {(f"q{rng.integers(30)}", IDS[rng.integers(20)]) for _ in range(90)}
    clicks = [(query, item, float(rng.integers(1, 9)) / 2) for query, item in sorted(pairs)]
    log, _ = log_and_queries(clicks, None, coded().items, ENCODER)
    for split in log_splits(log, cold=0.5, seed=seed):
        lost = lost_clicks(log, split, coded().items)
        left = split.train
        kept = zip(left.take_queries(left.rows), coded().items.take(left.items), left.units / WEIGHT_UNITS, strict=True)
        assert lost and sorted([*lost, *((*pair, float(weight)) for *pair, weight in kept)]) == clicks
