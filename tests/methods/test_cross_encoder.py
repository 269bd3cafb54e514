"""train_cross_encoder on a tiny BERT: it learns, it resumes to the same bits, Ctrl-C keeps the best."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.tiny_bert import WORDS, tiny_bert
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.learning.selection import ChoiceWarning
from vizsla.methods.bm25 import bm25

OPTIONS = {"batch": 8, "negatives": 3, "every": 4, "held_out": 12, "rate": 5e-3, "depth": 10}


def log(items: int = 30) -> Dataset:
    """Return queries that name the first word of what they clicked; BM25 finds any."""
    pick = random.Random(0)
    texts = {f"i{number}": " ".join(pick.sample(WORDS, 4)) for number in range(items)}
    asked = [(text.split()[0] + " " + pick.choice(WORDS), item) for item, text in texts.items() for _ in range(3)]
    queries = {f"q{number}": query for number, (query, _) in enumerate(asked)}
    clicks = {f"q{number}": {item: 1.0} for number, (_, item) in enumerate(asked)}
    return Dataset.of(texts, queries=queries, clicks=clicks)


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    return tiny_bert(tmp_path_factory.mktemp("bert") / "model", head=False)


def train(begun, folder, **options):
    from vizsla.methods.cross_encoder import train_cross_encoder

    return train_cross_encoder(log(), begun, folder, **{**OPTIONS, **options})


def scores(model):
    return model.scores(["fig pear", "tree"] * 3, [" ".join(WORDS[at : at + 4]) for at in range(6)])


@pytest.mark.parametrize("form", ["head", "dot"])
def test_the_loss_falls_and_the_best_is_kept(begun, form, tmp_path):
    seen = []
    model = train(begun, tmp_path / form, form=form, epochs=6, patience=50, watch=seen.append)
    losses = [each.loss for each in seen]
    assert np.mean(losses[-8:]) < np.mean(losses[:8])
    assert seen[-1].step == seen[-1].steps == len(seen)
    assert model.form == form and np.ptp(scores(model)) > 0


@pytest.mark.parametrize("form", ["head", "dot"])
def test_a_stopped_training_goes_on_to_the_same_bits(begun, form, tmp_path):
    whole = train(begun, tmp_path / "whole", form=form, epochs=2)

    def stop(seen):
        if seen.step == 6:
            raise RuntimeError("the machine went away")

    with pytest.raises(RuntimeError):
        train(begun, tmp_path / "parts", form=form, epochs=2, checkpoint=tmp_path / "state", watch=stop)
    parts = train(begun, tmp_path / "parts", form=form, epochs=2, checkpoint=tmp_path / "state")
    assert parts.fingerprint == whole.fingerprint and np.array_equal(scores(parts), scores(whole))
    texts = [item.default_text() for item in log().items]
    another = bm25(dict(zip(log().item_ids, [*texts[1:], texts[0]], strict=True)))
    for other in ({"epochs": 3}, {"epochs": 2, "retriever": another}):
        with pytest.raises(InputError, match="checkpoint"):
            train(begun, tmp_path / "other", form=form, checkpoint=tmp_path / "state", **other)


def test_ctrl_c_keeps_the_best_so_far(begun, tmp_path):
    def interrupt(step):
        def watch(seen):
            if seen.step == step:
                raise KeyboardInterrupt

        return watch

    with pytest.raises(KeyboardInterrupt):  # nothing was measured but the beginning
        train(begun, tmp_path / "early", watch=interrupt(2))
    assert not (tmp_path / "early").exists()
    kept = train(begun, tmp_path / "kept", watch=interrupt(5))
    assert (tmp_path / "kept").exists() and len(scores(kept)) == 6


def test_distillation_follows_a_teacher(begun, tmp_path):
    teacher, seen = bm25(log()), []
    train(begun, tmp_path / "taught", teacher=teacher, share=0.0, epochs=6, patience=50, watch=seen.append)
    losses = [each.loss for each in seen]
    assert np.mean(losses[-8:]) < np.mean(losses[:8])
    taken = len(seen)
    with pytest.raises(InputError, match="`teacher` must be given where `share` is below 1"):
        train(begun, tmp_path / "alone", share=0.5, watch=seen.append)
    assert len(seen) == taken


def test_what_cannot_be_learned_from_is_refused(begun, tmp_path):
    from vizsla.methods.cross_encoder import train_cross_encoder

    turned = bm25(dict(reversed([(item.id, item.default_text()) for item in log().items])))
    for name in ("retriever", "teacher"):
        with pytest.raises(InputError, match=f"`{name}` must be over the dataset's items, in their order"):
            train(begun, tmp_path / "wrong", share=0.5, **{"teacher": bm25(log()), name: turned})
    with pytest.raises(InputError, match="`dataset` must have clicks"):
        train_cross_encoder(Dataset.of({"a": "fig", "b": "tree"}), begun, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_stops_when_nothing_is_gained_and_says_so(begun, tmp_path):
    seen = []
    with pytest.warns(ChoiceWarning, match="held-out clicks gained nothing"):
        train(begun, tmp_path / "still", rate=0.0, epochs=20, patience=2, watch=seen.append)
    assert len(set(seen[-1].held_out)) == 1 and len(seen[-1].held_out) == 3
    assert len(seen) <= 3 * OPTIONS["every"]


def test_other_negatives_and_another_seed_are_another_training(begun, tmp_path):
    first = train(begun, tmp_path / "first", epochs=1)
    other = train(begun, tmp_path / "other", epochs=1, seed=1)
    assert first.fingerprint != other.fingerprint
    with pytest.raises(InputError, match="must be new"):
        train(begun, tmp_path / "first")
