"""What holds of a run's first query holds of its later ones: order of ties, grades, depth, missing queries."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.evaluation.judged_dict import JudgedDict
from tests.evaluation.test_evaluate import Slow
from tests.support.table_retriever import TableRetriever
from vizsla.core.candidates import Candidates
from vizsla.evaluation import compare, evaluate, overlap, sweep
from vizsla.evaluation.measures import _aggregate, parse_measure
from vizsla.evaluation.runs import in_run_order
from vizsla.io.trec import read_run, write_run
from vizsla.scorers.text import FunctionScorer

TEXTS = {"q1": "one", "q2": "two", "q3": "three", "q4": "four", "q5": "five"}
GRADES = {
    "q3": {"a": 3, "b": 1, "c": 0, "d": 2},
    "q1": {"a": 1},
    "q2": {"b": 0, "c": 0},  # judged, and nothing relevant
    "q5": {"b": 2, "a": 1},
    "q4": {},  # not judged
}
DATA = JudgedDict(TEXTS, GRADES)
# Items are numbered as they come: a, b, c, d. Every tie stands against this order, and none is in the first query.
RUN = {
    "q1": {"a": 3.0, "b": 2.0, "c": 1.0},
    "q2": {"b": 1.0, "a": 0.5},
    "q3": {"d": 2.0, "b": 2.0, "a": 2.0, "c": 2.0},
}


def gain(grades):
    return sum(grade / math.log2(1 + rank) for rank, grade in enumerate(grades, 1))


WANTED = {
    "nDCG@10": [1.0, 0.0, gain([2, 1, 3, 0]) / gain([3, 2, 1]), 0.0],
    "RR@10": [1.0, 0.0, 1.0, 0.0],
    "P@2": [0.5, 0.0, 1.0, 0.0],
    "R(rel=2)@1": [0.0, 0.0, 0.5, 0.0],
    "AP": [1.0, 0.0, 1.0, 0.0],
}


@pytest.mark.parametrize("form", ["dict", "path"])
def test_graded_measures_by_hand(form, tmp_path):
    given = RUN
    if form == "path":
        lines = [f"{query} Q0 {item} 9 {score} x\n" for query, row in RUN.items() for item, score in row.items()]
        given = tmp_path / "some.run"
        given.write_text("".join(lines))
    done = evaluate(given, DATA, measures=list(WANTED))
    assert done.query_ids == ["q1", "q2", "q3", "q5"]  # in the order of the queries, not of the judgments
    for measure, values in WANTED.items():
        assert np.nan_to_num(done.per_query[measure]).tolist() == pytest.approx(values), measure
        kept = done.per_query[measure][~np.isnan(done.per_query[measure])]
        assert done.measures[measure] == pytest.approx(kept.mean())
    assert (done.unjudged, done.unanswered, done.cost.queries) == (1, 1, 4)
    footnote = compare({"run": given}, DATA, measures="RR@10").footnote
    assert footnote.startswith("4 queries. 1 queries without judgments are left out. run answers 3 of them; ")


def test_answers_to_queries_that_nobody_judged_count_neither_way():
    more = {**RUN, "q4": {"a": 1.0}, "q9": {"a": 1.0}}
    done = evaluate(more, DATA, measures=["RR@10", "R@10"])
    assert done.measures == evaluate(RUN, DATA, measures=["RR@10", "R@10"]).measures
    assert done.unanswered == 1


@pytest.mark.parametrize("tied", range(4))
def test_ties_of_any_row_keep_the_order_of_its_lines(tied):
    rows = [["a", "b", "c", "d"], ["d", "c", "b", "a"], ["c", "a", "d", "b"], ["b", "d", "a", "c"]]
    run = {
        f"q{number}": {item: 5.0 if number == tied else 9.0 - rank for rank, item in enumerate(row)}
        for number, row in enumerate(rows)
    }
    found = in_run_order(run)
    assert found.ids == rows
    assert (found.top(1).scores == [5.0 if number == tied else 9.0 for number in range(4)]).all()


def test_equal_scores_of_neighboring_queries_are_no_ties():
    run = {"q1": {"a": 3.0, "b": 2.0}, "q2": {"b": 2.0, "a": 1.0}}
    assert in_run_order(run).to_dict() == run


def test_a_file_of_many_queries_is_read_as_it_was_written(tmp_path):
    rng = np.random.default_rng(1)
    rows = {
        f"q{number}": dict(zip("abcdefgh", rng.choice([0.1, 0.25, 1 / 3, 1e-7, 123456.7], 8).tolist(), strict=True))
        for number in range(6)
    }
    run = Candidates.from_dict(rows, catalog=None)
    write_run(run, tmp_path / "a.run", tag="mine")
    again = read_run(tmp_path / "a.run")
    assert list(again.query_ids) == list(rows)
    assert [dict(row) for row in again.to_dict().values()] == [dict(row) for row in run.to_dict().values()]
    lines = [line.split() for line in (tmp_path / "a.run").read_text().splitlines()]
    assert [line[3] for line in lines] == [str(rank) for _ in rows for rank in range(1, 9)]
    assert {line[1] for line in lines} == {"Q0"} and {line[5] for line in lines} == {"mine"}
    written = np.array([float(line[4]) for line in lines], np.float32)
    assert (written == run.scores).all()  # nine digits tell every float32 from the next


def test_a_run_is_cut_where_the_caller_says():
    deep = evaluate({"q3": RUN["q3"]}, DATA, measures="RR@2", k=2)
    assert [len(row) for row in deep.run.ids] == [2]
    both = compare({"x": RUN, "y": TableRetriever({"three": RUN["q3"]}, list("abcd"))}, DATA, measures="RR@2", k=2)
    assert max(len(row) for one in both.evaluations.values() for row in one.run.ids) == 2


def test_overlap_counts_relevant_items_within_the_depth():
    # Relevant: q1 a; q3 a, b, d; q5 a, b. What was judged irrelevant is not counted.
    left = {"q1": {"b": 2.0, "a": 1.0}, "q3": {"a": 3.0, "c": 2.0, "b": 1.0}}
    right = {"q1": {"a": 1.0}, "q3": {"d": 3.0, "a": 2.0, "b": 1.0}, "q5": {"c": 1.0}}
    other = {"q3": {"a": 1.0, "b": 0.5}}
    pair = overlap(left, right, DATA, k=2)
    assert (pair.both, pair.only_a, pair.only_b, pair.neither) == (2, 0, 1, 3)
    deeper = overlap(left, right, DATA, k=3, names=("l", "r"))
    assert (deeper.both, deeper.only_a, deeper.only_b, deeper.neither) == (3, 0, 1, 2)
    assert (deeper.a, deeper.b, deeper.recall_a, deeper.recall_b) == ("l", "r", 3 / 6, 4 / 6)
    seen = compare({"left": left, "right": right, "other": other}, DATA, measures="RR@10").overlaps(2)
    assert seen.relevant == 6 and seen.recall_union == 4 / 6
    assert [seen.recall(name) for name in ("left", "right", "other")] == [2 / 6, 3 / 6, 2 / 6]
    assert [seen.alone(name) for name in ("left", "right", "other")] == [0, 1 / 6, 1 / 6]
    assert (seen.missed_by("right", "left"), seen.missed_by("left", "right")) == (1 / 6, 0)
    assert (seen.missed_by("right", "other"), seen.missed_by("other", "right")) == (2 / 6, 1 / 6)


def test_only_relevant_items_are_ticked(capsys):
    swapped = {"q3": {"c": 2.0, "a": 1.0}}
    (one,) = compare({"x": RUN, "y": swapped}, DATA, measures="nDCG@10").differences(1, measure="nDCG@10", b="y")
    assert one.query == "q1"  # answered by one of the two alone
    two = compare({"x": RUN, "y": swapped}, DATA, measures="nDCG@10").differences(9)
    assert [each.query for each in two] == ["q1", "q3"]  # where both are equal, nothing is shown
    two[1].show()
    shown = capsys.readouterr().out
    assert "✓ a" in shown and "✓ d" in shown and "✓ c" not in shown


def test_costs_are_per_query():
    texts = {item: item for item in "abcd"}
    table = TableRetriever({"one": RUN["q1"], "two": RUN["q2"], "three": RUN["q3"]}, list("abcd"))
    asked = table % 4 >> FunctionScorer(lambda query, items: [len(item) for item in items], texts)
    cost = evaluate(asked, DATA, measures="RR@10", latency_queries=0).cost
    assert cost.model_calls == (3 + 2 + 4 + 0) / 4 and cost.scored == 0
    assert cost.ms_p50 is None and cost.items == 4


def test_model_calls_are_not_made_again_for_the_clock():
    asked = []

    def count(query, items):
        asked.append(query)
        return [1.0 for _ in items]

    table = TableRetriever({"one": RUN["q1"], "two": RUN["q2"], "three": RUN["q3"]}, list("abcd"))
    scored = table % 4 >> FunctionScorer(count, {item: item for item in "abcd"})
    done = evaluate(scored, DATA, measures="RR@10")
    assert done.cost.ms_p50 is None and sorted(set(asked)) == sorted(asked)


def test_every_system_and_setting_is_timed_on_the_callers_draw():
    def timed(run):
        systems = [Slow({"one": RUN["q1"]}, list("abcd")) for _ in range(2)]
        run(*systems)
        return [[texts[0] for texts, *_ in system.calls if len(texts) == 1] for system in systems]

    draws = {}
    for seed in (0, 3):
        options = {"measures": "RR@10", "latency_queries": 2, "seed": seed}
        one, other = timed(lambda a, b, how=options: compare({"x": a, "y": b}, DATA, **how))
        assert one == other and len(one) == 4  # two queries, once to warm up and once for the clock
        swept = timed(lambda a, b, how=options: sweep("n", {2.0: a, 1.0: b}, DATA, **how))
        assert swept == [one, one]
        draws[seed] = one
    assert draws[0] != draws[3]


def test_a_sweep_stands_in_the_order_of_its_setting():
    table = TableRetriever({"one": RUN["q1"]}, list("abcd"))
    swept = sweep("beam", [(8, table), (1, table), (16, table)], DATA, measures="RR@10", latency_queries=0)
    assert list(swept.evaluations) == [1, 8, 16]
    lines = swept.to_markdown().splitlines()[2:]
    assert [line.split("|")[1].strip() for line in lines] == ["beam 1", "beam 8", "beam 16"]


def test_the_table_shows_the_figures_as_they_are(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    done = evaluate(RUN, DATA, measures=["nDCG@10", "RR@10"], name="mine")
    mean = f"{np.mean(WANTED['nDCG@10']):.4f}"
    assert done.to_markdown().splitlines()[2] == f"| mine | {mean} | 0.5000 | – | – | – | – | – |"
    done.show()
    shown = capsys.readouterr().out
    assert mean in shown and "1 without judgments left out" in shown


def test_a_query_without_a_value_does_not_count_in_the_mean():
    values = np.array([1.0, np.nan, 0.5, np.nan])
    assert _aggregate(parse_measure("RR@10"), values) == 0.75
    assert _aggregate(parse_measure("NumRel"), values) == 1.5  # a count is summed
