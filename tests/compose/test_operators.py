"""Composition against answers worked out by hand."""

from __future__ import annotations

import pytest

from tests.support.table_retriever import TableRetriever
from vizsla.errors import CompositionError
from vizsla.scorers.text import FunctionScorer
from vizsla.scorers.wrappers import Budget

ITEMS = ["a", "b", "c", "d", "e"]
LEFT = TableRetriever({"q": {"a": 4.0, "b": 3.0, "c": 2.0}}, ITEMS, scale="left", floor=1.0)
RIGHT = TableRetriever({"q": {"d": 9.0, "b": 8.0}}, ITEMS, scale="left", floor=0.5)
OTHER = TableRetriever({"q": {"d": 90.0, "b": 10.0}}, ITEMS, scale="right")
REVERSED = TableRetriever({"q": {"d": 9.0, "b": 8.0}}, ITEMS[::-1], scale="left", floor=0.5)


def test_sum_scores_what_one_side_did_not_find():
    found = (0.5 * LEFT + 2 * RIGHT)("q", k=10).to_dict()["0"]
    # a: .5*4 + 2*.5; b: .5*3 + 2*8; c: .5*2 + 2*.5; d: .5*1 + 2*9
    assert found == {"d": 18.5, "b": 17.5, "a": 3.0, "c": 2.0}


def test_sum_over_catalogs_in_another_order_is_the_same():
    assert (LEFT + REVERSED)("q", k=10).to_dict() == (LEFT + RIGHT)("q", k=10).to_dict()


def test_ranks_over_catalogs_in_another_order_are_the_same():
    backwards, forwards = ((LEFT.normalized("rank") + side.normalized("rank"))("q", k=10) for side in (REVERSED, RIGHT))
    assert backwards.to_dict() == forwards.to_dict()
    ties = TableRetriever({"q": {"b": 5.0, "e": 5.0}}, ITEMS[::-1], scale="left").normalized("rank")
    nobody = TableRetriever({}, ITEMS).normalized("rank")
    assert (nobody + ties)("q").to_dict() == ties("q").to_dict(), "places of equals are those of the part"


def test_sum_refuses_unlike_scales_and_says_what_to_do():
    with pytest.raises(CompositionError, match=r"one scale.*left, right.*normalized"):
        LEFT + OTHER


def test_sum_refuses_weights_that_make_scores_infinite():
    """Infinite scores would all be equal, and the order be that of the numbers."""
    with pytest.raises(CompositionError, match=r"at most 1e\+30 in all.*Got 1e\+300"):
        1e300 * LEFT + 1e300 * RIGHT
    deeper = (1e20 * LEFT).plus(RIGHT, depth=7)
    with pytest.raises(CompositionError, match="at most 1e"):
        1e20 * deeper
    large = (5e29 * LEFT + 2e29 * RIGHT)("q", k=10)
    assert large.ids == (5 * LEFT + 2 * RIGHT)("q", k=10).ids and len(set(large.scores.tolist())) == 4


def test_sum_refuses_parts_that_do_not_know_the_same_items():
    smaller = TableRetriever({"q": {"a": 1.0}}, ["a"], scale="left")
    with pytest.raises(CompositionError, match="same items"):
        LEFT + smaller


def test_minmax_makes_unlike_scales_addable():
    both = LEFT.normalized() + OTHER.normalized()
    # left: a 1, b .5, c 0, others (1 - 2) / 2 = -.5; right: d 1, b 0, others (0 - 10) / 80 = -.125
    assert both("q", k=10).to_dict()["0"] == {"a": 0.875, "b": 0.5, "d": 0.5, "c": -0.125}


def test_zscore_has_mean_zero_and_unit_spread():
    found = LEFT.normalized("zscore")("q", k=10).scores
    assert found.mean() == pytest.approx(0, abs=1e-6)
    assert found.std() == pytest.approx(1, abs=1e-6)


def test_rank_normalization_is_reciprocal_rank_fusion():
    found = (LEFT.normalized("rank") + OTHER.normalized("rank"))("q", k=10).to_dict()["0"]
    expected = {"b": 1 / 62 + 1 / 62, "a": 1 / 61, "d": 1 / 61, "c": 1 / 63}
    assert list(found) == list(expected)
    assert found == pytest.approx(expected)


def test_normalized_statistics_do_not_depend_on_k():
    assert LEFT.normalized()("q", k=2).to_dict()["0"] == {"a": 1.0, "b": 0.5}


def test_union_takes_turns_and_has_no_scores():
    found = (LEFT | OTHER)("q", k=10)
    assert found.scores is None
    assert found.ids == [["a", "d", "b", "c"]]
    assert (LEFT | OTHER)("q", k=2).ids == [["a", "d"]]
    assert found.stats.postings == 3 + 2, "what both sides cost"


def test_union_of_unlike_catalogs_knows_all_items():
    more = TableRetriever({"q": {"z": 1.0}}, ["z"], scale="x")
    assert (LEFT | more)("q", k=10).ids == [["a", "z", "b", "c"]]
    assert list((LEFT | more).items) == [*ITEMS, "z"]


def test_union_cannot_be_added_or_scored_alone():
    with pytest.raises(CompositionError, match="match set"):
        (LEFT | OTHER) + LEFT
    with pytest.raises(CompositionError, match="Score it"):
        (LEFT | OTHER).score("q", LEFT("q"))


def test_rerank_scores_at_most_depth_and_counts_the_calls():
    seen = []

    def by_letter(query, texts):
        seen.extend(texts)
        return [ord(text) for text in texts]

    scorer = FunctionScorer(by_letter, {item: item for item in ITEMS})
    found = LEFT.rerank(scorer, depth=2)("q", k=1)
    assert found.ids == [["b"]]
    assert seen == ["a", "b"]
    assert found.stats.model_calls == 2


def test_rerank_of_a_union_of_unlike_catalogs():
    more = TableRetriever({"q": {"z": 1.0}}, ["z"], scale="x")
    scorer = FunctionScorer(lambda q, ts: [ord(t) for t in ts], {item: item for item in [*ITEMS, "z"]})
    assert ((LEFT | more) >> scorer)("q", k=3).ids == [["z", "c", "b"]]


def test_cut_is_pushed_down():
    assert (LEFT % 2)("q", k=10).ids == [["a", "b"]]
    assert (LEFT % 2)("q", k=10).stats.postings == 2
    assert ((LEFT % 2) >> OTHER)("q", k=10).to_dict()["0"] == {"b": 10.0, "a": 0.0}


def test_where_reaches_every_part():
    composed = (
        LEFT + RIGHT,
        LEFT | OTHER,
        (LEFT | OTHER) >> OTHER,
        LEFT.normalized() + OTHER.normalized(),
        LEFT + REVERSED,
    )
    for each in composed:
        assert sorted(each("q", k=10, where={"b", "d"}).ids[0]) == ["b", "d"]


def test_explanations_add_up():
    why = (0.5 * LEFT + 2 * RIGHT).explain("q", "b")
    assert why.score == 17.5
    assert [part.score for part in why.parts] == [1.5, 16.0]
    assert (LEFT >> OTHER).explain("q", "b").score == 10.0
    assert LEFT.normalized().explain("q", "b").score == 0.5


def test_nested_sums_flatten_and_keep_their_weights():
    total = 2 * (0.5 * LEFT + RIGHT) + LEFT
    assert total.weights == [1.0, 2.0, 1.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LEFT >> 3, "Scorer. Got int"),
        (lambda: LEFT | 3, "Retriever. Got int"),
        (lambda: LEFT + "b", "Retriever. Got str"),
        (lambda: LEFT * "b", "number. Got str"),
        (lambda: LEFT % 2.5, "int. Got float"),
        (lambda: LEFT * -1, "at least 0. Got -1"),
        (lambda: LEFT * float("nan"), "at least 0. Got nan"),
    ],
)
def test_wrong_operands_get_a_clear_error(make, message):
    with pytest.raises(CompositionError, match=message):
        make()


def test_rerank_goes_deeper_when_more_is_asked_for():
    found = LEFT.rerank(OTHER, depth=1)("q", k=3)
    assert found.to_dict()["0"] == {"b": 10.0, "a": 0.0, "c": 0.0}
    assert LEFT.rerank(OTHER, depth=1)("q", k=1).ids == [["a"]]


def test_sums_of_another_depth_are_not_taken_apart():
    """Only the best of the inner sum are candidates of the outer one."""
    inner = LEFT.plus(RIGHT, depth=1)
    assert (inner.plus(LEFT, depth=1)).weights == [1.0, 1.0, 1.0]
    outer = inner.plus(TableRetriever({}, ITEMS, scale="left"), depth=3)
    assert outer.parts[0] is inner
    # a and d are the best of either side; three are wanted, so the inner sum looks three deep
    assert outer("q", k=1).to_dict()["0"] == {"b": 11.0}


def test_equals_of_a_part_go_by_the_numbers_of_the_composition():
    ties = TableRetriever({"q": {"b": 5.0, "d": 5.0, "e": 5.0}}, ITEMS[::-1], scale="left")
    nobody = TableRetriever({}, ITEMS, scale="left")
    assert ties("q").ids == [["e", "d", "b"]]
    assert (nobody | ties)("q").ids == [["b", "d", "e"]]


def test_what_parts_share_needs_its_bytes_once():
    assert (LEFT + RIGHT).nbytes == LEFT.nbytes + RIGHT.nbytes
    assert ((LEFT % 2) >> LEFT).nbytes == LEFT.nbytes
    assert (LEFT.normalized() + LEFT.normalized("minmax", depth=3)).nbytes == LEFT.nbytes
    assert (LEFT % 2).rerank(Budget(LEFT, calls=9)).nbytes == LEFT.nbytes
