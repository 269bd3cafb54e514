"""SiDR joins the race where a model is given, as far as the time allows."""

from __future__ import annotations

import json
import random

import pytest

import vizsla
from tests.autopilot.test_learn import FEW
from vizsla.autopilot.delivery import Winner, as_stored, lock_of
from vizsla.autopilot.fusing import SearchPlan
from vizsla.autopilot.proposals import Workshop
from vizsla.autopilot.sidr_candidate import SIDR, model_bindings, sidr_plan
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError

pytest.importorskip("torch", reason="the extra neural is not installed")
tiny = pytest.importorskip("tests.methods.sidr.tiny")

ASKED = "fig auto please 3 4"


def clicked(count: int = 240) -> Dataset:
    """Return clicks whose queries name the thing by another word."""
    draw, names = random.Random(1), list(tiny.WORDS)
    log = []
    for _ in range(count):
        fruit, word = draw.choice(tiny.FRUIT), draw.choice(names)
        said = f"{fruit} {word} please {draw.randrange(10)} {draw.randrange(10)}"
        log.append((said, f"{fruit}-{tiny.WORDS[word]}"))
    return Dataset.of(tiny.ITEMS, clicks=log)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr("vizsla.autopilot.learn.proposed", lambda *_, **__: {"bm25": FEW["bm25"]})


def test_a_model_joins_and_stands_in_the_engine(few, tmp_path):
    data, path = clicked(), tmp_path / "fruit"
    with vizsla.learn(data, path, time="10m", model=tiny.model_folder(head=True), runners_up=True) as engine:
        tried = {one["name"] for one in engine.report.trials}
        assert tried == {"bm25", SIDR}
        answer = engine.search(ASKED, using=SIDR, k=3).ids
    with vizsla.Engine.open(path, maintenance="manual") as again:
        assert again.search(ASKED, using=SIDR, k=3).ids == answer


def test_replay_trains_the_same_model(tmp_path):
    data, model = clicked(), tiny.model_folder(head=True)
    bindings = model_bindings(model)
    plan = sidr_plan(data, bindings, 600.0)
    winner = Winner.of(SearchPlan(SIDR, (SIDR,)), {SIDR: plan.candidate})
    made = winner.composed(Workshop(as_stored(data), winner.candidates, bindings=bindings))
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps(lock_of(winner, data, made, seed=0)), encoding="utf-8")
    again = vizsla.learn(data, model=model, replay=lock)  # raises where the digest differs
    assert again(ASKED, k=3).ids == made(ASKED, k=3).ids


def test_training_that_takes_too_long_is_left_out():
    plan = sidr_plan(clicked(), model_bindings(tiny.model_folder(head=True)), 1e-3)
    assert plan.candidate is None
    assert "the time allows 0 of" in plan.said


def test_a_model_must_be_a_checkpoint(tmp_path):
    with pytest.raises(InputError, match="`model` must be the folder"):
        vizsla.learn(clicked(), model=tmp_path)
