"""Training: it learns, resumes to the same result, and its parts are what they should be."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sidr.tiny import dataset, model_folder, tiny_bag
from vizsla import FunctionEncoder, dense
from vizsla.errors import InputError
from vizsla.methods.sidr.train import train_sidr

pytest.importorskip("torch")

FAST = {"epochs": 2, "batch": 16, "vectors": 4, "tokens": 20, "max_tokens": 12, "table_epochs": 0, "rate": 3e-3}
FAST |= {"head_rate": 1e-2, "bias_rate": 1e-2, "retrieved": 5}


@pytest.fixture(scope="module")
def trained():
    losses = []
    found = train_sidr(tiny_bag(), dataset(), model_folder(), watch=lambda one: losses.append(one.loss), **FAST)
    return found, losses


def test_the_loss_falls(trained):
    _, losses = trained
    assert np.mean(losses[-3:]) < np.mean(losses[:3])


def test_the_lists_are_shared(trained):
    assert trained[0].index.segments[0].rows() == tiny_bag().index.segments[0].rows()


def test_the_same_seed_gives_the_same_encoder(trained):
    again = train_sidr(tiny_bag(), dataset(), model_folder(), **FAST)
    assert again.encoder.fingerprint == trained[0].encoder.fingerprint


def test_a_stopped_run_goes_on_to_the_same_result(trained, tmp_path, monkeypatch):
    monkeypatch.setattr("vizsla.methods.sidr.run.SAVE_EVERY", 1)

    def stop(one):
        if one.step == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_sidr(tiny_bag(), dataset(), model_folder(), checkpoint=tmp_path / "c", watch=stop, **FAST)
    steps = []
    resumed = train_sidr(
        tiny_bag(), dataset(), model_folder(), checkpoint=tmp_path / "c", watch=lambda w: steps.append(w.step), **FAST
    )
    assert steps[0] == 4  # step 4 was not saved before the break
    assert resumed.encoder.fingerprint == trained[0].encoder.fingerprint


def test_a_checkpoint_of_other_settings_is_refused(tmp_path):
    options = {**FAST, "epochs": 1}
    train_sidr(tiny_bag(), dataset(), model_folder(), checkpoint=tmp_path / "c", **options)
    with pytest.raises(InputError, match="same settings"):
        train_sidr(tiny_bag(), dataset(), model_folder(), checkpoint=tmp_path / "c", **{**options, "batch": 8})


@pytest.mark.parametrize(
    "changes",
    [
        {"semi_parametric": False},
        {"retrieved": 0},
        {"retrieved": 1},
        {"table_epochs": 1},
        {"masked_steps": 2},
        {"frozen_layers": 1, "dropout": 0.1},
    ],
)
def test_every_switch_trains(changes):
    found = train_sidr(tiny_bag(), dataset(), model_folder(), **{**FAST, "epochs": 1, **changes})
    assert len(found("fig auto", k=3).ids[0]) == 3


def test_a_checkpoint_with_a_head_keeps_it():
    found = train_sidr(tiny_bag(), dataset(), model_folder(head=True), **{**FAST, "epochs": 1})
    assert len(found("fig auto", k=3).ids[0]) == 3


def test_a_teacher_is_imitated():
    lengths = FunctionEncoder(lambda texts: [[len(t), 1.0] for t in texts], dim=2, name="length")
    from tests.sidr.tiny import ITEMS

    taught = train_sidr(tiny_bag(), dataset(), model_folder(), teacher=dense(ITEMS, lengths), **{**FAST, "epochs": 1})
    plain = train_sidr(tiny_bag(), dataset(), model_folder(), **{**FAST, "epochs": 1})
    assert taught.encoder.fingerprint != plain.encoder.fingerprint


def test_items_with_an_answer_are_no_negatives():
    from vizsla.methods.bag.clicked import Clicked
    from vizsla.methods.sidr.prepare import prepared
    from vizsla.methods.sidr.settings import SidrSettings
    from vizsla.methods.sidr.train import _texts

    bag, data = tiny_bag(), dataset()
    clicked = Clicked.of(data, bag.items)
    answers = {clicked.texts[0]: ["Plum"]}
    lessons = prepared(bag, clicked, _texts(bag, data), SidrSettings(**FAST), answers).lessons
    items = np.arange(len(bag.items))
    right = lessons.are_right(np.array([0]), items)[0]
    clicks = lessons.are_clicks(np.array([0]), items)[0]
    assert (right == (clicks | np.array(["plum" in item for item in bag.items]))).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"max_tokens": 40}, "max_tokens"), ({"epochs": 0}, "epochs"), ({"folds": 1}, "folds"), ({"rate": -1}, "rate")],
)
def test_wrong_settings_are_refused(changes, message):
    with pytest.raises(InputError, match=f"`{message}`"):
        train_sidr(tiny_bag(), dataset(), model_folder(), **{**FAST, **changes})


def test_a_bag_of_words_is_refused():
    from tests.sidr.tiny import ITEMS
    from vizsla import bag

    with pytest.raises(InputError, match="analyser=vizsla.WordPiece"):
        train_sidr(bag(ITEMS), dataset(), model_folder(), **FAST)
