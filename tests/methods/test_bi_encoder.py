"""train_bi_encoder on a tiny BERT: steps against torch, and that what it writes can be searched with."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from tests.methods.test_cross_encoder import log
from tests.scorers.test_step_twin import CLICKS, CONFUSED, QUERIES, TEXTS, WEIGHTS, random_teacher
from tests.support.tiny_bert import tiny_bert
from vizsla.encoders.open import open_encoder
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError
from vizsla.learning.data import Positives
from vizsla.learning.pairs import PairTrainingData
from vizsla.learning.selection import ChoiceWarning
from vizsla.learning.torch_towers import TorchTowers
from vizsla.methods.bi_encoder import BiEncoderSettings, BiEncoderTraining, train_bi_encoder
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense

torch = pytest.importorskip("torch", reason="the extra neural is not installed")
transformers = pytest.importorskip("transformers", reason="the extra neural is not installed")

SETTINGS = {"batch": 2, "epochs": 4, "negatives": 2, "rate": 3e-3, "warm_up": 0.5, "scale": 7.0, "seed": 5}
SMALL = {"batch": 8, "every": 4, "held_out": 12, "rate": 5e-3, "depth": 10, "epochs": 4, "patience": 50}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a tiny BERT without dropout."""
    made = tiny_bert(tmp_path_factory.mktemp("towers") / "model", head=False)
    config = json.loads((made / "config.json").read_text())
    config |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (made / "config.json").write_text(json.dumps(config))
    return made


def training_data(teacher=None):
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in CLICKS])])
    items = np.array([item for row in CLICKS for item in row], np.int32)
    weights = np.array([weight for row in WEIGHTS for weight in row])
    return PairTrainingData(QUERIES, TEXTS, Positives.of(offsets, items, weights), CONFUSED, teacher)


class Twin:
    """The model in plain transformers, a text at a time: mean of the last layer, length 1."""

    def __init__(self, folder, frozen):
        self.model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).train()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        for name, weight in self.model.named_parameters():
            if frozen and ("embeddings" in name or "layer.0." in name):
                weight.requires_grad_(False)

    def __call__(self, texts):
        rows = [self.model(**self.tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0) for text in texts]
        return torch.nn.functional.normalize(torch.stack(rows), dim=1)

    def weights(self):
        return [weight for weight in self.model.parameters() if weight.requires_grad]


def twin_loss(settings, asked, read, drawn, numbers, wanted):
    """The cross-entropy of queries among passages and of passages among queries, and what the teacher says."""
    own, others = read[: len(numbers)], read[len(numbers) :]
    items = [*drawn[:, 0], *drawn[:, 1:].reshape(-1)]
    scores = settings.scale * asked @ torch.cat([own, others]).T
    loss = 0.0
    for row, number in enumerate(numbers):
        kept = [at for at, item in enumerate(items) if at == row or item not in CLICKS[number]]
        loss = loss + torch.logsumexp(scores[row, kept], 0) - scores[row, row]
        column = [at for at in range(len(numbers)) if at == row or drawn[row, 0] not in CLICKS[numbers[at]]]
        loss = loss + torch.logsumexp(scores[column, row], 0) - scores[row, row]
    loss = settings.share * loss / len(numbers)
    if wanted is None:
        return loss
    for row in range(len(numbers)):
        width = drawn.shape[1] - 1
        mine = scores[row, [row, *range(len(numbers) + row * width, len(numbers) + (row + 1) * width)]].double()
        given = torch.tensor(wanted[row])
        if settings.teacher_loss == "shares":
            shares = torch.softmax(given, 0)
            apart = (shares * (torch.log(shares) - torch.log_softmax(mine, 0))).sum()
        else:
            apart = torch.square((mine - mine.mean()) - (given - given.mean())).mean()
        loss = loss + (1 - settings.share) * apart / len(numbers)
    return loss


@pytest.mark.parametrize("towers", ["shared", "separate", "queries"])
@pytest.mark.parametrize(
    "changes", [{}, {"share": 0.3}, {"share": 0.0, "teacher_loss": "squares"}, {"frozen_layers": 1, "negatives": 0}]
)
def test_three_steps_are_the_twins(folder, towers, changes):
    settings = BiEncoderSettings(**{**SETTINGS, **changes})
    teacher, given = random_teacher() if settings.share < 1 else (None, None)
    options = {"rate": settings.rate, "frozen_layers": settings.frozen_layers, "towers": towers}
    learning = TorchTowers(SentenceEncoder(str(folder)), **options)
    run = BiEncoderTraining(learning, training_data(teacher), settings)
    asking = Twin(folder, settings.frozen_layers)
    answering = asking if towers == "shared" else Twin(folder, settings.frozen_layers)
    weights = asking.weights() + (answering.weights() if towers == "separate" else [])
    optimizer = torch.optim.AdamW(weights, lr=1.0, weight_decay=0.01)
    steps = chain(run.epoch(), run.epoch())
    for number, factor in enumerate([1 / 4, 2 / 4, 3 / 4]):  # the rate rises over the first four of eight steps
        order = np.random.default_rng([5, number // 2]).permutation(3)
        numbers = order[:2] if number % 2 == 0 else order[2:]
        random = np.random.default_rng([5, 1, number])
        drawn = run.training_data.drawn(numbers, settings.negatives, random)
        read = answering([TEXTS[item] for item in [*drawn[:, 0], *drawn[:, 1:].reshape(-1)]])
        asked = asking([QUERIES[query] for query in numbers])
        wanted = None if given is None else [given[query][items] for query, items in zip(numbers, drawn, strict=True)]
        loss = twin_loss(settings, asked, read.detach() if towers == "queries" else read, drawn, numbers, wanted)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.param_groups[0]["lr"] = factor * settings.rate
        optimizer.step()
        assert next(steps) == pytest.approx(float(loss.detach()), rel=1e-4, abs=1e-5)
    assert np.allclose(learning.queries(QUERIES), asking(QUERIES).detach().numpy(), atol=2e-3)
    assert np.allclose(learning.items(TEXTS), answering(TEXTS).detach().numpy(), atol=2e-3)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"towers": "separate", "negatives": 2},
        {"towers": "queries", "mining": "live"},
        {"mining": "mined", "refresh": 3},
        {"mining": "live", "refresh": 3, "frozen_layers": 1, "bfloat16": True},
    ],
)
def test_it_learns_and_can_be_searched_with(folder, options, tmp_path):
    seen = []
    encoder = train_bi_encoder(log(), folder, tmp_path / "new" / "trained", watch=seen.append, **{**SMALL, **options})
    losses = [each.loss for each in seen]
    assert np.mean(losses[-8:]) < np.mean(losses[:8])
    if not options:  # a random model with separate sides does not learn more than its lessons from a few dozen queries
        assert max(seen[-1].held_out) > seen[-1].held_out[0]
    opened = open_encoder(tmp_path / "new" / "trained")
    assert np.allclose(opened.queries(["fig pear"]), encoder.queries(["fig pear"]), atol=1e-6)
    search = dense(log(), opened)
    search.save(tmp_path / "search", bundle_models=True)
    assert type(search).load(tmp_path / "search")("fig pear", k=3).ids == search("fig pear", k=3).ids
    if options.get("towers") == "queries":
        assert np.allclose(opened.items(TEXTS), SentenceEncoder(str(folder)).items(TEXTS), atol=1e-6)


@pytest.mark.parametrize("mining", ["retriever", "mined", "live"])
def test_a_stopped_training_goes_on_to_the_same_bits(folder, mining, tmp_path):
    given = {**SMALL, "epochs": 1, "mining": mining, "refresh": 4}
    whole = train_bi_encoder(log(), folder, tmp_path / "whole", **given)

    def stop(seen):
        if seen.step == 6:
            raise RuntimeError("the machine went away")

    state = {"checkpoint": tmp_path / "state"}
    with pytest.raises(RuntimeError):
        train_bi_encoder(log(), folder, tmp_path / "parts", watch=stop, **given, **state)
    parts = train_bi_encoder(log(), folder, tmp_path / "parts", **given, **state)
    assert parts.fingerprint == whole.fingerprint


def test_training_data_that_differ_have_different_checksums():
    made = training_data()
    heavier = made.relevant._replace(weights=made.relevant.weights[:, ::-1])
    others = [training_data(random_teacher()[0]), replace(made, relevant=heavier), replace(made, confused=CONFUSED + 1)]
    others += [replace(made, texts=[*TEXTS[1:], TEXTS[0]]), replace(made, queries=[*QUERIES[1:], QUERIES[0]])]
    assert len({each.checksum for each in (made, *others)}) == 6 and made.checksum == training_data().checksum


def test_a_checkpoint_belongs_to_its_retriever_and_its_teacher(folder, tmp_path):
    """Each is asked before training: a run that went on with what another found would be of neither."""
    data = log()
    texts = [item.default_text() for item in data.items]
    shifted = dict(zip(data.item_ids, [*texts[1:], texts[0]], strict=True))
    given = {**SMALL, "epochs": 1, "max_steps": 4, "share": 0.5, "checkpoint": tmp_path / "state"}
    found = {"retriever": bm25(data), "teacher": bm25(data)}
    train_bi_encoder(data, folder, tmp_path / "first", **given, **found)
    train_bi_encoder(data, folder, tmp_path / "same", **given, **found)
    for name in found:
        with pytest.raises(InputError, match="of a training with the same settings and data"):
            train_bi_encoder(data, folder, tmp_path / name, **given, **found | {name: bm25(shifted)})


def test_what_cannot_be_learned_from_is_refused(folder, tmp_path):
    new = tmp_path / "new"
    with pytest.raises(InputError, match="`dataset` must be a Dataset"):
        train_bi_encoder(None, folder, new)
    with pytest.raises(InputError, match="`teacher` must be given, with negatives to rank, where `share` is below 1"):
        train_bi_encoder(log(), folder, new, share=0.5)
    with pytest.raises(InputError, match="`frozen_layers` must be below the model's 2 layers"):
        train_bi_encoder(log(), folder, new, frozen_layers=2)
    turned = bm25(dict(reversed([(item.id, item.default_text()) for item in log().items])))
    with pytest.raises(InputError, match="`retriever` must be over the dataset's items, in their order"):
        train_bi_encoder(log(), folder, new, retriever=turned)
    with pytest.raises(InputError, match="`towers` must be"):
        train_bi_encoder(log(), folder, new, towers="both")
    with pytest.warns(ChoiceWarning, match="held-out clicks gained nothing"):
        train_bi_encoder(log(), folder, new, **{**SMALL, "rate": 0.0, "patience": 1})
    with pytest.raises(InputError, match="`folder` must be new"):
        train_bi_encoder(log(), folder, new)
