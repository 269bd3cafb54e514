"""Hand-written gradients against torch's own, through the whole score; AdamW against torch's."""

from __future__ import annotations

import numpy as np
import pytest

from tests.learning.score_twin import small_problem
from vizsla.learning.code_scores import CodeScores
from vizsla.learning.distillation import distillation
from vizsla.learning.losses import LOSSES, swap_costs
from vizsla.learning.optimizers import AdamW

torch = pytest.importorskip("torch", reason="the extra neural is not installed")

RELEVANT = 2


def torch_scores(rows, adapter, rotation, centroids, codes, items):
    pieces = (rows @ adapter.T @ rotation.T).reshape(len(rows), len(centroids), -1)
    parts = torch.arange(len(centroids))
    chosen = centroids[parts, codes[items]]  # queries × items × parts × width
    return torch.einsum("qmw,qimw->qi", pieces, chosen)


def torch_loss(name, scores, weights):
    """The losses as their papers write them."""
    relevant, others = scores[:, :RELEVANT], scores[:, RELEVANT:]
    margins = relevant[:, :, None] - others[:, None, :]
    if name == "softmax":
        both = torch.cat([torch.zeros_like(margins[:, :, :1]), -margins], dim=2)
        return (weights * torch.logsumexp(both, dim=2)).sum() / len(scores)
    pairs = {
        "ranknet": lambda: torch.nn.functional.softplus(-margins).mean(dim=2),
        "hinge": lambda: torch.relu(1 - margins).mean(dim=2),
        "lambdarank": lambda: (
            torch.from_numpy(swap_costs(margins.detach().numpy())) * torch.nn.functional.softplus(-margins)
        ).sum(dim=2),
    }[name]()
    return (weights * pairs).sum() / len(scores)


def problem():
    rows, adapter, rotation, centroids, codes = small_problem()
    items = np.random.default_rng(4).integers(0, len(codes), (len(rows), 9)).astype(np.int32)
    scores = CodeScores(codes, centroids.astype(np.float32), rotation.astype(np.float32), dim=rows.shape[1])
    scores.adapter[...] = adapter
    asked = scores.asked(rows.astype(np.float32))
    given = scores.of(asked, items).astype(np.float64)
    order = np.argsort(-given[:, RELEVANT:], axis=1)
    items[:, RELEVANT:] = np.take_along_axis(items[:, RELEVANT:], order, axis=1)
    learned = [torch.tensor(values, requires_grad=True) for values in (adapter, centroids)]
    by_torch = torch_scores(
        torch.tensor(rows), learned[0], torch.tensor(rotation), learned[1], torch.tensor(codes.astype(np.int64)),
        torch.tensor(items.astype(np.int64)),
    )  # fmt: skip
    return scores, asked, items, learned, by_torch


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_has_the_gradients_of_autograd(name):
    scores, asked, items, (adapter, centroids), by_torch = problem()
    weights = np.full((len(items), RELEVANT), 1 / RELEVANT)
    loss = torch_loss(name, by_torch, torch.tensor(weights))
    loss.backward()
    given = scores.of(asked, items).astype(np.float64)
    found = LOSSES[name](given[:, :RELEVANT], given[:, RELEVANT:], weights)
    by_score = np.concatenate([found.relevant, found.others], axis=1)
    by_centroid, by_adapter = scores.gradients(asked, items, by_score)
    assert found.loss == pytest.approx(loss.item(), abs=1e-5)
    np.testing.assert_allclose(by_adapter, adapter.grad.numpy(), atol=1e-5)
    np.testing.assert_allclose(by_centroid, centroids.grad.numpy(), atol=1e-5)


def test_distillation_has_the_gradients_of_autograd():
    scores, asked, items, (adapter, centroids), by_torch = problem()
    teacher = np.random.default_rng(5).standard_normal(items.shape)
    shares = torch.log_softmax(by_torch, dim=1)
    torch.nn.functional.kl_div(shares, torch.softmax(torch.tensor(teacher), dim=1), reduction="batchmean").backward()
    _, by_score = distillation(scores.of(asked, items), teacher, np.ones(items.shape, bool))
    by_centroid, by_adapter = scores.gradients(asked, items, by_score)
    np.testing.assert_allclose(by_adapter, adapter.grad.numpy(), atol=1e-5)
    np.testing.assert_allclose(by_centroid, centroids.grad.numpy(), atol=1e-5)


def test_adamw_takes_the_steps_of_torchs_towards_where_it_began():
    start = np.random.default_rng(6).standard_normal(20).astype(np.float32)
    ours = start.copy()
    mine = AdamW(ours, rate=0.01, decay=0.1)
    away = torch.zeros(20, requires_grad=True)  # torch decays towards 0: it trains the way from the start
    theirs = torch.optim.AdamW([away], lr=0.01, weight_decay=0.1)
    for step in range(20):
        gradient = np.sin(np.arange(20) + step).astype(np.float32)
        mine.step(gradient)
        away.grad = torch.from_numpy(gradient.copy())
        theirs.step()
    np.testing.assert_allclose(ours - start, away.detach().numpy(), atol=2e-4)
