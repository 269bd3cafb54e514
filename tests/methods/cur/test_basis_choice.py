"""What residual CUR chooses its basis, rank and ridge by: folds of anchor queries, recomputed one by one."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.methods.cur.basis_selection import FOLDS, BasisChoice, Tried, choose_fit, recall_of, usable_ranks
from vizsla.methods.cur.plan import Plan, best_places
from vizsla.methods.cur.residual_model import decomposed


@pytest.mark.parametrize(
    ("anchors", "ranks", "usable"),
    [(100, (32, 64, 128, 256), [32, 64, 74]), (20, (32, 64), [14]), (20, (4, 14, 99), [4, 14]), (5, (9,), [3]),
     (2, (9,), [1]), (1, (9,), [1])],
)  # fmt: skip
def test_a_rank_is_at_most_what_three_of_four_folds_have_less_one(anchors, ranks, usable):
    assert usable_ranks(anchors, ranks) == usable


def test_one_of_each_is_chosen_without_a_trial():
    settled = Tried((8,), (0.1,), ("scores",)).settled
    assert (settled.basis, settled.rank, settled.ridge) == ("scores", 8, 0.1) and np.isnan(settled.recall)
    for several in (Tried((8, 9), (0.1,), ("scores",)), Tried((8,), (0.1, 1.0), ("scores",)), Tried((8,), (0.1,))):
        assert several.settled is None


def world(anchors=14, items=40):
    rng = np.random.default_rng(2)
    hidden = rng.standard_normal((anchors, 5)) @ rng.standard_normal((5, items))
    scores = (hidden + 0.3 * rng.standard_normal((anchors, items))).astype(np.float32)
    own = (hidden + rng.standard_normal((anchors, items))).astype(np.float32)[:, None]
    return scores, own


def recalls(scores, own, plan, basis, rank, ridge, most):
    """Return what each fold's queries find by the fit of the other folds."""
    found = []
    for fold in np.array_split(np.arange(len(scores)), FOLDS):
        rest = [row for row in range(len(scores)) if row not in fold]
        fit = decomposed(scores[rest], own[rest], most, basis).fit(rank, ridge)
        found.append(recall_of(fit, scores[fold], own[fold], plan))
    return np.array(found)


def test_the_choice_is_the_best_of_all_folds():
    scores, own = world()
    plan, tried = Plan(budget=12, rounds=2), Tried((2, 4, 30), (0.1, 1.0, 0.3))
    found = choose_fit(scores, own, plan, tried)
    ranks, ridges = [2, 4, 10], [1.0, 0.3, 0.1]  # the largest that folds have; from the largest ridge on
    middle = {basis: recalls(scores, own, plan, basis, 4, 0.3, 4) for basis in tried.bases}
    bases = found.choices["basis"]
    assert [trial["basis"] for trial in bases.trials] == list(tried.bases)
    assert [trial["all"] for trial in bases.trials] == pytest.approx([middle[basis].mean() for basis in tried.bases])
    assert found.basis == max(tried.bases, key=lambda basis: round(middle[basis].sum(), 6))
    grid = [(rank, ridge) for rank in ranks for ridge in ridges]
    values = [recalls(scores, own, plan, found.basis, rank, ridge, 10) for rank, ridge in grid]
    fits = found.choices["fit"]
    assert [(trial["rank"], trial["ridge"]) for trial in fits.trials] == grid
    assert [trial["all"] for trial in fits.trials] == pytest.approx([each.mean() for each in values], abs=1e-6)
    best = max(range(len(grid)), key=lambda at: (round(values[at].sum(), 6), -at))
    assert (found.rank if found.rank != len(scores) else 10, found.ridge) == grid[best]
    assert found.recall == pytest.approx(values[best].mean())
    assert f"rank {found.rank}, ridge {found.ridge:g}: recall {found.recall:.3f}" in found.summary
    assert "the best of 11 trials" in found.summary and set(found.to_dict()["tried"]) == {"basis", "fit"}


def test_a_rank_beyond_the_folds_stands_for_all_anchors():
    scores, own = world(6)
    assert choose_fit(scores, own, Plan(budget=8, rounds=1), Tried((64,), (0.1, 1.0), ("scores",))).rank == 6
    assert choose_fit(scores, own, Plan(budget=8, rounds=1), Tried((4,), (0.1, 1.0), ("scores",))).rank == 4
    assert isinstance(choose_fit(scores[:2], own[:2], Plan(budget=8, rounds=1)), BasisChoice)  # fewer than folds


def test_recall_is_the_mean_over_three_depths_of_what_was_bought():
    scores, own = world(10)
    fit = decomposed(scores[:8], own[:8], 4, "scores").fit(4, 0.1)
    everything = recall_of(fit, scores[8:], own[8:], Plan(budget=40, rounds=1))
    assert everything == pytest.approx(1.0)
    bought = best_places(scores[8], 10)
    assert set(bought.tolist()) == set(np.argsort(-scores[8], kind="stable")[:10].tolist())
    few = recall_of(fit, scores[8:], own[8:], Plan(budget=4, rounds=1))
    assert 0 <= few < 0.5  # four of a hundred, and of ten, at most
