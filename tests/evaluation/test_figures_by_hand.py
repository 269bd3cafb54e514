"""Figures of evaluation from their definitions: shares, accuracies, propensities, costs, names, notes of runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.judged_dict import JudgedDict
from vizsla import Dataset, bm25
from vizsla.core.candidates import Candidates, Stats
from vizsla.errors import BudgetError, InputError
from vizsla.evaluation import compare, evaluate
from vizsla.evaluation.compare import LETTERS, PairedTest, better_than, letters_of
from vizsla.evaluation.cost import Cost, cost_of, measured_ms, unknown_cost
from vizsla.evaluation.judgments import Judgments, judged_splits
from vizsla.evaluation.overlap import Overlap, OverlapMatrix, answer_accuracy
from vizsla.evaluation.propensity import PropensityPrecision, inverse_propensities
from vizsla.evaluation.runs import fuse_runs, run_of, system_name


@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 10**6))
def test_shares_of_an_overlap_are_counts_over_all_pairs(systems, pairs, seed):
    found = np.random.default_rng(seed).random((systems, pairs)) < 0.5
    names = [f"s{number}" for number in range(systems)]
    seen = OverlapMatrix(names, 3, found)
    sets = [set(np.flatnonzero(row).tolist()) for row in found]
    assert (seen.relevant, seen.recall_union) == (pairs, len(set().union(*sets)) / pairs)
    for at, name in enumerate(names):
        others = set().union(*(own for number, own in enumerate(sets) if number != at))
        assert seen.recall(name) == len(sets[at]) / pairs and seen.alone(name) == len(sets[at] - others) / pairs
        for number, other in enumerate(names):
            assert seen.missed_by(name, other) == len(sets[at] - sets[number]) / pairs
    told = seen.to_dict()["systems"]
    assert all(set(told[name]["missed_by"]) == set(names) - {name} for name in names)


@pytest.mark.parametrize(
    ("counts", "wanted"),
    [((0, 0, 0, 0), (0, 0, 0)), ((1, 0, 0, 0), (1, 1, 1)), ((0, 1, 0, 0), (1, 0, 1)), ((1, 2, 3, 4), (0.3, 0.4, 0.6))],
)
def test_shares_of_two_match_sets(counts, wanted):
    seen = Overlap("a", "b", 5, *counts)
    assert (seen.recall_a, seen.recall_b, seen.recall_union) == wanted and seen.relevant == sum(counts)


@pytest.mark.parametrize("k", [1, 2, 5, 20, 100])
def test_an_answer_counts_from_its_rank_on(k):
    depths = {1: [1], 2: [1, 2], 5: [1, 5], 20: [1, 5, 20], 100: [1, 5, 20, 100]}[k]
    texts = {f"p{number}": f"text {number} " + ("art" if number % 7 == 6 else "") for number in range(120)}
    run = {f"q{first}": {f"p{(first + rank) % 120}": 200.0 - rank for rank in range(110)} for first in range(7)}
    found = answer_accuracy(run, {query: ["Art", "none"] for query in [*run, "gone"]}, texts, k=k)
    assert list(found) == [f"top-{depth}" for depth in depths]
    for depth in depths:  # the query q{n} finds its answer at rank 7 - n
        assert found[f"top-{depth}"] == pytest.approx(sum(7 - first <= depth for first in range(7)) / 8)
    with pytest.raises(InputError, match="at least one"):
        answer_accuracy(run, {}, texts)
    with pytest.raises(InputError, match="list of texts"):
        answer_accuracy(run, {"q0": "art"}, texts)


def test_letters_name_who_is_surely_worse_by_this_measure():
    def paired(measure, a, b, difference, p_holm):
        return PairedTest(measure, a, b, difference, p_holm / 2, p_holm, 0.0, 0.0, 0.0)

    tests = [
        paired("R@1", "a", "b", 0.1, 0.049), paired("R@1", "a", "c", -0.1, 0.01), paired("R@1", "b", "c", 0.1, 0.05),
        paired("R@5", "b", "a", 0.1, 0.01),
    ]  # fmt: skip
    assert [better_than(tests, "R@1", name) for name in "abc"] == [["b"], [], ["a"]]
    assert [better_than(tests, "R@5", name) for name in "abc"] == [[], ["a"], []]
    assert better_than(tests, "R@1", "b", alpha=0.051) == ["c"] and better_than(tests, "R@1", "a", alpha=0.01) == []
    many = [str(number) for number in range(len(LETTERS) + 1)]
    assert list(letters_of(many[:-1]).values()) == list(LETTERS) and set(letters_of(many).values()) == {""}


GRADES = {f"q{number}": {"a": 1, "b": 2} for number in range(6)}
DATA = JudgedDict({query: f"text of {query}" for query in GRADES}, GRADES)


def test_the_largest_differences_come_first_whichever_system_is_ahead():
    left = {"q0": {"a": 1.0}, "q1": {"x": 2.0, "a": 1.0}, "q3": {"a": 1.0}, "q4": {"x": 3.0, "y": 2.0, "a": 1.0}}
    right = {"q0": {"x": 2.0, "a": 1.0}, "q1": {"b": 1.0}, "q2": {"x": 1.0}, "q3": {"b": 1.0}, "q5": {"a": 9.0}}
    done = compare({"left": left, "right": right}, DATA, measures=["RR@10", "R@10"])
    found = done.differences(10)
    # Reciprocal ranks: 1, ½, 0, 1, ⅓, 0 against ½, 1, 0, 1, 0, 1.
    assert [one.query for one in found] == ["q5", "q0", "q1", "q4"]
    assert [one.values for one in found] == [(0, 1), (1, 0.5), (0.5, 1), (pytest.approx(1 / 3), 0)]
    assert found[1].answers == (["a"], ["x", "a"]) and found[0].text == "text of q5" and found[0].grades == GRADES["q5"]
    assert [one.query for one in done.differences(2)] == ["q5", "q0"]
    assert {one.query for one in done.differences(9, measure="R@10")} == {"q4", "q5"}
    turned = done.differences(10, b="left")  # against the first system stands the next one
    assert [one.query for one in turned] == ["q5", "q0", "q1", "q4"] and turned[0].names == ("right", "left")
    assert [one.values for one in turned] == [one.values[::-1] for one in found]


def test_costs_are_percentiles_and_means_per_query():
    search = bm25({"a": "fig", "b": "pear"})
    run = search(["fig", "pear", "fig pear", "plum"]).with_stats(Stats(scored=10, model_calls=6))
    ms = np.arange(1.0, 102.0)
    cost = cost_of(search, run, ms)
    assert (cost.ms_p50, cost.ms_p99, cost.ms_quartiles) == (51.0, 100.0, (26.0, 76.0))
    assert (cost.scored, cost.model_calls, cost.queries, cost.items) == (2.5, 1.5, 4, 2)
    assert cost.bytes == search.nbytes and cost.bytes_per_item == search.nbytes / 2
    none = cost_of(search, run[:0], ms[:0])
    assert (none.ms_p50, none.ms_quartiles, none.scored) == (None, None, 10.0)
    assert Cost(None, None, 7, None, None, 0, 0).bytes_per_item == 7
    assert Cost(None, None, None, None, None, 0, 3).bytes_per_item is None
    given = unknown_cost(Candidates.from_dict({"q": {"a": 1.0, "b": 1.0}}), 5)
    assert (given.queries, given.items, given.bytes) == (5, 2, None)


class Asked:
    """A retriever that writes down what it was asked."""

    def __init__(self, fail=False):
        self.texts, self.fail = [], fail

    def __call__(self, text, k):
        self.texts.append((text, k))
        if self.fail:
            raise BudgetError("no budget is left.")


def test_single_queries_are_timed_once_after_a_warm_up_and_not_where_models_are_paid():
    texts = [f"q{number}" for number in range(40)]
    free, paid = (Candidates.from_dict({}).with_stats(Stats(model_calls=calls)) for calls in (0, 1))
    asked = Asked()
    assert len(measured_ms(asked, texts, 7, free, sample=None, seed=3)) == 40
    assert {text for text, _ in asked.texts} == set(texts) and {k for _, k in asked.texts} == {7}
    extra = len(asked.texts) - 40
    assert 0 < extra < 40 and asked.texts[:extra] == asked.texts[extra : 2 * extra], "what warms up is timed too"
    again = Asked()
    measured_ms(again, texts, 7, free, sample=None, seed=3)
    assert again.texts == asked.texts
    few = Asked()
    assert len(measured_ms(few, texts, 7, paid, sample=5, seed=3)) == 5
    assert few.texts[-5:] == asked.texts[extra : extra + 5]
    for sample, run in ((None, paid), (0, free)):
        silent = Asked()
        assert len(measured_ms(silent, texts, 7, run, sample=sample, seed=3)) == 0 and not silent.texts
    assert len(measured_ms(Asked(fail=True), texts, 7, free, sample=None, seed=3)) == 0
    for wrong in (-1, True, 1.5):
        with pytest.raises(InputError, match="latency_queries"):
            measured_ms(Asked(), texts, 7, free, sample=wrong, seed=3)


def test_propensities_by_hand():
    """4 queries with clicks, of 5; items with 3, 1 and no click; A = .55 and B = 1.5."""
    clicks = {"0": {"a": 1, "b": 2}, "1": {"a": 1}, "2": {"a": 4}, "3": {"c": 1}}
    queries = {str(number): f"text {number}" for number in range(5)}
    data = Dataset.of({"a": "x", "b": "y", "c": "z", "d": "w"}, queries=queries, clicks=clicks)
    slope = max((np.log(4) - 1) * 2.5**0.55, 0)
    wanted = {item: 1 + slope * (count + 1.5) ** -0.55 for item, count in {"a": 3, "b": 1, "c": 1, "": 0}.items()}
    found = inverse_propensities(data)
    assert found == pytest.approx(wanted) and inverse_propensities(Dataset.of(["x"])) is None
    run = Candidates.from_dict({"p": {"d": 3.0, "b": 2.0, "a": 1.0}, "q": {"a": 2.0, "d": 1.0}})
    grades = {"p": {"a": 1, "b": 1, "c": 0}, "q": {"d": 1, "a": 0}, "r": {"b": 1}}
    values = PropensityPrecision(2).per_query(run, grades, found)
    best = np.mean([found["a"] + found["b"], found[""], found["b"]])
    assert values.tolist() == pytest.approx([found["b"] / best, found[""] / best, 0])
    assert PropensityPrecision(1).per_query(run, grades, found).tolist() == [0, 0, 0]
    first = PropensityPrecision(1).per_query(run, {"q": {"a": 1, "d": 1}}, found)
    assert first.tolist() == pytest.approx([found["a"] / found[""]])


def test_a_run_is_called_as_its_file():
    names = {
        "x/a.run": "a",
        "a.trec.gz": "a",
        "a.txt": "a",
        "a.b": "a.b",
        "a.gz": "a",
        ".run": "run",
        "a.run.run": "a.run",
    }
    assert {path: system_name(path) for path in names} == names


def test_frames_are_runs_by_score_or_by_rank():
    import pandas

    rows = {"Query": ["q", "q", "p"], "Document": ["a", "b", "a"], "Score": [1.0, 2.0, 3.0], "rank": [1, 2, 1]}
    frame = pandas.DataFrame(rows)
    assert run_of(frame).to_dict() == {"q": {"b": 2.0, "a": 1.0}, "p": {"a": 3.0}}
    by_rank = run_of(frame.drop(columns="Score"))
    assert (list(by_rank.query_ids), by_rank.ids) == (["q", "p"], [["a", "b"], ["a"]])
    for wrong in (frame.drop(columns="Query"), frame.drop(columns=["Score", "rank"]), pandas.concat([frame, frame])):
        with pytest.raises(InputError, match="A run must"):
            run_of(wrong)
    with pytest.raises(InputError, match="in row 2"):
        run_of(frame.assign(Score=[1.0, float("nan"), 2.0]))


def test_what_a_run_and_the_judgments_do_not_know_of_each_other():
    deep = {"q0": {f"x{rank}": 50.0 - rank for rank in range(10)} | {"a": 1.0}}
    notes = evaluate(deep, DATA, measures=["R@20"]).notes
    assert any("5 of 6 judged queries are not answered" in note and "'q1'" in note for note in notes)
    assert any("None of the 10 best" in note for note in notes)
    fine = {query: {f"x{rank}": 50.0 - rank for rank in range(9)} | {"a": 1.0} for query in GRADES}
    assert not evaluate(fine, DATA, measures=["R@20"]).notes
    with pytest.raises(InputError, match="must answer judged queries"):
        evaluate({"other": {"a": 1.0}}, DATA, measures=["R@20"])


def test_judgments_come_in_any_form_and_agree(tmp_path):
    grades = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
    (tmp_path / "trec").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 a 1\n")
    (tmp_path / "texts.tsv").write_text("q1\tfirst\nq9\tother\n")
    triples = [("q1", "a", 2), ("q1", "b", 0), ("q2", "a", 1)]
    for form in (grades, triples, tmp_path / "trec", str(tmp_path / "trec")):
        found = judged_splits(form, "dev")
        assert found.qrels_dict("dev") == grades and found.splits == ("dev",)
    told = Judgments.of(triples, queries=tmp_path / "texts.tsv")
    assert told.query_texts() == (["q1", "q2"], ["first", ""]) and not told.has_texts
    assert Judgments(grades, texts={"q1": "x", "q2": "y"}).has_texts
    with pytest.raises(InputError, match="at least one"):
        Judgments.of([])
    assert judged_splits(told) is told


@pytest.mark.parametrize("count", [2, 3])
def test_a_fusion_needs_weights_for_each_run_and_keeps_the_best(count):
    runs = [{"q": {"a": 3.0, "b": 2.0}}, {"q": {"b": 3.0, "c": 1.0}}, {"p": {"d": 1.0}}][:count]
    fused = fuse_runs(runs, rank_constant=1, k=2).to_dict()
    assert fused["q"] == pytest.approx({"b": 1 / 3 + 1 / 2, "a": 1 / 2}) and len(fused) == count - 1
    for wrong in ([1.0], [1.0] * (count + 1), [-1.0] * count, [float("nan")] * count):
        with pytest.raises(InputError, match="weights"):
            fuse_runs(runs, weights=wrong)
    with pytest.raises(InputError, match="rank_constant"):
        fuse_runs(runs, rank_constant=-0.1)
    assert fuse_runs(runs, rank_constant=0).to_dict()["q"]["a"] == pytest.approx(1.0)
