"""What changes no figure: queries without a value, and items below a depth; and calls that were not asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.evaluation.judged_dict import JudgedDict
from vizsla import FunctionScorer, bm25
from vizsla.evaluation import compare, evaluate
from vizsla.evaluation.compare import paired_tests
from vizsla.evaluation.measures import JudgedQueries
from vizsla.evaluation.runs import run_notes
from vizsla.evaluation.significance import effect_size, mean_interval, share_bounds

ITEMS = [f"d{number}" for number in range(14)]


class Measured:
    """As much of an Evaluation as paired tests ask for."""

    def __init__(self, values):
        self.per_query = self.measures = values


@pytest.mark.parametrize("test", ["randomization", "t"])
@given(st.integers(0, 10**6), st.integers(1, 12), st.lists(st.integers(0, 12), max_size=4))
def test_a_query_for_which_a_measure_is_not_defined_changes_no_figure_of_a_test(test, seed, queries, gaps):
    rng = np.random.default_rng(seed)
    values = {name: {"P": rng.integers(0, 5, queries) / 4, "R": rng.random(queries)} for name in "abc"}
    places = [min(gap, queries) for gap in gaps]
    wider = {name: {m: np.insert(v, places, np.nan) for m, v in own.items()} for name, own in values.items()}
    plain, with_gaps = (
        paired_tests({name: Measured(own) for name, own in given.items()}, test=test) for given in (values, wider)
    )
    for one, other in zip(plain, with_gaps, strict=True):
        assert (one.measure, one.a, one.b) == (other.measure, other.a, other.b)
        assert list(other.to_dict().values())[3:] == pytest.approx(list(one.to_dict().values())[3:], nan_ok=True)
        difference = values[one.a][one.measure] - values[one.b][one.measure]
        assert one.difference == pytest.approx(difference.mean()) and one.effect == effect_size(difference)
        assert (one.low, one.high) == pytest.approx(mean_interval(difference, bounds=(-1, 1)), nan_ok=True)


@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([1, 3]))
def test_an_interval_ends_where_the_values_of_a_measure_end(seed, queries, most):
    rng = np.random.default_rng(seed)
    first, second = (np.append(rng.integers(0, 2, queries) * most, most).astype(float) for _ in range(2))
    found = paired_tests({"a": Measured({"P": first}), "b": Measured({"P": second})})[0]
    free = mean_interval(first - second)
    inside = (max(free.low, -1.0), min(free.high, 1.0)) if most == 1 else tuple(free)
    assert (found.low, found.high) == pytest.approx(inside)
    own = mean_interval(first, bounds=share_bounds(first))
    assert own.high <= 1 if most == 1 else own == mean_interval(first)


@given(st.integers(1, 6), st.integers(0, 12), st.booleans())
@example(3, 3, True)
@example(3, 2, True)
def test_answers_are_looked_up_among_the_judged_items_of_their_own_query_down_to_the_depth(depth, place, own):
    judged = JudgedDict({"q1": "one", "q2": "two"}, {"q1": {"x": 1}, "q2": {"y": 1}})
    rows = {"q1": list(ITEMS), "q2": list(ITEMS)}
    rows["q1" if own else "q2"].insert(place, "x")
    run = {query: {item: -float(rank) for rank, item in enumerate(row)} for query, row in rows.items()}
    said = run_notes(evaluate(run, judged, measures="R@5").run, JudgedQueries.of(judged, "test"), depth=depth)
    assert len(said) == (0 if own and place < depth else 1)
    assert all(f"None of the {depth} best items of any query is judged" in one for one in said)


@pytest.mark.parametrize("timed", [None, 0, 1, 2, 9])
def test_a_model_is_called_again_only_to_time_as_many_queries_as_are_asked_for(timed):
    items = {"a": "fig", "b": "fig tree", "c": "pear"}
    judged = JudgedDict({"q1": "fig", "q2": "pear", "q3": "tree"}, {q: {"a": 1} for q in ("q1", "q2", "q3")})
    for model in (True, False):
        asked = []

        def score(query, texts, asked=asked):
            asked.extend([query] * len(texts))
            return [float(len(text)) for text in texts]

        search = bm25(items) >> FunctionScorer(score, items, model_calls=model)
        done = evaluate(search, judged, measures="RR@10", latency_queries=timed)
        once = 2 + 1 + 1
        assert done.cost.model_calls == (once / 3 if model else 0) and done.cost.scored == (0 if model else once / 3)
        if not timed and (model or timed == 0):
            assert len(asked) == once and done.cost.ms_p50 is None
        else:  # each of the drawn queries to warm up, and then for its time
            drawn = min(3 if timed is None else timed, 3)
            assert done.cost.ms_p50 is not None and once + 2 * drawn <= len(asked) <= once + 2 * drawn + 2


def test_left_out_names_stand_for_the_first_system_and_the_best_of_the_others():
    qrels = {f"q{n}": {"x": 1} for n in range(4)}
    judged = JudgedDict(dict.fromkeys(qrels, "text"), qrels)

    def found(hits):
        return {query: {"x" if n < hits else "z": 1.0} for n, query in enumerate(qrels)}

    systems = {"good": found(3), "first": found(1), "worst": found(0), "best": found(4)}
    for order in (["first", "good", "worst", "best"], ["best", "worst", "good", "first"]):
        for baseline in (None, "good", "worst"):
            done = compare({name: systems[name] for name in order}, judged, measures="R@5", baseline=baseline)
            one = baseline or order[0]
            rival = "good" if one == "best" else "best"
            for difference in done.differences(9):
                assert difference.names == (one, rival)
            assert len(done.differences(9)) == abs(
                sum(done.evaluations[one].per_query["R@5"]) - sum(done.evaluations[rival].per_query["R@5"])
            )
            assert {each.names for each in done.differences(9, a="first", b="worst")} == {("first", "worst")}
