"""Checkpoints: a training that was stopped goes on to the very same bits."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.jpq.catalog import CLICKS, coded, flat
from vizsla.errors import FormatError, InputError
from vizsla.learning.loop import TrainingState
from vizsla.methods.jpq.train_jpq import prepared_run, train_jpq, trained_retriever
from vizsla.methods.pefa import pefa_xs

HOW = {"teacher": flat(), "epochs": 3, "batch": 128, "negatives": 20, "depth": 10, "click_loss_weight": 0.5}


class StoppedError(Exception):
    """What ends a training in the middle."""


def stop_after(steps):
    seen = []

    def watch(watched):
        seen.append(watched)
        if len(seen) == steps:
            raise StoppedError

    return watch


@pytest.fixture(scope="module")
def whole():
    return train_jpq(coded(), CLICKS, **HOW)


@pytest.mark.parametrize("steps", [2, 14, 45])
def test_a_stopped_training_ends_with_the_same_bits(whole, tmp_path, steps):
    with pytest.raises(StoppedError):
        train_jpq(coded(), CLICKS, checkpoint=tmp_path / "state", watch=stop_after(steps), **HOW)
    resumed = train_jpq(coded(), CLICKS, checkpoint=tmp_path / "state", **HOW)
    assert resumed.encoder.fingerprint == whole.encoder.fingerprint
    assert np.array_equal(resumed.index.centroids, whole.index.centroids)
    assert resumed.choice == whole.choice and resumed.settings == whole.settings


def test_the_best_so_far_is_there_when_a_run_is_interrupted():
    run = prepared_run(coded(), CLICKS, watch=stop_after(25), **HOW)
    with pytest.raises(StoppedError):
        run.run()
    kept = trained_retriever(coded(), run, run.best)
    assert len(kept("q1", 5)[0]) == 5
    assert kept.choice.measure == "MRR@10"


def test_a_checkpoint_of_another_training_is_refused(tmp_path):
    train_jpq(coded(), CLICKS, checkpoint=tmp_path / "state", **HOW | {"stop": 1})
    with pytest.raises(InputError, match="settings and data"):
        train_jpq(coded(), CLICKS[:-50], checkpoint=tmp_path / "state", **HOW | {"stop": 1})
    with pytest.raises(InputError, match="settings and data"):
        another = pefa_xs(flat(), CLICKS, weight=0.5, calibrated=False)
        train_jpq(coded(), CLICKS, checkpoint=tmp_path / "state", **HOW | {"stop": 1, "teacher": another})


def test_every_step_is_watched():
    seen = []
    train_jpq(coded(), CLICKS, watch=seen.append, **HOW)
    assert {each.phase for each in seen} == {"trial, share 0.5", "all clicks"}
    assert all(np.isfinite(each.loss) for each in seen)


def test_what_is_measured_is_shown_with_what_was_trained():
    seen = []
    trained = train_jpq(
        coded(), CLICKS, watch=seen.append, **HOW | {"click_loss_weight": "auto", "clicked_margin": "auto", "epochs": 2}
    )
    assert trained.choice.trials[0]["epochs"] == 0 and {each.phase for each in seen if each.kinds} == {
        "trial, share 0.3",
        "trial, share 0.7",
    }
    shown = [each.kinds for each in seen if each.kinds]
    tried = [{kind: trial[kind] for kind in ("all", "warm", "cold")} for trial in trained.choice.trials]
    assert all(each in tried for each in shown)  # an epoch's best clicked_margin, by the rule that chooses in the end
    assert {kind: trained.choice.chosen[kind] for kind in ("all", "warm", "cold")} in shown


def test_a_checkpoint_that_lacks_something_is_refused(tmp_path):
    once = HOW | {"stop": 1, "checkpoint": tmp_path / "state"}
    train_jpq(coded(), CLICKS, **once)
    path = next((tmp_path / "state").iterdir())
    whole = TrainingState.load(path, mmap=False)
    for name in ("adapter", "centroids", "centroids_mean"):
        for values in (None, whole.arrays[name][:-1], np.full_like(whole.arrays[name], np.nan)):
            arrays = whole.arrays | {name: values}
            kept = {key: value for key, value in arrays.items() if value is not None}
            TrainingState(whole.key, whole.steps, kept, whole.measured).save(path, overwrite=True)
            with pytest.raises(FormatError, match=f"must hold '{name}'"):
                train_jpq(coded(), CLICKS, **once)


def test_an_epoch_is_kept_when_nothing_is_held_out():
    run = prepared_run(coded(), CLICKS, watch=stop_after(12), **HOW | {"stop": 3})
    with pytest.raises(StoppedError):
        run.run()
    assert run.best is not None


def test_a_trial_stops_when_held_out_clicks_get_worse():
    seen = []
    how = HOW | {"epochs": 12, "adapter_rate": 0.1, "centroid_rate": 0.1}
    trained = train_jpq(coded(), CLICKS, watch=seen.append, **how)
    tried = [trial["all"] for trial in trained.choice.trials[1:]]
    assert len(tried) < 12
    assert tried[-1] < tried[-2] and tried[:-1] == sorted(tried[:-1])


def test_a_checkpoint_that_no_folder_can_be_is_refused_before_training(tmp_path):
    (tmp_path / "file").write_text("")
    for wrong in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match="`checkpoint` must be a folder"):
            train_jpq(coded(), CLICKS, checkpoint=wrong, watch=stop_after(1), **HOW)
