"""PEFA with `paper=True` against Eq. 8 and Eq. 6 of the paper written out in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.pefa.small import ENCODER, ITEMS, make_base, make_clicks, vector
from tests.methods.pefa.test_xs import QUERIES, answers
from vizsla.artifacts.artifact import load
from vizsla.errors import InputError
from vizsla.methods.pefa import pefa, pefa_xl, pefa_xs
from vizsla.methods.tfidf import tfidf


def equation_8(clicks: list, weight: float) -> np.ndarray:
    """Return λ·⟨q, p⟩ + (1 - λ)·⟨q, Π(QᵀY)⟩ with binary Y and Π(0) = 0, for every item."""
    names, past = list(ITEMS), sorted({query for query, *_ in clicks})
    binary = np.zeros((len(past), len(names)))
    for query, item, *_ in clicks:
        binary[past.index(query), names.index(item)] = 1
    sums = binary.T @ np.array([vector(query) for query in past], np.float64)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    directions = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
    items = np.array([vector(text) for text in ITEMS.values()], np.float64)
    queries = np.array([vector(query) for query in QUERIES], np.float64)
    return weight * queries @ items.T + (1 - weight) * queries @ directions.T


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_paper_is_equation_8_also_for_items_without_clicks(weight):
    clicks = make_clicks()
    assert len({item for _, item, _ in clicks}) < len(ITEMS)
    found = pefa_xs(make_base(), clicks, weight=weight, paper=True)
    np.testing.assert_allclose(answers(found), equation_8(clicks, weight), atol=1e-5)


def test_the_default_weight_is_a_half():
    clicks = make_clicks()
    found = pefa(make_base(), clicks, "xs", paper=True)
    np.testing.assert_allclose(answers(found), equation_8(clicks, 0.5), atol=1e-5)


def test_weights_of_clicks_do_not_count():
    once = [(query, item, 1.0) for query, item, _ in make_clicks()]
    weighted, plain = (pefa_xs(make_base(), clicks, paper=True) for clicks in (make_clicks(), once))
    np.testing.assert_array_equal(answers(weighted), answers(plain))
    assert not np.allclose(answers(pefa_xs(make_base(), make_clicks(), weight=0.5, calibrated=False)), answers(plain))


def test_more_clicks_and_fewer_are_those_of_a_new_build(tmp_path):
    clicks = make_clicks()
    grown = pefa_xs(make_base(), clicks[:40], paper=True).with_clicks(clicks[40:])
    np.testing.assert_allclose(answers(grown), equation_8(clicks, 0.5), atol=1e-5)
    np.testing.assert_allclose(answers(grown.without_clicks(clicks[40:])), equation_8(clicks[:40], 0.5), atol=1e-5)
    grown.save(tmp_path / "paper")
    np.testing.assert_array_equal(answers(load(tmp_path / "paper").with_encoder(ENCODER)), answers(grown))


def test_explanations_add_up_to_the_score():
    search = pefa_xs(make_base(), make_clicks(), paper=True)
    scores = equation_8(make_clicks(), 0.5)
    for at, item in enumerate(ITEMS):
        reasons = search.explain(QUERIES[0], item)
        assert reasons.score == pytest.approx(scores[0, at], abs=1e-5)
        assert sum(part.score for part in reasons.parts) == pytest.approx(reasons.score, abs=1e-5)


def test_sparse_items_without_clicks_have_their_share():
    base = tfidf({"a": "a sweet fig", "b": "a green pear"})
    paper = pefa_xs(base, [("purple", "a")], weight=0.25, paper=True)
    assert paper("pear").to_dict()["0"]["b"] == pytest.approx(0.25 * base("pear").to_dict()["0"]["b"], rel=1e-5)


def equation_6(clicks: list, weight: float, k: int) -> np.ndarray:
    """Return λ·⟨q, p⟩ + (1 - λ)/k · the sum of ⟨q, q_i⟩ over the k nearest past queries that led to p."""
    names, past = list(ITEMS), sorted({query for query, *_ in clicks})
    pairs = {(query, item) for query, item, *_ in clicks}
    scores = np.empty((len(QUERIES), len(names)))
    for row, query in enumerate(QUERIES):
        similar = {other: float(vector(query) @ vector(other)) for other in past}
        near = sorted(past, key=lambda other: -similar[other])[:k]
        for at, item in enumerate(names):
            votes = sum(similar[other] for other in near if (other, item) in pairs) / k
            scores[row, at] = weight * float(vector(query) @ vector(ITEMS[item])) + (1 - weight) * votes
    return scores


@pytest.mark.parametrize("weight", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("k", [3, 28])
def test_paper_is_equation_6_with_negative_similarities(weight, k):
    clicks = make_clicks()
    found = pefa_xl(make_base(), clicks, weight=weight, neighbors=k, paper=True)
    expected = equation_6(clicks, weight, k)
    np.testing.assert_allclose(answers(found), expected, atol=1e-5)
    plain = np.argsort(-expected, axis=1, kind="stable")[:, :5].tolist()
    assert [[list(ITEMS).index(item) for item in row] for row in found(QUERIES, k=5).ids] == plain
    scored = found.score(QUERIES, make_base()(QUERIES, k=30)).to_csr(items=len(ITEMS)).toarray()
    np.testing.assert_allclose(scored, expected, atol=1e-5)


def test_negative_similarities_make_a_difference():
    clicks = make_clicks()
    fixed = {"votes": "mean", "near": 0.0, "scale": 1.0, "threshold": 0.0}
    positive = pefa_xl(make_base(), [(q, i) for q, i, _ in clicks], weight=0.5, neighbors=28, **fixed)
    assert not np.allclose(0.5 * answers(positive), equation_6(clicks, 0.5, 28), atol=1e-3)


def test_xl_alone_takes_32_neighbors_grows_and_is_saved(tmp_path):
    clicks = make_clicks(count=80)
    grown = pefa_xl(make_base(), clicks[:40], paper=True).with_clicks(clicks[40:])
    np.testing.assert_allclose(answers(grown), equation_6(clicks, 0.5, 32), atol=1e-5)
    grown.save(tmp_path / "paper")
    np.testing.assert_array_equal(answers(load(tmp_path / "paper").with_encoder(ENCODER)), answers(grown))


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_xl_explanations_add_up_to_the_score(weight):
    search = pefa_xl(make_base(), make_clicks(), weight=weight, neighbors=28, paper=True)
    scores = equation_6(make_clicks(), weight, 28)
    for at, item in enumerate(ITEMS):
        reasons = search.explain(QUERIES[0], item)
        assert reasons.score == pytest.approx(scores[0, at], abs=1e-5)
        assert sum(part.score for part in reasons.parts) == pytest.approx(reasons.score, abs=1e-5)


@pytest.mark.parametrize("options", [{"votes": "max"}, {"near": 0.1}, {"scale": 2.0}, {"half_life": 3.0}])
def test_xl_as_in_the_paper_takes_no_additions(options):
    with pytest.raises(InputError, match="`paper` must be with"):
        pefa_xl(make_base(), make_clicks(), paper=True, **options)


@pytest.mark.parametrize("options", [{"calibrated": True}, {"half_life": 3.0}])
def test_paper_takes_no_additions(options):
    with pytest.raises(InputError, match="`paper` must be without"):
        pefa_xs(make_base(), make_clicks(), paper=True, **options)
