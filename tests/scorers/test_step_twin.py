"""A training step of a cross-encoder against torch: the loss of a query's drawn items, the gradient, AdamW."""

from __future__ import annotations

import json
from itertools import chain

import numpy as np
import pytest

from tests.support.tiny_bert import WORDS, tiny_bert
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.queries import Queries
from vizsla.learning.data import Positives
from vizsla.learning.distillation import Teacher
from vizsla.learning.pairs import PairTrainingData
from vizsla.methods.cross_encoder import CrossEncoderSettings, CrossEncoderTraining, PairLearner
from vizsla.methods.dense import dense

torch = pytest.importorskip("torch", reason="the extra neural is not installed")
transformers = pytest.importorskip("transformers", reason="the extra neural is not installed")

QUERIES = ["fig tree", "river stone", "plum"]
TEXTS = [" ".join(WORDS[at : at + 3]) for at in range(9)]
CLICKS = [[0, 5], [8], [3, 4, 0]]
WEIGHTS = [[0.75, 0.25], [1.0], [0.5, 0.25, 0.25]]
CONFUSED = np.array([[5, 1, 2, -1], [7, -1, 6, 2], [-1, 1, 2, 5]], np.int32)
CONFUSED[0, 0] = -1  # a clicked item is never confused
SETTINGS = {"batch": 2, "epochs": 4, "negatives": 3, "rate": 3e-3, "warm_up": 0.5, "seed": 5, "held_out": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a tiny BERT with a head, without dropout."""
    made = tiny_bert(tmp_path_factory.mktemp("pairs") / "model")
    config = json.loads((made / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (made / "config.json").write_text(json.dumps(config))
    return made


def training_data(teacher=None):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in CLICKS])])
    items = np.array([item for row in CLICKS for item in row], np.int32)
    weights = np.array([weight for row in WEIGHTS for weight in row])
    return PairTrainingData(QUERIES, TEXTS, Positives.of(offsets, items, weights), CONFUSED, teacher)


def random_teacher():
    vectors = {text: np.random.default_rng(n).normal(size=3) for n, text in enumerate([*QUERIES, *TEXTS])}
    encoder = FunctionEncoder(lambda texts: [vectors[text] for text in texts], dim=3, name="random")
    teacher = Teacher(dense(TEXTS, encoder), Queries(QUERIES), depth=4)
    scores = np.array([[np.float32(vectors[query]) @ np.float32(vectors[text]) for text in TEXTS] for query in QUERIES])
    return teacher, scores / np.median([np.sort(row)[-4:].std() for row in scores])


def twin_loss(scores, wanted, settings):
    """The mean over queries of the click loss, and of the divergence from the teacher."""
    loss = 0.0
    for row, given in zip(scores, wanted, strict=True):
        margins = row[0] - row[1:]
        if settings.loss == "softmax":
            one = torch.logsumexp(row, dim=0) - row[0]
        elif settings.loss == "hinge":
            one = torch.clamp(1 - margins, min=0).mean()
        elif settings.loss == "ranknet":
            one = torch.log(1 + torch.exp(-margins)).mean()
        else:
            ranks = 1 + (row[None] > row[:, None]).sum(dim=1)
            gains = 1 / torch.log2(1 + ranks.double())
            one = (torch.abs(gains[0] - gains[1:]) * torch.log(1 + torch.exp(-margins))).sum()
        loss = loss + settings.share * one
        if given is not None and settings.share < 1:
            shares = torch.softmax(torch.tensor(given), dim=0)
            apart = (shares * (torch.log(shares) - torch.log_softmax(row.double(), dim=0))).sum()
            loss = loss + (1 - settings.share) * apart
    return loss / len(scores)


@pytest.mark.parametrize(
    "changes", [{}, {"loss": "lambdarank"}, {"loss": "ranknet"}, {"loss": "hinge"}, {"share": 0.3}, {"share": 0.0}]
)
def test_three_steps_are_the_twins(folder, changes):
    from vizsla.scorers.pair_models import TorchPairModel

    settings = CrossEncoderSettings(**{**SETTINGS, **changes})
    teacher, given = random_teacher() if settings.share < 1 else (None, None)
    learner = PairLearner(TorchPairModel(folder), rate=settings.rate)
    run = CrossEncoderTraining(learner, training_data(teacher), settings)
    assert run.steps == 8  # two batches of three queries, four times
    twin = transformers.AutoModelForSequenceClassification.from_pretrained(folder).train()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=1.0, weight_decay=0.01)
    steps = chain(run.epoch(), run.epoch())
    for number, factor in enumerate([1 / 4, 2 / 4, 3 / 4]):  # the rate rises over the first four of eight steps
        order = np.random.default_rng([5, number // 2]).permutation(3)
        numbers = order[:2] if number % 2 == 0 else order[2:]
        drawn = run.training_data.drawn(numbers, 3, np.random.default_rng([5, 1, number]))
        scores = []
        for query, items in zip(numbers, drawn, strict=True):
            pairs = [tokenizer(QUERIES[query], TEXTS[item], return_tensors="pt") for item in items]
            scores.append(torch.cat([twin(**pair).logits[:, 0] for pair in pairs]))
        wanted = [None if given is None else given[query][items] for query, items in zip(numbers, drawn, strict=True)]
        loss = twin_loss(scores, wanted, settings)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
        optimizer.param_groups[0]["lr"] = factor * settings.rate
        optimizer.step()
        assert next(steps) == pytest.approx(float(loss.detach()), rel=1e-4)
        state = run.state()
        for at, weight in enumerate(twin.parameters()):
            mean = optimizer.state[weight]["exp_avg"].numpy().reshape(-1)
            assert np.allclose(state[f"exp_avg_{at}"], mean, rtol=5e-3, atol=5e-6)
            clear = np.abs(mean) > 1e-4
            found, values = state[f"w{at}"], weight.detach().numpy().reshape(-1)
            assert np.allclose(found[clear], values[clear], rtol=1e-3, atol=1e-4)


def test_clicked_items_are_drawn_by_weight_and_are_no_negatives():
    taught, count = training_data(), 400
    rows = taught.drawn(np.repeat([0, 1, 2], count), 3, np.random.default_rng(0)).reshape(3, count, 4)
    for query, (clicked, weights) in enumerate(zip(CLICKS, WEIGHTS, strict=True)):
        shares = [(rows[query, :, 0] == item).mean() for item in clicked]
        assert shares == pytest.approx(weights, abs=0.08)
        assert not np.isin(rows[query, :, 1:], clicked).any()
    hard = [set(row[row >= 0].tolist()) for row in CONFUSED]
    assert all(set(row[1:3].tolist()) == hard[0] for row in rows[0])  # two are confused, and come first
    assert all(set(row[1:].tolist()) == hard[1] for row in rows[1])
    assert len({int(row[3]) for row in rows[0]}) > 3  # the third is any other item
