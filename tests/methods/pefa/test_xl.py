"""PEFA-XL against Eq. 6 written out in numpy, and its promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.methods.pefa.small import ENCODER, ITEMS, make_base, make_clicks, vector
from tests.methods.pefa.test_xs import QUERIES, answers, harmless
from tests.support.table_retriever import TableRetriever
from vizsla.artifacts.artifact import load
from vizsla.core.candidates import PairScores, Stats
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xl
from vizsla.methods.pefa.options import XlSettings, XsSettings

FIXED = {"weight": 0.4, "neighbors": 5, "votes": "mean", "near": 0.0, "scale": 1.0, "threshold": 0.0}


def votes_twin(clicks: list, *, k: int, how: str, near: float) -> np.ndarray:
    names, past = list(ITEMS), sorted({q for q, _, _ in clicks})
    matrix = np.zeros((len(past), len(names)))
    for q, item, weight in clicks:
        matrix[past.index(q), names.index(item)] += weight
    matrix /= matrix.max(axis=1, keepdims=True)
    similar = np.array([vector(q) for q in QUERIES]) @ np.array([vector(q) for q in past]).T
    votes = np.zeros((len(QUERIES), len(names)))
    for row, values in enumerate(similar):
        near_ones = np.argsort(-values)[:k]
        shares = np.maximum(values[near_ones, None] - near, 0) * matrix[near_ones]
        votes[row] = shares.sum(axis=0) / k if how == "mean" else shares.max(axis=0)
    return votes


@pytest.mark.parametrize("how", ["mean", "max"])
@pytest.mark.parametrize(("near", "threshold"), [(0.0, 0.0), (0.4, 0.0), (0.4, 0.1)])
@pytest.mark.parametrize("weight", [0.1, 0.5, 1.0])
def test_xl_is_equation_6_by_its_weight(weight, near, threshold, how):
    options = {"weight": weight, "near": near, "votes": how, "threshold": threshold}
    found = pefa_xl(make_base(), make_clicks(), **{**FIXED, **options})
    votes = votes_twin(make_clicks(), k=5, how=how, near=near)
    votes[:, [name in {item for _, item, _ in make_clicks()} for name in ITEMS]] -= threshold
    expected = answers(make_base()) + (1 - weight) / weight * votes
    np.testing.assert_allclose(answers(found), expected, atol=1e-4)


def test_item_without_clicks_keeps_its_full_score_and_clicked_ones_must_earn_theirs():
    found = answers(pefa_xl(make_base(), make_clicks(), **{**FIXED, "threshold": 0.2})) - answers(make_base())
    assert np.abs(found[:, 20:]).max() == 0 and found[:, :20].min() == pytest.approx(-0.2 * 1.5, abs=1e-5)


def test_ranking_is_the_papers():
    found = pefa_xl(make_base(), make_clicks(), **FIXED)
    paper = 0.4 * answers(make_base()) + 0.6 * votes_twin(make_clicks(), k=5, how="mean", near=0.0)
    names = list(ITEMS)
    assert found(QUERIES, k=5).ids == [[names[i] for i in np.argsort(-row, kind="stable")[:5]] for row in paper]


def test_weight_1_is_the_base():
    found = pefa_xl(make_base(), make_clicks(), **{**FIXED, "weight": 1.0})
    assert found(QUERIES, k=7) == make_base()(QUERIES, k=7)


@settings(max_examples=15, deadline=None)
@given(st.integers(-8, 8), st.integers(1, 10), st.sampled_from([0.0, 0.25]))
def test_a_constant_added_to_the_base_changes_no_ranking(constant, depth, threshold):
    base = {q: dict(zip(ITEMS, (float(x) for x in np.round(row, 3)), strict=True)) for q, row in _table().items()}
    moved = {q: {item: score + constant for item, score in row.items()} for q, row in base.items()}
    tables = [TableRetriever(table, list(ITEMS)) for table in (base, moved)]
    how = {**FIXED, "threshold": threshold, "encoder": ENCODER, "depth": depth}
    first, second = (pefa_xl(table, make_clicks(), **how) for table in tables)
    assert first(QUERIES, k=10).ids == second(QUERIES, k=10).ids


def _table() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {query: rng.permutation(len(ITEMS)) / 8 for query in QUERIES}


def test_item_that_only_votes_find_is_scored_by_the_base():
    found = pefa_xl(make_base(), make_clicks(), depth=1, **FIXED)(QUERIES, k=3)
    whole = answers(pefa_xl(make_base(), make_clicks(), depth=30, **FIXED))
    for row in range(len(QUERIES)):
        items, scores = found.row(row)
        np.testing.assert_allclose(scores, whole[row, items], atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_live_clicks_are_a_fresh_build_and_leave_no_trace(data):
    clicks = make_clicks()
    cut, order = data.draw(st.integers(1, len(clicks) - 1)), data.draw(st.permutations(clicks))
    old = pefa_xl(make_base(), order[:cut], **FIXED)
    new = old.with_clicks(order[cut:])
    assert new(QUERIES, k=9) == pefa_xl(make_base(), clicks, **FIXED)(QUERIES, k=9)
    assert new.without_clicks(order[cut:])(QUERIES, k=9) == old(QUERIES, k=9)


def test_automatic_choice_over_bm25_is_deterministic_and_survives_saving(tmp_path):
    base = bm25({f"i{n}": f"item {n}" for n in range(30)})
    found = pefa_xl(base, make_clicks(200), encoder=ENCODER)
    assert found.choice == pefa_xl(base, make_clicks(200)[::-1], encoder=ENCODER).choice
    assert found.choice.chosen["all"] == max(trial["all"] for trial in harmless(found.choice.trials))
    found.save(tmp_path / "xl")
    loaded = load(tmp_path / "xl").with_encoder(ENCODER)
    assert loaded(QUERIES) == found(QUERIES) and loaded.choice == found.choice


def test_explanation_adds_up_and_names_the_voters():
    found = pefa_xl(make_base(), make_clicks(), **FIXED)
    query, item, _ = make_clicks()[0]
    why = found.explain(query, item)
    assert why.score == pytest.approx(found.score(query, found(query, k=30)).to_dict()["0"][item], abs=1e-5)
    _, votes = why.parts
    assert votes.score == pytest.approx(sum(part.score for part in votes.parts), abs=1e-6)
    assert any(repr(query) in part.reason and "similarity 1.0000" in part.reason for part in votes.parts)
    assert "no near past query" in found.explain("ask 1", "i25").parts[1].reason
    stricter = pefa_xl(make_base(), make_clicks(), **{**FIXED, "threshold": 0.2})
    why = stricter.explain(query, item)
    assert why.score == pytest.approx(stricter.score(query, stricter(query, k=30)).to_dict()["0"][item], abs=1e-5)
    assert why.score == pytest.approx(sum(part.score for part in why.parts), abs=1e-6) and len(why.parts) == 3


class Counted(TableRetriever):
    """A table whose search and scores cost different numbers, of every kind."""

    def _search(self, queries, k, filter, threads):
        return super()._search(queries, k, filter, threads).with_stats(Stats(0, 1, 20, 300, 4000, True))

    def _score(self, queries, candidates, filter, threads):
        scored = super()._score(queries, candidates, filter, threads)
        return PairScores(scored.scores, Stats(0, 50_000 * len(scored.scores), 600_000, 7_000_000, 80_000_000))


def test_the_cost_is_that_of_the_base_of_what_only_votes_found_and_of_the_search_among_past_queries():
    clicks = make_clicks()
    query, item, _ = clicks[0]
    base = Counted({query: {"i25": 1.0}}, list(ITEMS))
    found = pefa_xl(base, clicks, encoder=ENCODER, **FIXED)
    past = found.index.search(ENCODER.queries([query]), 5).stats
    assert past.bytes > 0
    answer = found(query, k=30)
    missing = len(answer.items) - 1
    assert missing > 0 and item in answer.ids[0]
    expected = Stats(0, 1 + 50_000 * missing + past.scored, 600_020, 7_000_300, 80_004_000 + past.bytes, False)
    assert answer.stats.with_ms(0) == expected
    scored = found.score(query, answer).stats.with_ms(0)
    assert scored == Stats(0, 50_000 * (missing + 1) + past.scored, 600_000, 7_000_000, 80_000_000 + past.bytes)


def test_what_is_the_base_costs_what_the_base_costs():
    base = Counted({"ask 1": {"i25": 1.0}}, list(ITEMS))
    found = pefa_xl(base, make_clicks(), encoder=ENCODER, **{**FIXED, "weight": 1})
    assert found("ask 1").stats.with_ms(0) == base("ask 1").stats.with_ms(0)


def test_bytes_count_an_encoder_once():
    lsa = LsaEncoder.fit(ITEMS.values(), dim=4)
    base = dense(ITEMS, lsa)
    clicks = [(f"item {n}", f"i{n}") for n in range(9)]
    found = pefa_xl(base, clicks, **FIXED)
    log = found.log
    past = found.index.nbytes + log.offsets.nbytes + log.items.nbytes + log.units.nbytes + len(ITEMS)
    assert found.nbytes == base.nbytes + past and base.nbytes >= lsa.nbytes > 0
    words = bm25(ITEMS)
    assert pefa_xl(words, clicks, encoder=lsa, **FIXED).nbytes == words.nbytes + past + lsa.nbytes
    both = base.normalized() + found.normalized()
    assert both.nbytes == found.nbytes, "the base is in both, and is held once"
    other = dense(ITEMS, lsa)
    assert (other.normalized() + found.normalized()).nbytes == found.nbytes + other.index.nbytes, "one encoder"
    assert ((words >> base) % 3).nbytes == words.nbytes + base.nbytes


def test_settings_of_another_method_are_no_settings():
    with pytest.raises(InputError, match="PEFA-XL"):
        XlSettings.of({"weight": 0.5, "neighbors": 3, "below": 1})
    with pytest.raises(InputError, match="PEFA-XS"):
        XsSettings.of({"weight": 0.5, "lean": 1})


def test_an_encoder_of_words_is_refused():
    search = pefa_xl(make_base(), make_clicks(), **FIXED)
    words = bm25(ITEMS).encoder
    with pytest.raises(InputError, match="must be a dense Encoder"):
        type(search)(search.base, words, search.log, search.settings, search.index)
