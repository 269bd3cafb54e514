"""PEFA-XS over bags of words, against Eq. 8 written out in numpy; PEFA-XL over retrievers without vectors."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.methods.pefa.small import ENCODER
from vizsla.artifacts.artifact import load
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.pefa import pefa, pefa_max, pefa_xl, pefa_xs
from vizsla.methods.pefa.options import XsSettings
from vizsla.methods.xrlinear.build import xrlinear

LOG = [(CLICKED[query], item, weight) for query, item, weight in CLICKS]


def base_scores(base, texts: list[str]) -> np.ndarray:
    """Score every item, found or not."""
    return np.array([[base.explain(text, item).score for item in ITEMS] for text in texts])


def twin(base, weight: float, scale: float) -> np.ndarray:
    """λ · BM25 + (1 - λ) · scale · ⟨bag of q, direction of the clicked queries' idf-weighted bags⟩."""
    spoken = [word for query, _, _ in LOG for word in base.words.analyzer(query)]
    words = {word: at for at, word in enumerate(dict.fromkeys([*base.words.terms, *spoken]))}

    def bag(text: str) -> np.ndarray:
        row = np.zeros(len(words))
        for word, count in Counter(base.words.analyzer(text)).items():
            if word in words:
                row[words[word]] = count
        return row

    documents = [set(base.words.analyzer(text)) for text in ITEMS.values()]
    holders = np.array([sum(word in document for document in documents) for word in words])
    holders = np.where(holders, holders, holders[holders > 0].min())  # what no item holds weighs as the rarest
    idf = np.log(1 + (len(ITEMS) - holders + 0.5) / (holders + 0.5))
    sums = {item: np.zeros(len(words)) for item in ITEMS}
    for query, item, clicks in LOG:
        row = bag(query)
        sums[item] += clicks * row / (np.linalg.norm(row) or 1)
    scores = base_scores(base, QUERIES)
    for column, item in enumerate(ITEMS):
        direction = sums[item] * idf
        if direction.any():
            votes = np.array([bag(text) for text in QUERIES]) @ (direction / np.linalg.norm(direction))
            scores[:, column] = weight * scores[:, column] + (1 - weight) * scale * votes
    return scores


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("weight", [0.0, 0.3, 0.9])
def test_xs_over_bags_is_equation_8(weight, calibrated):
    base = bm25(ITEMS)
    found = pefa_xs(base, LOG, weight=weight, calibrated=calibrated)
    assert found.settings.calibrated == calibrated and found.settings.shift == 0
    expected = twin(base, weight, found.settings.scale)
    np.testing.assert_allclose(base_scores(found, QUERIES), expected, atol=1e-4)
    answers = found(QUERIES, k=len(ITEMS))
    for row in range(len(QUERIES)):
        items, scores = answers.row(row)
        np.testing.assert_allclose(scores, expected[row, items], atol=1e-4)
        assert set(np.flatnonzero(expected[row] > 1e-6)) == set(items.tolist())


def test_calibration_brings_the_spread_of_click_scores_to_the_bases():
    base = bm25(ITEMS)
    found = pefa_xs(base, LOG, weight=0.5, calibrated=True)
    clicked = np.unique(found.log.items)
    own = (found.log.vectors @ base.item_rows(clicked).T).toarray()
    unscaled = click_scores(base, found)
    assert (unscaled * found.settings.scale).std() == pytest.approx(own.std(), rel=1e-3)


def click_scores(base, found) -> np.ndarray:
    """Click scores of past queries and clicked items: weight 0, scale 1."""
    alone = type(found).build(base, found.log, XsSettings(0.0))
    clicked = np.unique(found.log.items)
    return (found.log.vectors @ alone.index.to_csr()[clicked].T).toarray()


@pytest.mark.parametrize("variant", ["lucene", "bm25+", "bm25l"])
def test_weight_1_is_the_base_to_the_last_bit(variant):
    base = bm25(ITEMS, variant=variant)
    assert pefa_xs(base, LOG, weight=1)(QUERIES, k=30) == base(QUERIES, k=30)


def test_item_without_clicks_keeps_its_full_score():
    base, found = bm25(ITEMS), pefa_xs(bm25(ITEMS), LOG, weight=0.2)
    cold = [item for item in ITEMS if item not in {item for _, item, _ in LOG}]
    assert cold
    for item in cold:
        # The lists' bounds order the additions, so a float may round otherwise.
        scores = [base.explain(q, item).score for q in QUERIES]
        assert [found.explain(q, item).score for q in QUERIES] == pytest.approx(scores, rel=1e-6)


def test_live_clicks_are_a_fresh_build_and_leave_no_trace():
    base = bm25(ITEMS)
    whole = pefa_xs(base, LOG, weight=0.6, calibrated=False)
    half = pefa_xs(base, LOG[: len(LOG) // 2], weight=0.6, calibrated=False)
    assert half.with_clicks(LOG[len(LOG) // 2 :])(QUERIES, k=30) == whole(QUERIES, k=30)
    assert whole.without_clicks(LOG[len(LOG) // 2 :])(QUERIES, k=30) == half(QUERIES, k=30)


def test_automatic_choice_survives_saving_and_explains_itself(tmp_path):
    found = pefa(bm25(ITEMS), LOG)
    found.save(tmp_path / "xs")
    loaded = load(tmp_path / "xs")
    assert loaded(QUERIES, k=20) == found(QUERIES, k=20) and loaded.choice == found.choice is not None
    fixed = pefa_xs(bm25(ITEMS), LOG, weight=0.5)
    query, item, _ = LOG[0]
    why = fixed.explain(query, item)
    assert why.score == pytest.approx(sum(part.score for part in why.parts), abs=1e-4)
    assert any(repr(query) in part.reason for part in why.parts[1].parts)


def test_the_best_past_query_needs_a_dense_base():
    with pytest.raises(InputError, match="dense"):
        pefa_max(bm25(ITEMS), LOG, weight=0.5, margin=1.0)
    with pytest.raises(InputError, match="sparse rows"):
        base = bm25(ITEMS)
        type(pefa_xs(base, LOG, weight=1)).build(base, pefa_xs(base, LOG, weight=1).log, XsSettings(0.5, shift=0.1))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["bm25", "xrlinear", "rerank"])
def test_xl_adds_votes_to_any_retriever_that_scores(method, tmp_path):
    log = Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS)
    words = bm25(ITEMS)
    base = {"bm25": lambda: words, "xrlinear": lambda: xrlinear(log), "rerank": lambda: words >> words}[method]()
    how = {"weight": 0.4, "neighbors": 3, "votes": "mean", "near": 0.0, "scale": 2.0, "threshold": 0.0}
    found = pefa_xl(base, log, encoder=ENCODER, **how)
    past = sorted({query for query, _, _ in LOG})
    clicks = np.zeros((len(past), len(ITEMS)))
    for query, item, weight in LOG:
        clicks[past.index(query), list(ITEMS).index(item)] += weight
    clicks /= clicks.max(axis=1, keepdims=True)
    similar = ENCODER.queries(QUERIES) @ ENCODER.queries(past).T
    votes = np.zeros((len(QUERIES), len(ITEMS)))
    for row, values in enumerate(similar):
        near = np.argsort(-values)[:3]
        votes[row] = np.maximum(values[near], 0) @ clicks[near] / 3
    answers = found(QUERIES, k=len(ITEMS))
    plain = base.score(QUERIES, answers)
    expected = plain.to_csr(items=len(ITEMS)).toarray() + 1.5 * 2.0 * votes
    for row in range(len(QUERIES)):
        items, scores = answers.row(row)
        np.testing.assert_allclose(scores, expected[row, items], atol=1e-4)
        assert set(np.flatnonzero(votes[row] > 0)) <= set(items.tolist())
    found.save(tmp_path / "xl")
    assert load(tmp_path / "xl").with_encoder(ENCODER)(QUERIES) == found(QUERIES)
