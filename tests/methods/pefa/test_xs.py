"""PEFA-XS against Eq. 8 written out in numpy, and its promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.methods.pefa.small import ENCODER, ITEMS, make_base, make_clicks, vector
from vizsla.artifacts.artifact import load
from vizsla.errors import InputError
from vizsla.learning import selection as rules
from vizsla.methods.pefa import pefa, pefa_max, pefa_xs

QUERIES = [f"ask {n}" for n in range(12)]


def twin(clicks: list, weight: float, *, calibrated=False, margin: float | None = None, item_weight: float = 0.3):
    """Scores of QUERIES × ITEMS straight from the formulas."""
    names = list(ITEMS)
    base = np.array([vector(text) for text in ITEMS.values()], np.float64)
    past = sorted({q for q, _, _ in clicks})
    queries = np.array([vector(q) for q in past], np.float64)
    matrix = np.zeros((len(past), len(names)))
    for q, item, weight_ in clicks:
        matrix[past.index(q), names.index(item)] += weight_
    sums = matrix.T @ queries
    clicked = matrix.sum(axis=0) > 0
    mean = np.zeros_like(base)
    mean[clicked] = sums[clicked] / np.linalg.norm(sums[clicked], axis=1, keepdims=True)
    wanted = np.array([vector(q) for q in QUERIES], np.float64)
    own, votes = wanted @ base.T, wanted @ mean.T
    pairs, voted = queries @ base[clicked].T, queries @ mean[clicked].T
    if calibrated:
        votes = (votes - voted.mean()) * pairs.std() / voted.std() + pairs.mean()
    scores = np.where(clicked, weight * own + (1 - weight) * votes, own)
    if margin is not None:
        for at in np.flatnonzero(clicked):
            best = (wanted @ queries[matrix[:, at] > 0].T).max(axis=1)
            alone = item_weight * own[:, at] + (1 - item_weight) * best - margin * pairs.std()
            scores[:, at] = np.maximum(scores[:, at], alone)
    return scores


def answers(retriever, k: int = len(ITEMS)) -> np.ndarray:
    return retriever(QUERIES, k=k).to_csr(items=len(ITEMS)).toarray()


def harmless(trials: list) -> list:
    """Return the trials that are no worse than the base for either kind of query; all of them without a base."""
    base = [trial for trial in trials if trial["weight"] == 1 and trial.get("margin") is None]
    return [t for t in trials if not base or (t["warm"] >= base[0]["warm"] and t["cold"] >= base[0]["cold"])] or trials


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("calibrated", [False, True])
def test_xs_is_equation_8(weight, calibrated):
    found = pefa_xs(make_base(), make_clicks(), weight=weight, calibrated=calibrated)
    np.testing.assert_allclose(answers(found), twin(make_clicks(), weight, calibrated=calibrated), atol=1e-5)


@pytest.mark.parametrize("item_weight", [0.0, 0.3])
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_max_is_the_larger_of_both(margin, item_weight):
    found = pefa_max(make_base(), make_clicks(), weight=0.7, margin=margin, item_weight=item_weight)
    expected = twin(make_clicks(), 0.7, calibrated=True, margin=margin, item_weight=item_weight)
    np.testing.assert_allclose(answers(found), expected, atol=1e-5)
    for k in (1, 3, 10):
        assert all(len(row) == k for row in found(QUERIES, k=k).ids)
        assert found(QUERIES, k=k).ids == [row[:k] for row in found(QUERIES, k=30).ids]


def test_weight_1_is_the_base_to_the_last_bit():
    assert pefa_xs(make_base(), make_clicks(), weight=1)(QUERIES, k=30) == make_base()(QUERIES, k=30)


def test_item_without_clicks_keeps_its_full_score():
    base, plain = answers(make_base()), answers(pefa_xs(make_base(), make_clicks(), weight=0.2, calibrated=True))
    np.testing.assert_array_equal(plain[:, 20:], base[:, 20:])
    assert np.abs(plain[:, :20] - base[:, :20]).max() > 0.1


@settings(max_examples=15, deadline=None)
@given(st.data(), st.booleans())
def test_live_clicks_are_a_fresh_build_and_leave_no_trace(data, best):
    clicks = make_clicks()
    cut = data.draw(st.integers(1, len(clicks) - 1))
    order = data.draw(st.permutations(clicks))
    build = pefa_max if best else pefa_xs
    options = {"weight": 0.6, "margin": 1.0} if best else {"weight": 0.6, "calibrated": True}
    old = build(make_base(), order[:cut], **options)
    new = old.with_clicks(order[cut:])
    fresh = type(new).build(make_base(), build(make_base(), clicks, **options).log, old.settings)
    assert new(QUERIES, k=30) == fresh(QUERIES, k=30)
    assert new.without_clicks(order[cut:])(QUERIES, k=30) == old(QUERIES, k=30)


def test_more_cannot_be_taken_away_than_there_is():
    with pytest.raises(InputError, match="taken away"):
        pefa_xs(make_base(), make_clicks(), weight=0.5).without_clicks([("never asked", "i1")])


@pytest.mark.parametrize("build", [pefa, pefa_xs, pefa_max])
def test_automatic_choice_is_deterministic_reported_and_the_best_trial(build, tmp_path):
    clicks = make_clicks(200)
    found, again = build(make_base(), clicks), build(make_base(), clicks[::-1])
    assert found.choice == again.choice and found.settings == again.settings
    assert found.choice.chosen["all"] == max(trial["all"] for trial in harmless(found.choice.trials))
    assert found.settings.weight == found.choice.chosen["weight"]
    assert found.choice.plot(tmp_path / "curve.svg").stat().st_size > 1000
    found.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved").with_encoder(ENCODER)
    assert loaded.choice == found.choice and loaded(QUERIES) == found(QUERIES)


def test_item_weight_is_chosen_with_the_rest_and_kept_where_given():
    found = pefa_max(make_base(), make_clicks(200))
    tried = {trial["item_weight"] for trial in found.choice.trials}
    assert len(tried) == 5 and found.settings.item_weight == found.choice.chosen["item_weight"] in tried
    given = pefa_max(make_base(), make_clicks(200), item_weight=0.1)
    assert {trial["item_weight"] for trial in given.choice.trials} == {0.1} and given.settings.item_weight == 0.1


def test_a_gain_for_one_kind_of_query_does_not_pay_for_a_loss_of_the_other():
    base = {"weight": 1.0, "all": 0.50, "warm": 0.5, "cold": 0.5}
    lopsided = {"weight": 0.1, "all": 0.60, "warm": 0.8, "cold": 0.4}
    fair = {"weight": 0.5, "all": 0.55, "warm": 0.6, "cold": 0.5}
    assert rules.harmless(0)([base, lopsided, fair], []) == 2
    assert rules.harmless(1)([lopsided, base], []) == 1
    assert rules.harmless()([fair, lopsided], []) == 1  # nothing to lose against


def test_explanation_adds_up_and_names_the_voters():
    found = pefa_xs(make_base(), make_clicks(), weight=0.6, calibrated=True)
    clicked = make_clicks()[0]
    why = found.explain("ask 1", clicked[1])
    base, votes = why.parts
    assert why.score == pytest.approx(base.score + votes.score, abs=1e-5)
    assert votes.score == pytest.approx(sum(part.score for part in votes.parts), abs=1e-6)
    assert any(repr(clicked[0]) in part.reason for part in votes.parts)
    assert "no clicks" in found.explain("ask 1", "i25").reason


def test_best_past_query_is_named():
    found = pefa_max(make_base(), make_clicks(), weight=1.0, margin=0.0, item_weight=0.0)
    query, item, _ = make_clicks()[0]
    why = found.explain(query, item)
    assert repr(query) in why.reason and why.score == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    ("clicks", "said"),
    [
        ([("q", "unknown")], "item of the base"),
        ([("q", "i1", -1)], "above 0"),
        ([("q",)], "Every click"),
        ("text", "triples"),
    ],
)
def test_wrong_clicks_raise(clicks, said):
    with pytest.raises(InputError, match=said):
        pefa_xs(make_base(), clicks, weight=0.5)


def test_each_combination_is_a_curve_of_its_own():
    curves = pefa(make_base(), make_clicks(200)).choice.curves()
    assert {"variant plain", "variant calibrated"} <= set(curves)
    for points in curves.values():
        assert len({weight for weight, _ in points}) == len(points)
