"""Confidence: learned from held-out clicks, calibrated, the same scores and order, and answers that may be empty."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla import Dataset, bm25, load, tfidf
from vizsla.compose.confidence import FEATURES, ascending, calibration_error, fit
from vizsla.errors import InputError

WORDS = [f"word{n}" for n in range(60)]


def world(seed=3, items=300, queries=400):
    """Texts of some words, and queries of some of an item's words, one of which may be another's; a click on it."""
    pick = np.random.default_rng(seed)
    texts = {f"i{n}": " ".join(pick.choice(WORDS, 8, replace=False)) for n in range(items)}
    clicks = []
    for _ in range(queries):
        item = f"i{pick.integers(items)}"
        asked = pick.choice(texts[item].split(), pick.integers(1, 6), replace=False).tolist()
        clicks.append((" ".join(asked), item))
    return Dataset.of(texts, clicks=clicks)


@pytest.fixture(scope="module")
def dataset():
    return world()


@pytest.fixture(scope="module")
def confident(dataset):
    return bm25(dataset).with_confidence(dataset)


def test_scores_and_order_stay_and_confidence_is_a_probability(dataset, confident):
    plain, queries = bm25(dataset), [query.text for query in dataset.queries][:50]
    found = confident(queries, 10)
    assert found == plain(queries, 10)
    assert ((found.confidences >= 0) & (found.confidences <= 1)).all()
    assert confident(queries, 3).confidences.tolist() == found.top(3).confidences.tolist()
    assert found[0][0].confidence == pytest.approx(float(found.confidences[0]))
    assert FEATURES[0] in confident.report.to_dict()["weights"] and "held-out" in confident.report.summary


def test_confidence_is_calibrated_on_clicks_that_were_not_seen(confident):
    other = world(seed=4, items=300, queries=600)
    search = bm25(other)
    model = type(confident)(search, confident.model)
    texts, wanted = [query.text for query in other.queries], other.clicks.tocsr()
    found = model(texts, 10)
    clicked = np.array([wanted[row, int(item)] > 0 for row in range(len(texts)) for item in found.row(row)[0]])
    assert calibration_error(found.confidences, clicked) < 0.03
    sure = found.confidences > 0.5
    assert clicked[sure].mean() > 0.5 > clicked[~sure].mean() + 0.3


def test_a_least_confidence_leaves_hits_out_and_may_leave_none(dataset, confident, tmp_path):
    queries = [query.text for query in dataset.queries][:50]
    strict = confident.with_min_confidence(0.4)
    whole, found = confident(queries, 20), strict(queries, 20)
    expected = [[hit.id for hit in hits if hit.confidence >= 0.4] for hits in whole]
    assert found.ids == expected and [] in found.ids and any(found.ids)
    strict.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved")
    assert loaded(queries, 20) == found and (loaded(queries, 20).confidences == found.confidences).all()
    assert loaded.min_confidence == 0.4
    page = loaded.page(queries[0], 5)
    assert page.total == len(expected[0]) and [hit.confidence for hit in page] == [h.confidence for h in found[0][:5]]


def test_parts_that_agree_make_sure(dataset):
    both = bm25(dataset).normalized() + tfidf(dataset).normalized()
    confident = both.with_confidence(dataset)
    assert confident.report.weights["agreement"] != 0
    assert confident("word1 word2", 5) == both("word1 word2", 5)


def test_an_ascending_curve_is_the_best_one():
    pick = np.random.default_rng(1)
    values, clicked = pick.normal(size=60), pick.random(60) < 0.5
    points, shares = ascending(values, clicked)
    assert (np.diff(points) > 0).all() and (np.diff(shares) > 0).all()
    order = np.argsort(values)
    cumulated = np.concatenate([[0], np.cumsum(clicked[order])])
    slopes = [
        [(cumulated[end] - cumulated[start]) / (end - start) if start < end else np.nan for end in range(61)]
        for start in range(60)
    ]
    fitted = [np.nanmin(np.max(np.array(slopes)[: at + 1, at + 1 :], axis=0)) for at in range(60)]
    np.testing.assert_allclose(np.unique(np.round(fitted, 12)), shares, atol=1e-9)


def test_what_cannot_be_learned_is_refused(dataset, confident):
    with pytest.raises(InputError, match="different texts"):
        bm25(dataset).with_confidence(Dataset.of({"a": "fig"}, clicks=[("fig", "a")]))
    for wrong in (1.5, -0.1, "high", True):
        with pytest.raises(InputError, match="`min_confidence` must be between 0 and 1"):
            confident.with_min_confidence(wrong)
    with pytest.raises(InputError, match="match set"):
        (bm25(dataset) | tfidf(dataset)).with_confidence(dataset)


def test_few_clicks_make_a_logistic_curve():
    pick = np.random.default_rng(5)
    features = pick.normal(size=(200, len(FEATURES)))
    clicked = pick.random(200) < 1 / (1 + np.exp(3 - 2 * features[:, 0]))
    model, _ = fit(features, clicked, np.repeat(np.arange(20), 10), 0)
    assert not model.logits and model.weights[0] == max(model.weights)


def test_a_least_confidence_is_applied_before_the_page_is_cut(dataset, confident):
    for query in [query.text for query in dataset.queries][:30]:
        everything = confident(query, 300)[0]
        least = sorted(hit.confidence for hit in everything)[len(everything) // 2]
        sure = [hit.id for hit in everything if hit.confidence >= least]
        pages = [confident.page(query, 2, offset=at, min_confidence=least) for at in range(0, len(sure) + 1, 2)]
        assert [id for page in pages for id in page.ids] == sure
        assert {(page.total, page.total_is_exact) for page in pages} == {(len(sure), True)}
    none = confident.page("word1", min_confidence=1)
    assert none.ids == [] and none.total == 0
    short = confident.page("word1", 3, min_confidence=0, depth=5)
    assert (len(short), short.total, short.total_is_exact) == (3, 5, False)
    with pytest.raises(InputError, match="with_confidence"):
        bm25(dataset).page("word1", min_confidence=0.5)
    with pytest.raises(InputError, match="`min_confidence` must be between 0 and 1. Got 2"):
        confident.page("word1", min_confidence=2)
