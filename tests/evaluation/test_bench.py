"""Runs, judgments and frames without a catalog: against pytrec_eval, scipy, and counts by hand."""

from __future__ import annotations

import json

import numpy as np
import pandas
import polars
import pytest
import pytrec_eval
from scipy import stats

from vizsla import Dataset, bm25
from vizsla.cli import main
from vizsla.errors import InputError
from vizsla.evaluation import Judgments, answer_accuracy, compare, evaluate, fuse_runs, pool, sweep

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"b": 1}, "q3": {"c": 1, "d": 1}}
RUN = {"q1": {"b": 3.0, "a": 2.0, "x": 1.5, "c": 1.0}, "q2": {"a": 9.0, "b": 1.0}, "elsewhere": {"a": 1.0}}
OTHER = {"q1": {"a": 3.0}, "q2": {"b": 1.0}, "q3": {"d": 1.0, "c": 0.5}}
MEASURES = ["nDCG@10", "AP", "Bpref", "RR", "P@1"]


def test_a_run_needs_judgments_alone_and_agrees_with_trec_eval():
    done = evaluate(RUN, QRELS, measures=MEASURES)
    names = {"nDCG@10": "ndcg_cut_10", "AP": "map", "Bpref": "bpref", "RR": "recip_rank", "P@1": "P_1"}
    theirs = pytrec_eval.RelevanceEvaluator(QRELS, set(names.values())).evaluate(RUN)
    for ours, name in names.items():
        assert done.per_query[ours].tolist() == pytest.approx([theirs["q1"][name], theirs["q2"][name], 0.0])
    assert (done.unanswered, done.cost.queries) == (1, 3)
    assert done.notes == ("1 of 3 judged queries are not answered and count as 0, for example 'q3'.",)


FRAME = {"qid": ["q1", "q1", "q1", "q2", "q3", "q3"], "docno": list("abcbcd"), "label": [2, 0, 1, 1, 1, 1]}
FORMS = {
    "triples": lambda: [(q, d, g) for q, row in QRELS.items() for d, g in row.items()],
    "pandas": lambda: pandas.DataFrame(FRAME),
    "polars": lambda: polars.DataFrame(FRAME),
}


@pytest.mark.parametrize("form", FORMS)
def test_judgments_come_in_every_form(form, tmp_path):
    assert Judgments.of(FORMS[form]()).qrels_dict() == QRELS
    assert evaluate(RUN, FORMS[form](), measures="AP").measures == evaluate(RUN, QRELS, measures="AP").measures
    file = tmp_path / "x.qrels"
    file.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in FORMS["triples"]()))
    assert Judgments.of(file).qrels_dict() == QRELS == Judgments.of(str(file)).qrels_dict()
    with pytest.raises(InputError, match="judgments alone"):
        evaluate(RUN, 7, measures="AP")


@pytest.mark.parametrize("library", [pandas, polars])
def test_runs_clicks_and_values_pass_through_frames(library):
    rows = [(q, d, s) for q, row in RUN.items() for d, s in row.items()]
    frame = library.DataFrame(
        {"query": [r[0] for r in rows], "id": [r[1] for r in rows], "score": [r[2] for r in rows]}
    )
    done = evaluate(frame, QRELS, measures=MEASURES)
    assert done.measures == evaluate(RUN, QRELS, measures=MEASURES).measures
    back = done.run.to_pandas() if library is pandas else done.run.to_polars()
    assert evaluate(back, QRELS, measures="AP").measures["AP"] == done.measures["AP"]
    ranked = library.DataFrame({"qid": ["q2", "q2"], "docno": ["b", "a"], "rank": [2, 1]})
    assert evaluate(ranked, QRELS, measures="RR").per_query["RR"].tolist() == [0.0, 0.5, 0.0]
    values = done.to_pandas() if library is pandas else done.to_polars()
    assert list(values["AP"]) == done.per_query["AP"].tolist() and list(values["query"]) == ["q1", "q2", "q3"]
    with pytest.raises(InputError, match="columns query, item and score"):
        evaluate(library.DataFrame({"query": ["q"], "text": ["x"]}), QRELS, measures="AP")
    with pytest.raises(InputError, match="once per query"):
        evaluate(library.DataFrame({"query": ["q"] * 2, "item": ["a"] * 2, "score": [1, 2]}), QRELS, measures="AP")
    dataset = Dataset.of({"a": "x", "b": "y"}, queries={"q": "x"}, clicks=[("q", "b", 2.5)], qrels={"q": {"a": 2}})
    take = dataset.to_pandas if library is pandas else dataset.to_polars
    again = Dataset.of({"a": "x", "b": "y"}, queries={"q": "x"}, clicks=take(), qrels=take("qrels"))
    assert again.clicks.toarray().tolist() == [[0.0, 2.5]] and again.qrels_dict() == {"q": {"a": 2}}


def test_unknown_items_and_foreign_ids_are_said():
    dataset = Dataset.of({"a": "fig", "b": "pear", "c": "x", "d": "y"}, queries={q: q for q in QRELS}, qrels=QRELS)
    assert "1 of 4 items found are not in the catalog, for example 'x'." in evaluate(RUN, dataset, measures="AP").notes
    foreign = {query: {"z": 1.0} for query in QRELS}
    assert evaluate(foreign, QRELS, measures="AP").notes[0].startswith("None of the 10 best items")
    assert evaluate(OTHER, dataset, measures="AP").notes == ()


def test_a_retriever_needs_texts():
    search = bm25({"a": "fig"})
    with pytest.raises(InputError, match="must have the texts of the queries"):
        evaluate(search, {"q": {"a": 1}}, measures="AP")


def test_intervals_and_effects_are_scipys():
    rng = np.random.default_rng(0)
    qrels = {f"q{n}": {f"d{m}": 1 for m in rng.permutation(40)[:3].tolist()} for n in range(30)}
    runs = [{q: {f"d{m}": float(rng.random()) for m in range(40)} for q in qrels} for _ in range(2)]
    done = compare({"one": runs[0], "two": runs[1]}, qrels, measures="AP", test="t")
    (test,) = done.tests
    columns = [one.per_query["AP"] for one in done.evaluations.values()]
    theirs = stats.ttest_rel(*columns)
    assert (test.p, test.low, test.high) == pytest.approx((theirs.pvalue, *theirs.confidence_interval()))
    gap = columns[0] - columns[1]
    assert test.effect == pytest.approx(gap.mean() / gap.std(ddof=1))
    mean = stats.t.interval(0.9, 29, columns[0].mean(), stats.sem(columns[0]))
    assert done.evaluations["one"].interval("AP", level=0.9) == pytest.approx(mean)


def test_propensity_scored_precision_by_hand():
    clicks = [("q1", "a"), ("q2", "a"), ("q3", "a"), ("q4", "b")]
    texts = {"a": "fig", "b": "pear", "c": "plum"}
    queries = {f"q{n}": "x" for n in range(1, 7)}
    dataset = Dataset.of(texts, queries=queries, clicks=clicks, qrels={"q5": {"a": 1, "c": 1}, "q6": {"b": 1}})
    slope = (np.log(4) - 1) * 2.5**0.55
    weight = {item: 1 + slope * (count + 1.5) ** -0.55 for item, count in {"a": 3, "b": 1, "c": 0}.items()}
    run = {"q5": {"a": 2.0, "b": 1.0}, "q6": {"b": 2.0, "c": 1.0}}
    done = evaluate(run, dataset, measures=["PSP@1", "P@1", "PSP@2"])
    one = (weight["a"] + weight["b"]) / (weight["c"] + weight["b"])
    two = (weight["a"] + weight["b"]) / (weight["a"] + weight["c"] + weight["b"])
    assert done.measures == pytest.approx({"PSP@1": one, "P@1": 1.0, "PSP@2": two})
    assert done.per_query["PSP@1"].mean() == pytest.approx(one)
    with pytest.raises(InputError, match="needs a dataset with clicks"):
        evaluate(run, {"q5": {"a": 1}}, measures="PSP@1")


def test_fused_runs_add_reciprocal_ranks():
    fused = fuse_runs([RUN, OTHER], weights=[1, 2]).to_dict()
    assert fused["q1"] == pytest.approx({"a": 1 / 62 + 2 / 61, "b": 1 / 61, "x": 1 / 63, "c": 1 / 64}, rel=1e-6)
    assert list(fused["q1"]) == ["a", "b", "x", "c"] and list(fused["elsewhere"]) == ["a"]
    assert fuse_runs([RUN, OTHER], k=1).ids == [["a"], ["b"], ["a"], ["d"]]
    with pytest.raises(InputError, match="2 runs or more"):
        fuse_runs([RUN])
    with pytest.raises(InputError, match="`weights` must be 2 numbers"):
        fuse_runs([RUN, OTHER], weights=[1])


def test_a_pool_is_the_union_of_the_best_without_what_is_judged():
    assert pool([RUN, OTHER], 2) == {"q1": ["a", "b"], "q2": ["a", "b"], "elsewhere": ["a"], "q3": ["d", "c"]}
    assert pool([RUN, OTHER], 1, judged=QRELS) == {"q1": [], "q2": ["a"], "elsewhere": ["a"], "q3": []}


def test_answers_are_whole_words():
    texts = {"a": "The party is over.", "b": "A work of ART, 1912", "c": "nothing"}
    found = {"q": {"a": 3.0, "c": 2.0, "b": 1.0}, "r": {"b": 1.0}}
    answers = {"q": ["art"], "r": ["1912", "1913"], "s": ["nothing"]}
    assert answer_accuracy(found, answers, texts, k=5) == {"top-1": 1 / 3, "top-5": 2 / 3}
    with pytest.raises(InputError, match="a list of texts"):
        answer_accuracy(found, {"q": "art"}, texts)


def test_json_says_how_it_was_made(tmp_path):
    written = json.loads(compare({"one": RUN, "two": OTHER}, QRELS, measures="AP", seed=5).to_json())
    made, (test,) = written["one"]["provenance"], written["one"]["significance"]["tests"]
    assert made["seed"] == 5 and len(made["data"]) == 16 and made["machine"]["cores"] >= 1 and made["date"][:2] == "20"
    assert {"p", "p_holm", "low", "high", "effect"} <= test.keys()
    again, other = (evaluate(RUN, grades, measures="AP").provenance["data"] for grades in (QRELS, {"q1": {"a": 1}}))
    assert made["data"] == again != other


def test_a_sweep_varies_any_argument_and_equals_what_is_built_by_hand():
    items = {f"d{n}": " ".join(["fig"] * (n % 5 + 1) + ["pear"] * (n % 3)) for n in range(30)}
    qrels = {"q": {"d4": 1, "d9": 1}}
    dataset = Dataset.of(items, queries={"q": "fig pear"}, qrels=qrels)
    swept = sweep("k1", bm25(dataset), dataset, measures="AP", values=[0.1, 3.0], latency_queries=0)
    for k1, one in swept.evaluations.items():
        assert one.measures == evaluate(bm25(dataset, k1=k1), dataset, measures="AP", latency_queries=0).measures
    both = (bm25(dataset) + bm25(dataset, b=0.1)).recipe
    inner = sweep("parts.1.k1", both, dataset, measures="AP", values=[0.2], latency_queries=0)
    by_hand = bm25(dataset) + bm25(dataset, b=0.1, k1=0.2)
    assert inner.evaluations[0.2].run.to_dict() == evaluate(by_hand, dataset, latency_queries=0).run.top(30).to_dict()
    with pytest.raises(InputError, match="must have the setting 'no'"):
        sweep("no", bm25(dataset), dataset, measures="AP", values=[1])
    with pytest.raises(InputError, match="lead through nested recipes"):
        sweep("base.k1", bm25(dataset), dataset, measures="AP", values=[1])


def test_the_command_line_needs_a_run_and_judgments_alone(tmp_path, capsys):
    def path(name, text):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    qrels = path("x.qrels", "".join(f"{q} 0 {d} {g}\n" for q, row in QRELS.items() for d, g in row.items()))
    one, two = (
        path(f"{name}.run", "".join(f"{q} Q0 {d} 1 {s} t\n" for q, row in run.items() for d, s in row.items()))
        for name, run in {"one": RUN, "two": OTHER}.items()
    )
    out = {name: str(tmp_path / name) for name in ("e.json", "c.json", "c.tex", "fused.run", "pool.tsv", "bm.run")}
    assert main(["eval", one, "--qrels", qrels, "--measures", "AP", "--json", out["e.json"]]) == 0
    assert "1 of 3 judged queries are not answered" in capsys.readouterr().out
    systems = json.loads((tmp_path / "e.json").read_text())
    assert systems["one"]["measures"] == evaluate(RUN, QRELS, measures="AP").measures
    told = ["--measures", "AP", "--test", "t", "--seed", "3", "--json", out["c.json"], "--latex", out["c.tex"]]
    assert main(["compare", "--qrels", qrels, one, two, *told]) == 0
    assert "paired t-test" in capsys.readouterr().out
    written = json.loads((tmp_path / "c.json").read_text())
    assert (written["one"]["significance"]["test"], written["two"]["provenance"]["seed"]) == ("t", 3)
    assert (tmp_path / "c.tex").read_text().startswith("\\begin{tabular}{llr}")
    assert main(["runs", "fuse", one, two, "-o", out["fused.run"]]) == 0
    assert evaluate(out["fused.run"], QRELS).measures == evaluate(fuse_runs([RUN, OTHER]), QRELS).measures
    assert main(["runs", "pool", one, two, "-o", out["pool.tsv"], "--depth", "1", "--qrels", qrels]) == 0
    assert sorted((tmp_path / "pool.tsv").read_text().split("\n")) == ["", "elsewhere\ta", "q2\ta"]
    search = bm25({"a": "red fig", "b": "pear"})
    search.save(tmp_path / "bm")
    queries = path("queries.tsv", "q1\tfig\nq2\tpear\n")
    assert main(["search", str(tmp_path / "bm"), "--queries", queries, "--trec", out["bm.run"]]) == 0
    assert (tmp_path / "bm.run").read_text().split() == (
        search(["fig", "pear"]).with_query_ids(["q1", "q2"]).to_trec().split()
    )
    assert main(["eval", str(tmp_path / "bm"), "--qrels", qrels]) == 2
    assert main(["compare", "--qrels", qrels]) == 2 and main(["eval", one]) == 2
    assert main(["search", str(tmp_path / "bm"), "fig", "--trec", out["bm.run"]]) == 2


def test_latex_escapes_and_raises_letters():
    done = compare({"a_b": OTHER, "50% & more": RUN}, {q: QRELS[q] for q in QRELS}, measures="AP")
    table = done.to_latex()
    assert "a\\_b" in table and "50\\% \\& more" in table and table.count(" & ") == 2 * 3 + 1
    assert "<td>50% &amp; more</td>" in done._repr_html_()


def test_provenance_lies_beside_an_artifact_outside_of_its_digest(tmp_path):
    from vizsla.artifacts.inspect import check, inspect

    search = bm25({"a": "red fig", "b": "pear"})
    first, second = search.save(tmp_path / "one"), search.save(tmp_path / "two")
    assert (first / "manifest.json").read_bytes() == (second / "manifest.json").read_bytes()
    made = inspect(first).provenance
    assert made == json.loads((first / "provenance.json").read_text()) and made["items"]["count"] == 2
    assert check(first) == [] and "made 20" in str(inspect(first))
    (second / "provenance.json").write_text("not json")
    assert inspect(second).provenance == {} and check(second) == []
    search.save(tmp_path / "two", overwrite=True)
    assert inspect(second).provenance["artifact"] == made["artifact"]
