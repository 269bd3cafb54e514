"""Any function that finds items is a retriever: filtered, combined, scored, and refused in words."""

from __future__ import annotations

import functools
import operator

import pytest

import vizsla
from vizsla.errors import CompositionError, InputError
from vizsla.methods import FunctionRetriever

TEXTS = {"fig": "a fig tree", "pear": "a pear tree", "plum": "plum tree", "rock": "granite"}
WORDS = vizsla.bm25(TEXTS)


def ask(query: str, k: int) -> dict[str, float]:
    return WORDS(query, k).to_dict()["0"]


def scores(query: str, ids: list[str]) -> list[float]:
    given = vizsla.Candidates.from_dict({"0": dict.fromkeys(ids, 0.0)}, catalog=WORDS.items)
    found = WORDS.score(query, given).to_dict()["0"]
    return [found[item] for item in ids]


SEARCH = FunctionRetriever(ask, TEXTS, score=scores)


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("where", [None, {"plum"}, {"pear", "rock"}, set()])
def test_it_answers_like_what_it_wraps_under_every_filter(k, where):
    queries = ["fig tree", "tree", "nothing", "granite fig"]
    assert SEARCH(queries, k, where=where) == WORDS(queries, k, where=where)


def test_the_function_is_asked_for_more_only_while_the_filter_needs_it():
    asked: list[int] = []

    def noted(query: str, k: int) -> list[tuple[str, float]]:
        asked.append(k)
        return list(ask(query, k).items())

    search = FunctionRetriever(noted, TEXTS)
    assert search("tree", 1).ids == WORDS("tree", 1).ids and asked == [1]
    assert search("tree", 1, where={"pear"}).ids == [["pear"]] and asked == [1, 1, 4]


def test_it_adds_joins_and_explains_like_any_other():
    both, twin = SEARCH.normalized() + WORDS.normalized(), WORDS.normalized() + WORDS.normalized()
    assert both("fig tree", 3).to_dict() == twin("fig tree", 3).to_dict()
    assert set((SEARCH | WORDS)("fig tree", 3).ids[0]) == {"fig", "pear", "plum"}
    assert SEARCH.explain("fig", "fig").score == WORDS.explain("fig", "fig").score


def test_without_a_scoring_function_only_what_it_finds_has_a_score():
    search = FunctionRetriever(ask, TEXTS)
    assert search.score("fig", search("fig")) == WORDS.score("fig", WORDS("fig"))
    with pytest.raises(CompositionError, match="has no score for 'rock', which it does not find. Give it `score=`"):
        search.score("fig", vizsla.Candidates.from_dict({"0": {"rock": 1.0}}, catalog=search.items))
    assert (search.normalized("rank") + WORDS.normalized("rank"))("granite fig").ids[0][:2] == ["rock", "fig"]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda query, k: {"elsewhere": 1.0}, "must find items of the catalog. Got 'elsewhere'"),
        (lambda query, k: {"fig": float("nan")}, "must return numbers. Got NaN"),
        (lambda query, k: ["fig"], "must return {item id: score}"),
        (lambda query, k: [("fig", "much")], "`scores` must be numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(function, words):
    with pytest.raises(InputError, match=words):
        FunctionRetriever(function, TEXTS)("fig")


def test_it_says_that_it_cannot_be_saved(tmp_path):
    with pytest.raises(InputError, match="must have a `kind` to be saved"):
        SEARCH.save(tmp_path / "never")
    assert not (tmp_path / "never").exists() and repr(SEARCH) == "FunctionRetriever(ask, 4 items)"


def test_common_slips_say_what_to_do():
    with pytest.raises(CompositionError, match="begins at 0: write `a \\+ b`"):
        sum([SEARCH, WORDS])
    assert len(functools.reduce(operator.add, [WORDS.normalized()] * 3)("fig").ids[0]) == 1
    with pytest.raises(InputError, match=r"Got 1: ids are texts, so write str\(id\)"):
        vizsla.bm25(["a", "b"], ids=[1, 2])
    with pytest.raises(InputError, match=r"position 0: ids are texts, so write str\(id\)"):
        vizsla.bm25({1: "a"})
    with pytest.raises(InputError, match="Got None at position 0"):
        vizsla.bm25([None, "b"])


@pytest.mark.parametrize("answer", [None, 3, ["fig"], {"fig"}])
def test_an_answer_that_is_no_answer_is_told_what_it_should_be(answer):
    search = FunctionRetriever(lambda query, k: answer, ["fig", "pear"])
    with pytest.raises(InputError, match=r"must return \{item id: score\}, or pairs of both\. Got"):
        search("fig")
