"""Codes that follow: clicked items are coded anew between epochs, all others stay as a new item would be coded."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from tests.methods.jpq.catalog import CLICKS, ENCODER, coded, flat, reciprocal_rank
from tests.methods.jpq.test_resume import StoppedError, stop_after
from vizsla.errors import FormatError, InputError
from vizsla.learning.loop import TrainingState
from vizsla.methods.jpq.model import Jpq
from vizsla.methods.jpq.settings import JpqSettings
from vizsla.methods.jpq.train_jpq import jpq, train_jpq
from vizsla.methods.jpq.trainer import JpqTraining

TRAIN = [click for click in CLICKS if int(click[0][1:]) < 1200]
WARM = [number for number in range(1200, 1500) if number % 600 < 540]
CLICKED = np.arange(600) < 540
FAST = {"teacher": flat(), "click_loss_weight": 0.5, "epochs": 3, "batch": 64, "negatives": 30, "depth": 20}
ONCE = FAST | {"reassignments": 2, "stop": 3}


@pytest.fixture(scope="module")
def followed() -> Jpq:
    return train_jpq(coded(bits=4), TRAIN, **ONCE)


def test_queries_to_come_gain(followed):
    plain = train_jpq(coded(bits=4), TRAIN, **FAST | {"stop": 3})
    assert np.array_equal(plain.index.codes, coded(bits=4).index.codes)
    assert reciprocal_rank(followed, WARM) > reciprocal_rank(plain, WARM)


@pytest.mark.parametrize("bits", [8, 4])
def test_only_clicked_items_are_coded_anew(followed, bits):
    found = followed if bits == 4 else train_jpq(coded(), TRAIN, **ONCE)
    changed = (found.index.codes != coded(bits=bits).index.codes).any(axis=1)
    assert changed[CLICKED].any() and not changed[~CLICKED].any()


def test_new_items_are_coded_as_those_without_clicks_are(followed, tmp_path):
    loaded = Jpq.load(followed.save(tmp_path / "saved")).with_encoder(ENCODER)
    assert loaded(["q3", "q599"], 9) == followed(["q3", "q599"], 9)
    grown = loaded.index.with_items(flat().item_rows()[540:])
    assert np.array_equal(grown.codes[600:], followed.index.codes[540:])
    assert np.array_equal(grown.codes[:600], followed.index.codes)


def test_marked_items_stay_marked():
    found = train_jpq(coded(), TRAIN, clicked_margin=0.5, **ONCE)
    still = train_jpq(coded(), TRAIN, clicked_margin=0.5, **ONCE | {"reassignments": 0})
    assert np.array_equal(found.index.take(slice(None))[:, -1] > 0, CLICKED)
    changed = (found.index.codes != still.index.codes).any(axis=1)
    assert changed[CLICKED].any() and not changed[~CLICKED].any()


@pytest.mark.parametrize("steps", [20, 45])
def test_a_stopped_training_ends_with_the_same_bits(tmp_path, steps):
    how = FAST | {"reassignments": 2}
    whole = train_jpq(coded(), TRAIN, **how)
    with pytest.raises(StoppedError):
        train_jpq(coded(), TRAIN, checkpoint=tmp_path / "state", watch=stop_after(steps), **how)
    resumed = train_jpq(coded(), TRAIN, checkpoint=tmp_path / "state", **how)
    assert np.array_equal(resumed.index.codes, whole.index.codes)
    assert np.array_equal(resumed.index.centroids, whole.index.centroids)
    assert resumed.encoder.fingerprint == whole.encoder.fingerprint and resumed.choice == whole.choice


@pytest.mark.parametrize("wrong", [256.0, -1.0, 0.5])
def test_a_checkpoint_with_codes_of_nothing_is_refused(tmp_path, wrong):
    once = ONCE | {"stop": 1, "checkpoint": tmp_path / "state"}
    train_jpq(coded(), TRAIN, **once)
    path = next((tmp_path / "state").iterdir())
    whole = TrainingState.load(path, mmap=False)
    codes = whole.arrays["codes"].copy()
    codes[3] = wrong
    TrainingState(whole.key, whole.steps, whole.arrays | {"codes": codes}, whole.measured).save(path, overwrite=True)
    with pytest.raises(FormatError, match="'codes' that stand for centroids"):
        train_jpq(coded(), TRAIN, **once)


@pytest.mark.parametrize(("bits", "bytes", "wanted"), [(8, 8, 1), (4, 8, 1), (8, 9, 0)])
def test_codes_follow_by_themselves_where_they_are_short(bits, bytes, wanted):
    brief = {"click_loss_weight": 0.5, "epochs": 1, "stop": 1, "batch": 512, "negatives": 10, "depth": 10}
    found = jpq(flat(), TRAIN[:200], bits=bits, bytes=bytes, rounds=1, **brief)
    assert found.settings.reassignments == wanted
    same = train_jpq(coded(bits, bytes), TRAIN[:200], teacher=flat(), reassignments="auto", **brief)
    assert same.settings.reassignments == wanted
    assert train_jpq(coded(bits, bytes), TRAIN[:200], teacher=flat(), **brief).settings.reassignments == 0


def test_the_docs_say_what_auto_does():
    """The docstring and the page name the figures that the behavior above has: one recoding, up to 8 bytes."""
    said = " ".join(train_jpq.__doc__.split())
    assert '"auto" is 1 where items have at most 8 bytes' in said
    page = " ".join((Path(__file__).parents[3] / "docs/methods/jpq.md").read_text().split())
    assert '`reassignments="auto"`: one recoding where items have at most 8 bytes' in page
    assert inspect.signature(train_jpq).parameters["reassignments"].default == 0
    assert inspect.signature(jpq).parameters["reassignments"].default is None, "which is auto, where there are vectors"


@pytest.mark.parametrize("how", [{"stage": "centroids"}, {"stage": "negatives"}, {"paper": True}, {"clicks": None}])
def test_codes_stay_where_nothing_was_measured(how):
    brief = {"epochs": 1, "stop": 1, "batch": 512, "negatives": 10, "depth": 10, "teacher": flat()}
    clicks = how.get("clicks", TRAIN[:200])
    more = {name: value for name, value in how.items() if name != "clicks"} | {"queries": ["q1", "q2"]}
    assert train_jpq(coded(), clicks, reassignments="auto", **brief, **more).settings.reassignments == 0


def test_it_needs_clicks_and_scores_of_codes():
    with pytest.raises(InputError, match="`reassignments` must be 0 without clicks. Got 1"):
        train_jpq(coded(), queries=["q1", "q2"], teacher=flat(), epochs=1, reassignments=1)
    with pytest.raises(InputError, match='`reassignments` must be 0 at the stage "negatives". Got 1'):
        JpqSettings(stage="negatives", reassignments=1)
    with pytest.raises(InputError, match="`reassignments` must be"):
        JpqSettings(reassignments=-1)
    for wrong in ("some", 1.5, True):
        with pytest.raises(InputError, match="`reassignments` must be"):
            train_jpq(coded(), TRAIN, teacher=flat(), reassignments=wrong)


@pytest.mark.parametrize("reassignments", [0, 1, 2, 5])
def test_codes_follow_before_so_many_epochs_the_first_excepted(monkeypatch, reassignments):
    begun, recode = [], JpqTraining.recode

    def noted(self):
        begun.append(divmod(self.steps_done, -(-len(self.rows) // self.settings.batch)))
        recode(self)

    monkeypatch.setattr(JpqTraining, "recode", noted)
    train_jpq(coded(), TRAIN[:300], **FAST | {"reassignments": reassignments, "epochs": 4, "stop": 4})
    assert begun == [(epoch, 0) for epoch in range(1, min(reassignments, 3) + 1)]
