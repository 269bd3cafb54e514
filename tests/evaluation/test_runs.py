"""A run is a system: it is measured like the retriever that made it, whatever form it comes in."""

from __future__ import annotations

import math

import pytest

from tests.evaluation.judged_dict import JudgedDict
from tests.evaluation.random_systems import judged_dict, noisy_system
from vizsla.cli import main
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError
from vizsla.evaluation import compare, evaluate, overlap
from vizsla.evaluation.measures import ranked_run
from vizsla.evaluation.plots import steady
from vizsla.evaluation.runs import _has_ties, in_run_order
from vizsla.methods.bm25 import bm25

DATA = judged_dict(40)
SYSTEM = noisy_system(DATA, noise=1.0, seed=1)
# Scores that fall by one a rank: Candidates have equal ones go by item numbers, which a file does not know.
RANKED = ranked_run(SYSTEM(list(DATA.texts.values()), 20).with_query_ids(list(DATA.texts)))
RUN = Candidates.from_dict(RANKED)
MEASURES = ["nDCG@10", "R@5"]


@pytest.fixture(params=["candidates", "dict", "text path", "path", "gzipped"])
def run(request, tmp_path):
    file = tmp_path / "mine.run"
    RUN.to_trec(file)
    if request.param == "gzipped":
        import gzip

        file.with_name("mine.run.gz").write_bytes(gzip.compress(file.read_bytes()))
        return file.with_name("mine.run.gz")
    return {"candidates": RUN, "dict": RUN.to_dict(), "text path": str(file), "path": file}[request.param]


def test_a_run_is_measured_like_the_retriever_that_made_it(run):
    asked, given = (evaluate(system, DATA, measures=MEASURES, latency_queries=0) for system in (SYSTEM, run))
    assert given.measures == asked.measures
    assert all((given.per_query[name] == asked.per_query[name]).all() for name in MEASURES)
    assert (given.cost.ms_p50, given.cost.bytes, given.cost.bytes_per_item, given.cost.model_calls) == (None,) * 4
    assert given.cost.queries == 40 and given.name == ("mine" if not isinstance(run, dict | type(RUN)) else "run")


@pytest.mark.parametrize("form", ["path", "dict"])
def test_equal_scores_of_a_run_keep_the_order_of_its_lines(form, tmp_path):
    tied = noisy_system(DATA, noise=1.0, seed=1, decimals=0)
    asked = evaluate(tied, DATA, measures=MEASURES, latency_queries=0)
    asked.to_trec(tmp_path / "tied.run")
    found = tied(list(DATA.texts.values()), 20)
    assert len(set(found.scores.tolist())) < len(found.items)
    given = tmp_path / "tied.run" if form == "path" else found.with_query_ids(list(DATA.texts)).to_dict()
    assert evaluate(given, DATA, measures=MEASURES).measures == asked.measures


def test_scores_that_only_a_longer_float_tells_apart_keep_their_order():
    close = {"q": {"a": 1.0, "b": 1.0 + 1e-12}, "r": {"b": 5.0, "a": 5.0, "c": 5.0, "d": 9.0}, "s": {}}
    assert in_run_order(close).ids == [["b", "a"], ["d", "b", "a", "c"], []]


def test_what_a_run_leaves_out_counts_as_zero_and_is_said():
    half = {query: row for query, row in RUN.to_dict().items() if int(query.strip("q")) % 2}
    done = compare({"half": half, "whole": RUN}, DATA, measures=MEASURES)
    assert 0 < done.evaluations["half"].unanswered < 40 and done.evaluations["whole"].unanswered == 0
    answered = 40 - done.evaluations["half"].unanswered
    assert f"half answers {answered} of them; the others count as 0." in done.footnote
    values = [one.per_query["R@5"] for one in done.evaluations.values()]
    assert values[0].tolist() == [v if query in half else 0 for v, query in zip(values[1], DATA.texts, strict=True)]


def test_a_run_of_other_queries_is_refused():
    with pytest.raises(InputError, match="must answer judged queries of split 'test'.*to 'elsewhere'"):
        evaluate({"elsewhere": {"a": 1.0}}, DATA, measures=MEASURES)
    with pytest.raises(InputError, match="A system must be a Retriever, Candidates.*Got int"):
        evaluate(7, DATA, measures=MEASURES)


def test_a_comparison_of_a_retriever_and_a_run_is_a_table_and_a_plot(tmp_path):
    done = compare({"asked": SYSTEM, "given": RUN}, DATA, measures=MEASURES, latency_queries=3)
    row = done.to_markdown().splitlines()[3]
    assert row.startswith("| b | given |") and row.endswith("| – | – | – | – | – |")
    assert done.plot(tmp_path / "p.png").stat().st_size > 5000
    with pytest.raises(InputError, match="must be a cost that was measured"):
        compare({"given": RUN}, DATA, measures=MEASURES).plot(tmp_path / "p.png")


SMALL = JudgedDict({"q1": "one", "q2": "two"}, {"q1": {"a": 1, "b": 2, "c": 0}, "q2": {"c": 1, "d": 1, "e": 1}})
LEFT = {"q1": {"a": 3.0, "c": 2.0, "b": 1.0}, "q2": {"c": 2.0, "d": 1.0}}
RIGHT = {"q1": {"b": 3.0, "a": 2.0}, "q2": {"x": 3.0, "c": 1.0}}


def test_the_overlap_of_all_pairs_is_one_matrix_counted_by_hand(capsys):
    # Depth 2: left finds a | c, d; right finds b, a | c. Relevant are a, b | c, d, e.
    seen = compare({"left": LEFT, "right": RIGHT}, SMALL, measures="R@2").overlaps(2)
    assert (seen.relevant, seen.recall_union) == (5, 0.8)
    assert (seen.recall("left"), seen.recall("right")) == (0.6, 0.6)
    assert (seen.missed_by("left", "right"), seen.missed_by("right", "left"), seen.alone("left")) == (0.2, 0.2, 0.2)
    pair = overlap(LEFT, RIGHT, SMALL, k=2)
    assert (pair.both, pair.only_a, pair.only_b, pair.neither) == (2, 1, 1, 1)
    seen.show()
    assert "5 relevant items, depth 2" in capsys.readouterr().out


def test_the_queries_that_differ_most_come_with_both_answers(capsys):
    done = compare({"left": LEFT, "right": RIGHT}, SMALL, measures=["P@2", "RR"])
    first, *others = done.differences(5)
    assert (first.query, first.text, first.values) == ("q1", "one", (0.5, 1.0)) and len(others) == 1
    assert first.answers == (["a", "c", "b"], ["b", "a"])
    (by_rank,) = done.differences(1, measure="RR")
    assert (by_rank.query, by_rank.values) == ("q2", (1.0, 0.5))
    by_rank.show()
    shown = capsys.readouterr().out
    assert "q2: two" in shown and "✓ c" in shown and "✓ x" not in shown
    assert compare({"a": LEFT, "b": LEFT}, SMALL, measures="P@2").differences(3) == []
    with pytest.raises(InputError, match="need two systems"):
        compare({"a": LEFT}, SMALL, measures="P@2").differences()


def test_the_table_of_queries_has_a_line_for_each_and_a_column_a_system():
    lines = compare({"left": LEFT, "right": RIGHT}, SMALL, measures=["P@2", "R@2"]).per_query().splitlines()
    assert lines[0].split("\t") == ["measure", "query", "text", "left", "right"]
    assert lines[1].split("\t") == ["P@2", "q1", "one", "0.5", "1"] and len(lines) == 5


def test_runs_alone_have_no_cost_to_draw(tmp_path):
    runs = {"one": {"q": {"a": 1.0}}, "two": {"q": {"b": 1.0}}}
    compared = compare(runs, JudgedDict({"q": "fig"}, {"q": {"a": 1}}), "test", ["nDCG@10"])
    with pytest.raises(InputError, match="runs have no cost, so compare them with a retriever"):
        compared.plot(tmp_path / "plot.png")


def test_a_curve_does_not_turn_back():
    assert steady([1, 2, 4]) == [1, 2, 4] and steady([4, 2, 1]) == [4, 2, 1] and steady([3]) == [3]
    noisy = steady([1.0, 5.0, 3.0, 4.0, 9.0])
    assert noisy == sorted(noisy) and math.isclose(sum(noisy), 22)


def test_the_command_line_compares_a_folder_of_runs_with_an_artifact(tmp_path, capsys):
    items, queries, qrels = tmp_path / "corpus.jsonl", tmp_path / "queries.jsonl", tmp_path / "qrels" / "test.tsv"
    items.write_text('{"_id": "fig", "text": "a fig tree"}\n{"_id": "pear", "text": "a pear"}\n')
    queries.write_text('{"_id": "q", "text": "fig"}\n')
    qrels.parent.mkdir()
    qrels.write_text("query-id\tcorpus-id\tscore\nq\tfig\t1\n")
    bm25({"fig": "a fig tree", "pear": "a pear"}).save(tmp_path / "bm25.idx")
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "good.run").write_text("q Q0 fig 1 2.0 x\nq Q0 pear 2 1.0 x\n")
    (runs / "bad.run").write_text("q Q0 pear 1 2.0 x\n")
    wanted = ["--differences", "1", "--per-query", "--overlap"]
    systems = [str(tmp_path / "bm25.idx"), str(runs)]
    assert main(["compare", str(tmp_path), *systems, "--measures", "RR@10", "--latency-queries", "1", *wanted]) == 0
    shown = capsys.readouterr().out
    assert "bm25.idx" in shown and "not bad" in shown and "RR@10\tq\tfig\t1\t0\t1" in shown
    assert main(["eval", str(runs / "bad.run"), str(tmp_path), "--measures", "RR@10"]) == 0
    assert "bad" in capsys.readouterr().out
    (runs / "bad.run").write_text("garbage\nq Q0 pear 1 2.0 x\n")
    told = [*systems, "--measures", "RR@10", "--rejected", str(tmp_path / "rejected")]
    assert main(["compare", str(tmp_path), *told]) == 2
    assert "bad.run, line 1: expected 6 columns" in capsys.readouterr().err
    assert main(["compare", str(tmp_path), *told, "--on-error", "skip"]) == 0
    assert "1 unreadable lines skipped" in capsys.readouterr().err
    assert (tmp_path / "rejected").read_text() == "garbage\n"
    (tmp_path / "empty").mkdir()
    assert main(["compare", str(tmp_path), str(tmp_path / "empty")]) == 2
    assert "holds neither" in capsys.readouterr().err


def test_only_equal_scores_of_one_query_are_ties():
    """The last score of a query may equal the first of the next one, whatever rows are empty between them."""
    apart = {"p": {}, "q": {"a": 2.0, "b": 1.0}, "r": {}, "s": {"b": 1.0, "a": 0.5}, "t": {"c": 0.5}, "u": {}}
    assert not _has_ties(Candidates.from_dict(apart))
    assert in_run_order(apart).to_dict() == apart
    for query in apart:
        for row in ({"c": 9.0, "d": 9.0}, {"c": 9.0, "d": 3.0, "e": 3.0}, {"d": 3.0, "c": 3.0, "e": 0.0}):
            tied = apart | {query: row}
            assert _has_ties(Candidates.from_dict(tied))
            found = in_run_order(tied)
            assert found.ids == [list(items) for items in tied.values()]
            scores = [found.row(number)[1].tolist() for number in range(len(tied))]
            assert all(len(set(own)) == len(own) for own in scores)
