import json

import ir_measures
import numpy as np
import pytest

from tests.evaluation.judged_dict import JudgedDict
from tests.evaluation.random_systems import judged_dict, noisy_system
from tests.support.table_retriever import TableRetriever
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.evaluation import evaluate
from vizsla.methods.bm25 import bm25
from vizsla.scorers.text import FunctionScorer

FRUIT = JudgedDict(
    {"q1": "sweet fruit", "q2": "nothing known", "q3": "nothing found", "q4": "no judgment"},
    {"q1": {"fig": 1, "pear": 1}, "q2": {"pear": 1}, "q3": {"fig": 1}},
)
TABLE = TableRetriever(
    {"sweet fruit": {"apple": 3, "fig": 2}, "nothing known": {"pear": 1}, "no judgment": {"apple": 9}},
    ["apple", "fig", "pear"],
)


def test_hand_computed_means_per_query_values_and_counts():
    done = evaluate(TABLE, FRUIT, measures=["R@10", "RR@10"])
    assert done.query_ids == ["q1", "q2", "q3"]
    assert done.per_query["R@10"].tolist() == [0.5, 1, 0]
    assert done.per_query["RR@10"].tolist() == [0.5, 1, 0]
    assert done.measures == {"R@10": pytest.approx(0.5), "RR@10": pytest.approx(0.5)}
    assert (done.unjudged, done.cost.queries) == (1, 3)
    assert done.run.to_dict()["q1"] == {"apple": 3.0, "fig": 2.0}


def test_a_real_dataset():
    data = Dataset.of(["a fig", "a pear"], queries=["figs", "pears"], qrels={"1": {"1": 1}})
    done = evaluate(TableRetriever({"pears": {"1": 2.0, "0": 1.0}}, ["0", "1"]), data, measures="RR@10")
    assert done.measures == {"RR@10": 1.0}
    assert done.cost.queries == 1


def test_the_depth_is_the_deepest_cutoff_unless_given():
    data = judged_dict(5)
    system = noisy_system(data, noise=1, seed=0)
    assert np.diff(evaluate(system, data, measures=["R@3", "P@7"]).run.offsets).tolist() == [7] * 5
    assert np.diff(evaluate(system, data, measures="R@3", k=9).run.offsets).tolist() == [9] * 5
    with pytest.raises(InputError, match=r"`k` must reach the deepest cutoff. Got 5 for R@20"):
        evaluate(system, data, measures=["R@3", "R@20"], k=5)


def test_cost_counts_bytes_model_calls_and_times():
    data = judged_dict(30)
    texts = {item: item for item in noisy_system(data, noise=1, seed=0).items}
    scored = noisy_system(data, noise=1, seed=0) % 6 >> FunctionScorer(lambda q, ts: [len(t) for t in ts], texts)
    cost = evaluate(scored, data, measures="R@5").cost
    assert cost.model_calls == 6
    plain = evaluate(noisy_system(data, noise=1, seed=0), data, measures="R@5").cost
    assert (plain.bytes, plain.bytes_per_item, plain.model_calls) == (8 * 60, 8, 0)
    assert 0 < plain.ms_p50 <= plain.ms_p99


class Slow(TableRetriever):
    """Notes every call's queries, and takes a clock's time that the test sets."""

    def __init__(self, *args):
        super().__init__(*args)
        self.calls = []

    def _search(self, queries, k, filter, threads):
        self.calls.append((tuple(queries.texts), k, threads))
        return super()._search(queries, k, filter, threads)


def test_single_queries_are_timed_on_a_seeded_sample_after_a_warm_up():
    data = judged_dict(50)
    first, second, other = (Slow({}, ["d0"]) for _ in range(3))
    evaluate(first, data, measures="R@5", latency_queries=20, threads=2)
    evaluate(second, data, measures="R@5", latency_queries=20, threads=2)
    evaluate(other, data, measures="R@5", latency_queries=20, threads=2, seed=1)
    batch, singles = first.calls[0], first.calls[1:]
    assert batch == (tuple(data.texts.values()), 1, 2)  # one item in the catalog: no deeper than that
    assert len(singles) == 30 and all(len(texts) == 1 and threads == 1 for texts, _, threads in singles)
    assert singles[:10] == singles[10:20] and len(set(singles[10:])) == 20
    assert first.calls == second.calls != other.calls


def test_percentiles_are_of_single_query_times(monkeypatch):
    clock = iter(np.repeat(np.cumsum(np.arange(400)), 1).tolist())
    monkeypatch.setattr("vizsla.evaluation.cost.perf_counter", lambda: next(clock))
    cost = evaluate(TABLE, judged_dict(100), measures="R@5").cost
    # The clock's steps grow 1, 2, 3, … s and every second step is inside a call: 1, 3, 5, … 199 s.
    assert cost.ms_p50 == pytest.approx(100e3)
    assert cost.ms_p99 == pytest.approx(np.percentile(np.arange(1, 200, 2), 99) * 1e3)


def test_no_times_when_none_are_asked_for():
    done = evaluate(TABLE, FRUIT, measures="R@10", latency_queries=0)
    assert done.cost.ms_p50 is None
    assert json.loads(done.to_json())["table"]["cost"]["ms_p50"] is None
    assert "–" in done.to_markdown()
    with pytest.raises(InputError, match="latency_queries"):
        evaluate(TABLE, FRUIT, measures="R@10", latency_queries=-1)


def test_json_has_exactly_the_agreed_shape(tmp_path):
    done = evaluate(TABLE, FRUIT, measures=["R@10", "RR@10"], name="fruit search")
    text = done.to_json(tmp_path / "out" / "eval.json")
    assert (tmp_path / "out" / "eval.json").read_text() == text
    assert list((tmp_path / "out").iterdir()) == [tmp_path / "out" / "eval.json"]
    assert json.loads(text) == {
        "fruit search": {
            "intervals": {"R@10": list(done.interval("R@10")), "RR@10": list(done.interval("RR@10"))},
            "notes": list(done.notes),
            "provenance": done.provenance,
            "measures": {"R@10": 0.5, "RR@10": 0.5},
            "cost": {
                "ms_p50": done.cost.ms_p50,
                "ms_p99": done.cost.ms_p99,
                "bytes": 24,
                "scored": 0.0,
                "model_calls": 0.0,
                "queries": 3,
            },
        }
    }


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    target = tmp_path / "eval.json"
    target.write_text("old")

    def full(handle):
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        evaluate(TABLE, FRUIT, measures="R@10").to_json(target)
    assert target.read_text() == "old" and list(tmp_path.iterdir()) == [target]


def test_markdown_and_the_printed_table(capsys):
    done = evaluate(TABLE, FRUIT, measures=["R@10"], name="fruit")
    header, _, row = done.to_markdown().splitlines()
    assert header == "| system | R@10 | ms p50 | ms p99 | bytes/item | scored | model calls |"
    assert row.startswith("| fruit | 0.5000 |") and row.endswith("| 8 | 0 | 0 |")
    done.show()
    printed = capsys.readouterr().out
    assert "fruit" in printed and "1 without judgments left out" in printed


def test_a_run_by_rank_gives_other_evaluators_the_measured_order(tmp_path):
    data = judged_dict(40)
    done = evaluate(noisy_system(data, noise=0.8, seed=1, decimals=0), data, measures=["nDCG@10", "RR@10"])
    done.to_trec(tmp_path / "plain.run")
    done.to_trec(tmp_path / "ranks.run", by_rank=True)
    measures = [ir_measures.nDCG @ 10, ir_measures.RR @ 10]
    read = {
        name: ir_measures.calc_aggregate(measures, data.qrels, ir_measures.read_trec_run(str(tmp_path / f"{name}.run")))
        for name in ("plain", "ranks")
    }
    assert read["ranks"][measures[0]] == pytest.approx(done.measures["nDCG@10"])
    assert read["ranks"][measures[1]] == pytest.approx(done.measures["RR@10"])
    assert read["plain"][measures[0]] != pytest.approx(done.measures["nDCG@10"]), "the run had no ties to break"


def test_what_cannot_be_evaluated_says_so():
    with pytest.raises(InputError, match=r"`split` must be one of test. Got 'dev'"):
        evaluate(TABLE, FRUIT, "dev")
    with pytest.raises(InputError, match="which has none"):
        evaluate(TABLE, JudgedDict({"q1": "sweet fruit"}, {}))
    with pytest.raises(InputError, match=r"Every judged query must have a text. Got 'q9'"):
        evaluate(TABLE, JudgedDict({"q1": "sweet fruit"}, {"q9": {"fig": 1}}))
    with pytest.raises(InputError, match="must have scores"):
        evaluate(TABLE | TABLE, FRUIT)


def test_the_measures_are_checked_before_anything_is_searched():
    slow = Slow({}, ["d0"])
    with pytest.raises(InputError):
        evaluate(slow, FRUIT, measures=["R@10", "RBP(p=0.8)"])
    assert slow.calls == []


def test_threads_change_no_value():
    data = judged_dict(20)
    system = noisy_system(data, noise=1, seed=0)
    one, two = (evaluate(system, data, threads=threads).measures for threads in (1, 2))
    assert one == two


def test_latency_queries_of_another_type_are_refused():
    judged = Dataset.of([{"id": "f", "text": "a fig"}], queries={"q": "fig"}, qrels={"q": {"f": 1}})
    with pytest.raises(InputError, match="latency_queries"):
        evaluate(bm25(judged), judged, latency_queries=[1, 2])
