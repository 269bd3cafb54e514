"""`paper=True` against torch: Eq. 21's sum over raw scores, LambdaRank by nDCG, AdamW at constant rates."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.encoders.lsa import LsaEncoder
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.data import Positives
from vizsla.methods.dense import Dense, dense
from vizsla.methods.jpq.settings import JpqSettings, paper_numbers
from vizsla.methods.jpq.train_jpq import train_jpq
from vizsla.methods.jpq.trainer import JpqTraining

ITEMS, DIM = 60, 8
CLICKS = [{3: 1.0, 7: 3.0}, {5: 2.0}, {9: 1.0, 3: 1.0, 11: 2.0}, {20: 1.0, 21: 1.0}, {7: 5.0}, {40: 1.0}]


def world():
    pick = np.random.default_rng(3)
    items = pick.standard_normal((ITEMS, DIM)).astype(np.float32)
    queries = np.array([items[next(iter(clicked))] for clicked in CLICKS]) + 0.3 * pick.standard_normal((6, DIM))
    return PqIndex.build(items, bytes=2, bits=4, rounds=3), (3 * queries).astype(np.float32)


def positives():
    offsets = np.concatenate([[0], np.cumsum([len(clicked) for clicked in CLICKS])])
    weights = np.array([weight for clicked in CLICKS for weight in clicked.values()])
    return Positives.of(offsets, np.array([item for clicked in CLICKS for item in clicked], np.int32), weights)


def pair_loss(torch, name, scores, clicked, negatives):
    """One query's sum over pairs, with |ΔnDCG| by ranks in the list of relevant and irrelevant items."""
    listed = [*clicked, *negatives]
    values = scores.detach().numpy()
    ranks = {item: 1 + place for place, item in enumerate(sorted(listed, key=lambda item: -values[item]))}
    ideal = sum(1 / np.log2(1 + rank) for rank in range(1, len(clicked) + 1))
    total = 0.0
    for one in clicked:
        for other in negatives:
            swap = abs(1 / np.log2(1 + ranks[one]) - 1 / np.log2(1 + ranks[other])) / ideal
            pair = torch.nn.functional.softplus(scores[other] - scores[one])
            if name == "hinge":
                pair = torch.clamp(1 - scores[one] + scores[other], min=0)
            total = total + (swap if name == "lambdarank" else 1.0) * pair
    return total


@pytest.mark.parametrize("loss", ["lambdarank", "ranknet", "hinge"])
def test_two_steps_are_torchs(loss):
    torch = pytest.importorskip("torch", reason="the extra neural is not installed")
    index, rows = world()
    rates = {"adapter_rate": 0.02, "centroid_rate": 0.05, "decay": 0.3, "negatives": 12, "batch": 3, "epochs": 2}
    settings = JpqSettings(click_loss_weight=1.0, **paper_numbers(2) | rates | {"loss": loss})
    training = JpqTraining(index, rows, settings, relevant=positives())
    adapter = torch.eye(DIM, dtype=torch.float64, requires_grad=True)
    centroids = torch.tensor(index.centroids.astype(np.float64), requires_grad=True)
    groups = [{"params": [adapter], "lr": 0.02}, {"params": [centroids], "lr": 0.05}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.3)
    codes, rotation = index.codes.astype(np.int64), torch.tensor(index.rotation.astype(np.float64))
    for numbers in ([0, 1, 2], [3, 4, 5]):
        mine = training.step(np.array(numbers))
        decoded = torch.cat([centroids[part, codes[:, part]] for part in range(len(centroids))], dim=1)
        scores = (torch.tensor(rows[numbers].astype(np.float64)) @ adapter.T @ rotation.T) @ decoded.T
        theirs = 0.0
        for row, number in enumerate(numbers):
            order = np.argsort(-scores[row].detach().numpy(), kind="stable").tolist()
            negatives = [item for item in order if item not in CLICKS[number]][:12]
            theirs = theirs + pair_loss(torch, loss, scores[row], CLICKS[number], negatives) / len(numbers)
        optimizer.zero_grad()
        theirs.backward()
        assert mine == pytest.approx(float(theirs.detach()), rel=1e-5)
        optimizer.step()
    np.testing.assert_allclose(training.scores.adapter, adapter.detach().numpy(), atol=2e-5)
    np.testing.assert_allclose(training.scores.centroids, centroids.detach().numpy(), atol=2e-5)


def test_the_preset_keeps_lengths_and_says_so():
    things = ("fig", "pear", "plum", "lime")
    texts = [f"{color} {thing}" for color in ("red", "blue", "green", "old") for thing in things]
    base = dense(texts, LsaEncoder.fit(texts, dim=8))
    coded = Dense(base.items, base.encoder, PqIndex.build(base.item_rows(), bytes=2, bits=4, rounds=2))
    clicks = [(f"crimson {thing}", str(number)) for number, thing in enumerate(things)]
    trained = train_jpq(coded, clicks, paper=True, negatives=5, epochs=1, stop=1)
    assert trained.settings.paper and trained.settings.decay == 0.01 and trained.settings.loss == "lambdarank"
    assert (trained.index.codes == coded.index.codes).all()
    assert not train_jpq(coded, clicks, epochs=1, stop=1, negatives=5).settings.paper
