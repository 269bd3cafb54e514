"""Scorers that read texts: three shapes of functions, one batch that spans queries, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.contract.catalog import ITEMS, QUERIES
from tests.scorers.counted import counted_scorer, overlap
from vizsla import Engine, Recipe, load
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.scorers.text import TAKES, FunctionScorer, TextScorer


def candidates(seed: int = 5) -> Candidates:
    pick = np.random.default_rng(seed)
    rows = [pick.choice(len(ITEMS), size=size, replace=False).astype(np.int32) for size in range(len(QUERIES))]
    return Candidates.from_rows(rows, catalog=Strings.of(ITEMS))


@pytest.mark.parametrize("takes", TAKES)
def test_every_shape_of_function_gives_the_same_scores(takes):
    wanted = candidates()
    found = counted_scorer(takes)[1].score(QUERIES, wanted)
    for query, hits in zip(QUERIES, found, strict=True):
        for hit in hits:
            assert hit.score == np.float32(overlap(query, ITEMS[hit.id]))
    assert found.stats.model_calls == len(wanted.items)


@pytest.mark.parametrize(("takes", "calls"), [("pairs", 1), ("batch", 1), ("query", len(QUERIES) - 1)])
def test_a_batch_that_spans_queries_is_one_call(takes, calls):
    function, scorer = counted_scorer(takes)
    wanted = candidates()  # the first query has no candidates
    scorer.score(QUERIES, wanted)
    assert len(function.calls) == calls
    truth = [(QUERIES[row], ITEMS[item]) for row, ids in enumerate(wanted.ids) for item in ids]
    assert function.pairs == truth


@pytest.mark.parametrize("takes", TAKES)
def test_nothing_to_score_calls_nothing(takes):
    function, scorer = counted_scorer(takes)
    nothing = Candidates.from_rows([np.zeros(0, np.int32)] * 2, catalog=scorer.items)
    assert scorer.score(["a", "b"], nothing).ids == [[], []]
    assert function.calls == []


def test_texts_of_a_dataset_are_title_and_text():
    with warnings.catch_warnings(action="ignore"):
        data = Dataset.of([{"id": "a", "title": "fig", "text": "a tree"}, {"id": "b", "text": "pear"}])
    seen = []
    scorer = FunctionScorer(lambda query, texts: seen.extend(texts) or [0.0] * len(texts), data)
    scorer.score("q", Candidates.from_dict({"0": {"b": 0.0, "a": 0.0}}))
    assert sorted(seen) == sorted([data.text("a"), data.text("b")])
    assert scorer.items == data.item_ids


def test_a_kind_of_its_own_scores_all_pairs_at_once_and_composes():
    class ByLength(TextScorer):
        fingerprint = "by length 1"
        batches = 0

        def score_pairs(self, queries, texts):
            self.batches += 1
            order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # as a cross-encoder sorts
            scores = np.zeros(len(texts))
            scores[order] = [len(texts[at]) for at in order]
            return scores

    scorer = ByLength(ITEMS)
    found = (bm25(ITEMS) >> scorer)(["fig tree", "pear"], k=3)
    assert scorer.batches == 1
    for hits in found:
        assert [hit.score for hit in hits] == sorted((float(len(ITEMS[hit.id])) for hit in hits), reverse=True)


@pytest.mark.parametrize(
    ("takes", "answer", "message"),
    [
        ("query", [1.0], r"must return 2 numbers. Got shape \(1,\)"),
        ("pairs", [[1.0], [2.0]], "must return 2 numbers"),
        ("batch", [], "must return 1 lists"),
        ("query", [1.0, float("nan")], "Got NaN for pair 1"),
    ],
)
def test_wrong_answers_of_a_function_raise(takes, answer, message):
    scorer = FunctionScorer(lambda *given: answer, {"a": "fig", "b": "pear"}, takes=takes)
    with pytest.raises(InputError, match=message):
        scorer.score("q", Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}}))


def test_wrong_texts_and_names_raise():
    with pytest.raises(InputError, match="mapping of id to text"):
        FunctionScorer(len, ["a text"])
    with pytest.raises(InputError, match="`name` must be"):
        FunctionScorer(len, {"a": "fig"}, name="")
    with pytest.raises(InputError, match="must hold texts. Got int for 'a'"):
        FunctionScorer(len, {"a": 3}).score("q", Candidates.from_dict({"0": {"a": 0.0}}))


def test_a_text_that_went_away_is_named():
    texts = {"a": "fig"}
    scorer = FunctionScorer(lambda query, texts: [0.0], texts)
    del texts["a"]
    with pytest.raises(InputError, match="Got none for 'a'"):
        scorer.score("q", Candidates.from_dict({"0": {"a": 0.0}}))


def test_a_fingerprint_is_the_given_name_or_the_functions_own():
    assert FunctionScorer(overlap, ITEMS, name="words 2").fingerprint == "function words 2"
    assert FunctionScorer(overlap, ITEMS).fingerprint == "function overlap"
    assert (FunctionScorer(overlap, ITEMS, name="words 2").named, FunctionScorer(overlap, ITEMS).named) == (True, False)


FRUIT = {"fig": "a fig tree", "apple": "an apple tree", "pear": "a pear"}


def by_hand(query, id):
    return float(len(set(query.split()) & set(FRUIT[id].split())))


@pytest.mark.parametrize("kind", [list, tuple, np.array, Strings.of])
def test_given_ids_are_scored_for_every_query(kind):
    scorer = FunctionScorer(lambda query, texts: [len(set(query.split()) & set(t.split())) for t in texts], FRUIT)
    found = scorer.score("fig tree", kind(["pear", "fig", "apple"]))
    assert found.to_dict() == {"0": {id: by_hand("fig tree", id) for id in ("fig", "apple", "pear")}}
    both = scorer.score(["fig tree", "a pear"], kind(["pear", "fig"]))
    assert both.to_dict() == {
        "0": {"fig": by_hand("fig tree", "fig"), "pear": 0.0},
        "1": {"pear": by_hand("a pear", "pear"), "fig": by_hand("a pear", "fig")},
    }


def test_each_query_may_have_its_own_ids():
    search = bm25(FRUIT)
    found = search.score(["fig tree", "a pear"], [["pear", "apple"], []])
    assert found.ids == [["apple", "pear"], []]
    whole = search.exact("fig tree", k=3).to_dict()["0"]
    assert found.to_dict()["0"] == {id: whole[id] for id in ("apple", "pear")}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("fig", "`candidates` must be Candidates or lists of item ids. Got str"),
        (b"fig", "Got bytes"),
        ({"fig": 1.0}, "`candidates` must be Candidates or lists of item ids. Got dict"),
        (None, "Got NoneType"),
        (["fig", "plum"], "Every candidate must be a known item. Got 'plum'"),
        (["fig", "fig"], "Every candidate must be given once per query. Got 'fig' again"),
        ([["fig"], ["pear"]], "`queries` must be as many as the candidates' rows"),
        (["fig", ["pear"]], "`candidates` must be a list of item ids per query. Got str"),
        ([1, 2], "`candidates` must be a list of item ids per query. Got int"),
        ([["fig", 2]], "must be a text. Got int"),
    ],
)
def test_what_names_no_items_raises(given, problem):
    with pytest.raises(InputError, match=problem):
        bm25(FRUIT).score("fig", given)


def kept(tmp_path, where):
    rows = [{"id": "f", "text": "a fig tree", "title": "Fig"}, {"id": "p", "text": "a pear"}]
    if where == "retriever":
        return bm25(Dataset.of(rows, keep_texts=True))
    if where == "artifact":
        bm25(Dataset.of(rows, keep_texts=True)).save(tmp_path / "saved")
        return load(tmp_path / "saved")
    engine = Engine.create(tmp_path / "engine", members={"words": Recipe.of("bm25")})
    engine.add(rows)
    return engine if where == "engine" else engine.member("words")


@pytest.mark.parametrize("where", ["retriever", "artifact", "engine", "member"])
def test_texts_come_from_what_keeps_them(tmp_path, where):
    seen = []

    def length(query, texts):
        seen.extend(texts)
        return [len(text) for text in texts]

    source = kept(tmp_path, where)
    scorer = FunctionScorer(length, source)
    assert list(scorer.items) == ["f", "p"]
    assert (source >> scorer)("a pear fig").to_dict() == {"0": {"f": 14.0, "p": 6.0}}
    assert sorted(seen) == ["Fig a fig tree", "a pear"]


def test_of_an_engine_a_scorer_knows_the_items_that_were_there(tmp_path):
    engine = kept(tmp_path, "engine")
    scorer = FunctionScorer(lambda query, texts: [len(text) for text in texts], engine)
    engine.upsert([{"id": "q", "text": "a quince"}, {"id": "f", "text": "figs"}])
    engine.delete("p")
    assert list(scorer.items) == ["f", "p"]
    assert list(FunctionScorer(scorer._function, engine).items) == list(engine.items)


def test_texts_that_were_not_kept_raise():
    with pytest.raises(InputError, match="keep_texts"):
        FunctionScorer(len, bm25({"a": "fig"}))
