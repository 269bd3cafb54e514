"""What items with clicks must be better by: chosen on held-out clicks, kept in the artifact."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.jpq.catalog import CLICKS, ENCODER, IDS, coded, flat, reciprocal_rank
from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.adapted import AdaptedEncoder
from vizsla.errors import InputError
from vizsla.methods.dense import dense
from vizsla.methods.jpq.model import Jpq
from vizsla.methods.jpq.train_jpq import CLICKED_MARGINS, prepared_run, train_jpq
from vizsla.methods.pefa import pefa_xs

COLD = [number for number in range(1500) if number % 600 >= 540]
TRAIN = [click for click in CLICKS if int(click[0][1:]) < 1200]
FAST = {"teacher": flat(), "click_loss_weight": 0.5, "epochs": 2, "batch": 64, "negatives": 30, "depth": 20}


@pytest.fixture(scope="module")
def held_back() -> Jpq:
    return train_jpq(coded(), TRAIN, clicked_margin=1.0, stop=1, **FAST)


def test_items_without_clicks_gain(held_back):
    plain = train_jpq(coded(), TRAIN, stop=1, **FAST)
    assert reciprocal_rank(held_back, COLD) > reciprocal_rank(plain, COLD)
    assert held_back.settings.clicked_margin == 1.0 and held_back.index.bytes == plain.index.bytes


def test_every_clicked_item_loses_the_same(held_back):
    assert isinstance(held_back.encoder, AdaptedEncoder)
    free = AdaptedEncoder(ENCODER, held_back.encoder.adapter)
    texts = ["q3", "q700"]
    gaps = (held_back.encoder.queries(texts) - free.queries(texts)) @ held_back.index.take(slice(None)).T
    clicked = np.arange(600) < 540
    assert (gaps[:, clicked] < -1e-3).all() and np.abs(gaps[:, ~clicked]).max() < 1e-6
    assert np.ptp(gaps[:, clicked]) < 1e-5


def test_it_is_saved_and_takes_new_items(held_back, tmp_path):
    held_back.save(tmp_path / "small")
    loaded = Jpq.load(tmp_path / "small").with_encoder(ENCODER)
    assert loaded(["q3", "q1499"], 9).ids == held_back(["q3", "q1499"], 9).ids
    assert loaded.settings == held_back.settings
    grown = loaded.with_items({"new": "i7"})
    assert grown.index.take(slice(600, None))[0, -1] == 0
    assert "new" in grown("i7", 5).ids[0]


def test_it_is_chosen_on_held_out_clicks():
    trained = train_jpq(coded(), TRAIN, clicked_margin="auto", **FAST)
    trials = trained.choice.trials
    assert [trial["clicked_margin"] for trial in trials[: len(CLICKED_MARGINS)]] == list(CLICKED_MARGINS)
    assert trained.settings.clicked_margin == trained.choice.chosen["clicked_margin"]
    assert trained.index.dim == (33 if trained.settings.clicked_margin else 32)


def test_a_pefa_teacher_has_not_seen_what_is_held_out():
    teacher = pefa_xs(flat(), TRAIN, weight=0.5, calibrated=False)
    run = prepared_run(coded(), TRAIN, **FAST | {"teacher": teacher})
    held = run.trial.held
    seen = run.trial.training_data.teacher.retriever.log
    assert not set(held.texts) & set(seen.queries)
    assert set(held.relevant.items[held.cold, 0].tolist()).isdisjoint(np.flatnonzero(seen.clicked).tolist())
    assert set(seen.queries) == set(run.trial.training_data.texts)


@pytest.mark.parametrize("clicks", [None, TRAIN])
def test_without_clicks_or_vectors_there_is_none(clicks):
    given = {"queries": ["q1", "q2"], "teacher": flat()} if clicks is None else {}
    with pytest.raises(
        InputError, match="`clicked_margin` must be 0 without clicks and a teacher with vectors. Got 0.5"
    ):
        train_jpq(coded(), clicks, clicked_margin=0.5, epochs=1, stop=1, **given)
    assert train_jpq(coded(), clicks, clicked_margin="auto", epochs=1, stop=1, **given).settings.clicked_margin == 0


@pytest.mark.parametrize("wrong", [True, -1, "some"])
def test_what_is_no_handicap_is_refused(wrong):
    with pytest.raises(InputError, match="`clicked_margin` must be"):
        train_jpq(coded(), TRAIN, clicked_margin=wrong, stop=1, **FAST)


def test_marked_codes_are_not_marked_again():
    marked = train_jpq(coded(), CLICKS, teacher=flat(), click_loss_weight=0.5, clicked_margin=0.5, epochs=1, stop=1)
    with pytest.raises(InputError, match="codes without marks.*call `jpq` on the uncompressed retriever again"):
        train_jpq(marked, CLICKS, teacher=flat(), click_loss_weight=0.5, epochs=1, stop=1)


def test_vectors_of_another_encoder_are_no_vectors_of_these_items():
    doubled = FunctionEncoder(lambda texts: np.repeat(ENCODER.queries(texts), 2, axis=1), dim=64, name="doubled")
    other = dense({name: name for name in IDS}, doubled)
    how = {"teacher": other, "click_loss_weight": 0.5, "epochs": 1, "stop": 1}
    assert len(train_jpq(coded(), CLICKS, **how)("q1", k=3)) == 1  # they teach, but nothing else
    with pytest.raises(InputError, match="a teacher with vectors"):
        train_jpq(coded(), CLICKS, clicked_margin=0.5, **how)


@pytest.mark.parametrize("clicked_margin", [0.5, 2.0])
def test_it_is_in_units_of_the_spread_of_a_querys_best_scores(clicked_margin):
    found = train_jpq(coded(), TRAIN, clicked_margin=clicked_margin, stop=1, **FAST)
    free = AdaptedEncoder(ENCODER, found.encoder.adapter)
    loss = (free.queries(["q3"]) - found.encoder.queries(["q3"])) @ found.index.take(slice(None)).T
    asked = list(dict.fromkeys(query for query, *_ in TRAIN))[:256]
    best = np.reshape(coded()(asked, FAST["depth"]).scores, (len(asked), -1))
    spread = np.median(best.std(axis=1))
    assert loss[0, 0] == pytest.approx(clicked_margin * spread, rel=0.15), "codes with marks are a little different"
