"""train_dssm: a step against torch's autograd, and that it learns what words do not say."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.test_cross_encoder import log
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.encoders.open import open_encoder
from vizsla.errors import InputError
from vizsla.learning.clicks import ClickLog
from vizsla.learning.pairs import ContrastiveBatch, training_data_of
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.dssm import BagTraining, DssmSettings, train_dssm

SYNONYMS = {"auto": "car", "dwelling": "house", "vessel": "ship", "infant": "baby", "physician": "doctor"}


def synonyms() -> Dataset:
    """Return items in words that no query uses; each word of a query stands for one word of items."""
    colors = ["red", "green", "blue", "white", "black", "grey"]
    items = {f"{color}-{word}": f"{color} {word}" for word in SYNONYMS.values() for color in colors}
    clicks = {f"{color} {asked}": [f"{color}-{word}"] for asked, word in SYNONYMS.items() for color in colors}
    return Dataset.of(items, clicks=clicks)


def test_steps_are_those_of_autograd():
    torch = pytest.importorskip("torch", reason="the extra neural is not installed")
    data = log()
    clicks, texts = ClickLog.of(data, data.item_ids), [item.default_text() for item in data.items]
    taught = training_data_of(clicks, texts, bm25(data), None, depth=5, threads=1)
    encoder = LsaEncoder.fit([*texts, *taught.queries], dim=6)
    settings = DssmSettings(batch=7, epochs=2, negatives=2, rate=0.05, scale=5.0, warm_up=0.5)
    run = BagTraining(encoder, taught, settings)
    asked, read = (encoder.ngrams.queries(each).to_scipy().toarray() for each in (taught.queries, texts))
    matrix = torch.tensor(np.array(encoder.projection), dtype=torch.float64, requires_grad=True)
    squares = np.zeros(len(encoder.projection))
    for number in range(3):
        numbers = np.random.default_rng(number).permutation(len(taught))[:7]
        batch = ContrastiveBatch(numbers, taught.drawn(numbers, 2, np.random.default_rng([0, 1, number])))
        sides = [torch.tensor(rows, dtype=torch.float64) @ matrix for rows in (asked[numbers], read[batch.columns])]
        queries, items = (torch.nn.functional.normalize(side, dim=1) for side in sides)
        excluded = torch.tensor(batch.excluded(taught.relevant))
        scores = (5.0 * queries @ items.T).masked_fill(excluded, -torch.inf)
        own = torch.arange(7)
        loss = torch.nn.functional.cross_entropy(scores, own) + torch.nn.functional.cross_entropy(scores[:, :7].T, own)
        gradient = torch.autograd.grad(loss, matrix)[0].numpy()
        squares += np.square(gradient).mean(axis=1)
        factor = min(1.0, (number + 1) / (0.5 * run.steps))
        moved = matrix.detach().numpy() - factor * 0.05 * gradient / np.sqrt(squares + 1e-12)[:, None]
        assert run.step(numbers) == pytest.approx(float(loss), rel=1e-4)
        clear = np.abs(gradient).max(axis=1) > 1e-6
        assert np.allclose(run.matrix[clear], moved[clear], atol=1e-3)
        matrix = torch.tensor(np.array(run.matrix), dtype=torch.float64, requires_grad=True)


def test_it_learns_synonyms_for_items_that_nobody_clicked(tmp_path):
    data = synonyms()
    learned = train_dssm(data, dim=32, negatives=0, batch=10, epochs=60, rate=0.1, held_out=1, patience=100)
    learned.save(tmp_path / "dssm")
    search = dense(data, open_encoder(tmp_path / "dssm"))
    found = [search(f"{asked}", k=6).ids[0] for asked in SYNONYMS]
    assert all(item.endswith(f"-{word}") for ids, word in zip(found, SYNONYMS.values(), strict=True) for item in ids)


def test_a_stopped_training_goes_on_to_the_same_bits(tmp_path):
    given = {"dim": 8, "batch": 8, "epochs": 3, "every": 5, "held_out": 10}

    def stop(seen):
        if seen.step == 12:
            raise RuntimeError("the machine went away")

    with pytest.raises(RuntimeError):
        train_dssm(log(), watch=stop, checkpoint=tmp_path / "state", **given)
    parts = train_dssm(log(), checkpoint=tmp_path / "state", **given)
    assert parts.fingerprint == train_dssm(log(), **given).fingerprint


def test_a_checkpoint_belongs_to_its_retriever(tmp_path):
    given = {"dim": 8, "batch": 8, "epochs": 1, "every": 5, "held_out": 10, "checkpoint": tmp_path / "state"}
    data = log()
    train_dssm(data, **given)
    texts = [item.default_text() for item in data.items]
    others = dict(zip(data.item_ids, [*texts[1:], texts[0]], strict=True))
    with pytest.raises(InputError, match="of a training with the same settings and data"):
        train_dssm(data, retriever=bm25(others), **given)


def test_what_cannot_be_learned_from_is_refused():
    for wrong in (None, np.zeros((2, 3)), {"a": "fig"}):
        with pytest.raises(InputError, match="`dataset` must be a Dataset"):
            train_dssm(wrong)
    with pytest.raises(InputError, match="`dataset` must have clicks"):
        train_dssm(Dataset.of({"a": "fig", "b": "tree"}))
    with pytest.raises(InputError, match="`retriever` must be over the dataset's items, in their order"):
        train_dssm(log(), retriever=bm25({"a": "fig"}))
