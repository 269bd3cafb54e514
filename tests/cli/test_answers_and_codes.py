"""What commands print and return: answers in every form, exit codes, files that are there already."""

from __future__ import annotations

import json
import os
import shutil
from importlib import import_module

import pytest

from vizsla import bm25, load, tokens
from vizsla.cli import main
from vizsla.data.dataset import Dataset

ROWS = [
    {"id": "a", "text": "red fig tree", "price": 5, "brand": "x"},
    {"id": "b", "text": "green fig", "price": 15, "brand": "x"},
    {"id": "c", "text": "old fig tree tree", "price": 25, "brand": "y"},
    {"id": "d", "text": "green car", "price": 35, "brand": "y"},
]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    bm25(Dataset.open(tmp_path / "items.jsonl")).save(tmp_path / "bm25")
    tokens({row["id"]: row["text"] for row in ROWS}).save(tmp_path / "tokens")
    return tmp_path


@pytest.fixture
def ask(files, capsys):
    """Run `vizsla search` on the artifact and return its JSON lines."""

    def run(*options):
        assert main(["search", str(files / "bm25"), *map(str, options), "--json"]) == 0
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def ids(answer):
    return [hit["id"] for hit in answer["hits"]]


def test_as_many_as_asked_for_and_what_fits_the_conditions(ask, files):
    (whole,) = ask("fig", "tree")
    assert whole["query"] == "fig tree" and ids(whole) == ids(ask("fig tree")[0]) and len(ids(whole)) == 3
    assert ids(ask("fig", "tree", "-k", 2)[0]) == ids(whole)[:2]
    assert set(ids(ask("fig tree", "--where", "price<20")[0])) == {"a", "b"}
    assert set(ids(ask("fig tree", "--where", "price<20", "--where", "price>9")[0])) == {"b"}
    assert set(ids(ask("fig tree", "--where", "price>9", "--where", "price<20")[0])) == {"b"}
    (files / "stock.txt").write_text("a\nc\n")
    assert set(ids(ask("fig tree", "--where", files / "stock.txt")[0])) == {"a", "c"}
    (files / "shown.txt").write_text("b\nc\n")
    all_of = {("price<20", "stock.txt"): {"a"}, ("stock.txt", "shown.txt"): {"c"}, ("price>9", "shown.txt"): {"b", "c"}}
    for given, wanted in all_of.items():  # files and conditions alike, in any order
        for both in (given, given[::-1]):
            where = [part for one in both for part in ("--where", files / one if one.endswith("txt") else one)]
            assert set(ids(ask("fig tree", *where)[0])) == wanted


def test_every_query_of_every_place_is_answered(ask, files):
    (files / "queries.txt").write_text("fig\n\ncar\n")
    answers = ask("tree", "--queries", files / "queries.txt")
    assert [answer["query"] for answer in answers] == ["fig", "car", "tree"]
    assert [ids(answer)[0] for answer in answers[1:]] == ["d", "c"]
    (files / "bad.jsonl").write_bytes(b'{"id": "1", "text": "fig"}\n{"id": "2"\n{"id": "3", "text": "car"}\n')
    assert main(["search", str(files / "bm25"), "--queries", str(files / "bad.jsonl")]) == 2
    answers = ask("--queries", files / "bad.jsonl", "--on-error", "skip")
    assert [answer["query"] for answer in answers] == ["fig", "car"]


def test_texts_fields_and_reasons_are_those_of_each_hit(ask, files):
    (answer,) = ask("fig tree", "--data", files / "items.jsonl", "--show", "brand,price", "--explain")
    known, found = {row["id"]: row for row in ROWS}, load(files / "bm25")
    for hit in answer["hits"]:
        assert hit["text"] == known[hit["id"]]["text"]
        assert (hit["brand"], float(hit["price"])) == (known[hit["id"]]["brand"], known[hit["id"]]["price"])
        assert hit["why"] == found.explain("fig tree", hit["id"]).to_dict()
        assert hit["why"]["score"] == pytest.approx(hit["score"])


def test_reasons_are_given_under_the_filter_of_the_search(files, capsys):
    """A rank is a place in the filtered list, so a reason without the filter would be of another score."""
    search = load(files / "bm25").normalized("rank")
    search.save(files / "ranked")
    argv = ["search", str(files / "ranked"), "fig tree", "--where", "price>9", "--explain", "--json"]
    assert main(argv) == 0
    (answer,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert len(answer["hits"]) == 2
    for hit in answer["hits"]:
        assert hit["why"]["score"] == pytest.approx(hit["score"])


@pytest.mark.parametrize(("varied", "cost"), [("effort", "ms_p50"), ("threshold", "bytes"), ("bits", "bytes")])
def test_a_sweep_is_drawn_over_the_cost_that_changes(varied, cost, files, monkeypatch):
    drawn = {}

    class Result:
        def show(self):
            """Print nothing."""

        to_json = to_markdown = show

        def plot(self, path, *, x):
            drawn[path] = x

    monkeypatch.setattr("vizsla.cli.sweep._variants", lambda *_: (varied, []))
    monkeypatch.setattr(import_module("vizsla.cli.sweep"), "sweep", lambda *_, **__: Result())
    assert main(["sweep", str(files / "bm25"), str(files / "items.jsonl"), "--plot", "a.svg"]) == 0
    assert drawn == {"a.svg": cost}


def test_the_table_of_the_terminal_has_every_hit(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    found = bm25({f"item-{row['id']}": row["text"] for row in ROWS})
    found.save(files / "named")
    assert main(["search", str(files / "named"), "fig", "tree", "-k", "2", "--explain"]) == 0
    printed = capsys.readouterr().out
    first, second = found("fig tree", 2).ids[0]
    assert printed.index(first) < printed.index(second) and printed.count("item-") == 4 and " ms" in printed
    for item in (first, second):
        assert str(found.explain("fig tree", item)).splitlines()[0] in printed


@pytest.mark.parametrize(
    "wrong",
    [
        ["search", "{bm25}", "fig", "-k", "0"],
        ["search", "{bm25}", "fig", "--budget", "3"],
        ["search", "{bm25}", "fig", "--late", "vectors"],
        ["search", "nowhere", "fig"],
        ["inspect", "nowhere"],
        ["eval", "{bm25}", "{items}"],
        ["remove", "{bm25}", "-o", "{new}"],
        ["remove", "{bm25}", "nobody", "-o", "{new}"],
        ["convert", "dataset", "nowhere.jsonl", "{new}"],
        ["index", "bm25", "{items}", "--b", "7", "-o", "{new}"],
        ["index", "bm25", "{items}", "--language", "english", "--stem", "english", "-o", "{new}"],
        ["index", "dense", "{items}", "--ef", "3", "-o", "{new}"],
        ["index", "dense", "{items}", "--index", "pq", "--storage", "int8", "-o", "{new}"],
        ["index", "pq", "{bm25}", "-o", "{new}"],
        ["train", "xrlinear", "{items}", "-o", "{new}"],
        ["train", "jpq", "{bm25}", "-o", "{new}"],
        ["train", "tokens", "{items}", "--base", "{bm25}", "-o", "{new}"],
        ["adapt", "pefa-xs", "{bm25}", "--clicks", "nowhere.tsv", "-o", "{new}"],
        ["compare", "{items}", "x={bm25}", "x={bm25}"],
        ["sweep", "{bm25}", "{items}"],
        ["compose", "a + b", "--let", "a={bm25}", "-o", "{new}"],
        ["export", "onnx", "nowhere", "--int8", "-o", "{new}"],
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_a_line_and_code_2(wrong, files, capsys):
    names = {"bm25": files / "bm25", "items": files / "items.jsonl", "new": files / "new"}
    assert main([part.format(**names) for part in wrong]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("vizsla: ")]
    assert said and "Traceback" not in "".join(said)
    assert not (files / "new").exists()


@pytest.mark.parametrize("wrong", [["--no-such-option"], ["-k", "many"], ["--format", "xml"]])
def test_options_that_do_not_exist_are_code_2(wrong, files):
    with pytest.raises(SystemExit) as stopped:
        main(["search", str(files / "bm25"), "fig", *wrong])
    assert stopped.value.code == 2


def test_too_little_memory_is_no_success(files, monkeypatch, capsys):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("vizsla.cli.index_bm25.bm25", fail)
    assert main(["index", "bm25", str(files / "items.jsonl"), "-o", str(files / "new")]) == 2
    assert "not enough memory" in capsys.readouterr().err


def test_the_code_that_a_verb_returns_is_the_commands(files, monkeypatch):
    monkeypatch.setattr("vizsla.cli.check.run", lambda arguments: 1)
    assert main(["check", str(files / "bm25")]) == 1


@pytest.mark.parametrize(
    "command",
    [
        ["index", "bm25", "{items}"],
        ["index", "tokens", "{items}"],
        ["index", "tfidf", "{items}"],
        ["index", "statistics", "{items}"],
        ["index", "dense", "{items}", "--dim", "2"],
        ["split", "{items}", "--clicks", "{log}", "--cold", "0"],
        ["add", "{tokens}", "{more}"],
        ["remove", "{tokens}", "a"],
        ["compose", "a", "--let", "a={bm25}"],
    ],
    ids=" ".join,
)
def test_what_is_there_is_replaced_only_if_told_so(command, files):
    log = "".join(f"{row['text']}\t{row['id']}\n{row['text']} more\t{row['id']}\n" for row in ROWS)
    (files / "log.tsv").write_text(log)
    (files / "more.jsonl").write_text('{"id": "z", "text": "new fig"}\n')
    out = files / "out"
    bm25({"old": "what was there"}).save(out)
    names = {
        "bm25": files / "bm25",
        "tokens": files / "tokens",
        "items": files / "items.jsonl",
        "log": files / "log.tsv",
    }
    argv = [part.format(**names, more=files / "more.jsonl") for part in command] + ["-o", str(out)]
    assert main(argv) == 2
    assert list(load(out).items) == ["old"]
    if command[0] == "split":  # another kind of folder than an artifact
        shutil.rmtree(out)
        assert main(argv) == 0
    assert main([*argv, "--overwrite"]) == 0
    assert command[0] == "split" or "items" not in dir(load(out)) or list(load(out).items) != ["old"]


def test_add_and_remove_replace_their_own_folder_and_take_ids_from_everywhere(files, capsys):
    (files / "more.jsonl").write_text('{"id": "z", "text": "new fig"}\n{"id": "y", "text": "old car"}\n')
    own = str(files / "tokens")
    assert main(["add", own, str(files / "more.jsonl"), "-o", own]) == 0
    assert capsys.readouterr().out.startswith(f"{own}: 2 added, 6 items")
    (files / "gone.txt").write_text("y\nb\n")
    assert main(["remove", own, "a", "c", "--from", str(files / "gone.txt"), "-o", own]) == 0
    assert list(load(own).items) == ["d", "z"] and "4 removed, 2 items" in capsys.readouterr().out


def test_statistics_are_added_onto_those_before(files, capsys):
    argv = ["index", "statistics", str(files / "items.jsonl"), "-o"]
    assert main([*argv, str(files / "one")]) == 0
    assert main([*argv, str(files / "two"), "--onto", str(files / "one")]) == 0
    assert [load(files / name).documents for name in ("one", "two")] == [4, 8]
    assert "8 items" in capsys.readouterr().out


@pytest.mark.parametrize("order", [("tokens", "bm25"), ("bm25", "tokens")])
def test_each_artifact_has_a_verdict_of_its_own(order, files, capsys):
    file = files / "tokens" / "frequencies.npy"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    assert main(["check", *(str(files / name) for name in order)]) == 1
    lines = capsys.readouterr().out.splitlines()
    said = {"tokens": f"{files / 'tokens'}: 1 problem", "bm25": f"{files / 'bm25'}: sound"}
    assert lines == [said[name] for name in order]


def test_inspect_is_a_tree_or_json(files, capsys):
    assert main(["inspect", str(files / "bm25"), "--json"]) == 0
    assert "bm25" in json.dumps(json.loads(capsys.readouterr().out))
    assert main(["inspect", str(files / "bm25")]) == 0
    printed = capsys.readouterr().out
    assert "bm25" in printed and not printed.startswith("{")


def test_reports_of_a_comparison_are_those_of_the_library(files, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    (files / "queries.tsv").write_text("q1\tfig\nq2\tcar\nq3\ttree\n")
    (files / "qrels.tsv").write_text("q1 0 c 1\nq2 0 d 2\nq3 0 a 1\n")
    runs = {"x": {"q1": ["a", "b", "c"], "q3": ["a"]}, "y": {"q1": ["c"], "q2": ["a", "d"]}}
    for name, rows in runs.items():
        lines = [f"{q} Q0 {i} {at + 1} {9 - at} t\n" for q, row in rows.items() for at, i in enumerate(row)]
        (files / f"{name}.run").write_text("".join(lines))
    argv = ["compare", files / "items.jsonl", files / "x.run", files / "y.run", "--queries", files / "queries.tsv"]
    argv += ["--qrels", files / "qrels.tsv", "--measures", "RR@3,R@2", "--overlap", "1", "--differences", "1"]
    argv += ["--per-query", files / "each.tsv", "--json", files / "all.json", "--markdown", files / "all.md"]
    argv += ["--trec", files / "runs"]
    assert main([*map(str, argv)]) == 0
    printed = capsys.readouterr().out
    assert "3 relevant items, depth 1" in printed
    assert "q3: tree" in printed and "q2: car" not in printed  # the one that differs most
    written = json.loads((files / "all.json").read_text())
    assert {name: row["measures"]["RR@3"] for name, row in written.items()} == {
        "x": pytest.approx((1 / 3 + 0 + 1) / 3), "y": pytest.approx((1 + 1 / 2 + 0) / 3),
    }  # fmt: skip
    each = [line.split("\t") for line in (files / "each.tsv").read_text().splitlines()]
    assert each[1] == ["RR@3", "q1", "fig", "0.333333", "1"] and len(each) == 1 + 2 * 3
    assert "| x | 0.4444 |" in (files / "all.md").read_text().replace("| a ", "")
    assert sorted(path.name for path in (files / "runs").iterdir()) == ["x.run", "y.run"]


def test_costs_in_bytes_are_drawn_as_such(files, monkeypatch):
    from tests.cli.recording import Recorder

    (files / "queries.tsv").write_text("q1\tfig\n")
    (files / "qrels.tsv").write_text("q1 0 c 1\n")
    recorder = Recorder(monkeypatch)
    recorder.at("vizsla.evaluation.compare:Comparison.plot", answer="drawn")
    argv = ["compare", files / "items.jsonl", files / "bm25", "--queries", files / "queries.tsv"]
    argv += ["--qrels", files / "qrels.tsv", "--measures", "RR@3", "--plot", "a.svg", "--plot-bytes", "b.svg"]
    recorder.given(argv)
    assert recorder.calls == [{"0": "a.svg"}, {"0": "b.svg", "x": "bytes"}]


@pytest.mark.parametrize("k", [1, 10, 13, 40])
@pytest.mark.parametrize("shown", [[], ["--show", "price"]])
def test_the_terminal_shows_as_many_hits_as_were_asked_for(tmp_path, capsys, monkeypatch, k, shown):
    monkeypatch.setenv("COLUMNS", "200")
    rows = [{"id": f"item-{number:02}", "text": "a fig", "price": 5} for number in range(30)]
    bm25(Dataset.of(rows)).save(tmp_path / "saved")
    assert main(["search", str(tmp_path / "saved"), "fig", "-k", str(k), *shown]) == 0
    printed = capsys.readouterr().out
    assert [f"item-{number:02}" in printed for number in range(30)] == [number < k for number in range(30)]


def test_pages_have_offsets_facets_orders_groups_and_highlights(ask, files, capsys):
    options = ("fig", "-k", 1, "--offset", 1, "--sort", "price:desc", "--facets", "brand,price:2")
    (page,) = ask(*options, "--highlight", "brand")
    assert [(hit["id"], hit["rank"], hit["highlights"]) for hit in page["hits"]] == [("b", 2, {"brand": []})]
    assert page["total"] == 3 and page["facets"]["brand"]["values"] == [
        {"value": "x", "count": 2},
        {"value": "y", "count": 1},
    ]
    (groups,) = ask("fig", "--distinct", "brand", "--explain")
    assert groups["groups"] == 2 and [hit["more"] for hit in groups["hits"]] == [1, 0]
    assert groups["hits"][0]["why"]["score"] == pytest.approx(groups["hits"][0]["score"])
    assert main(["search", str(files / "bm25"), *map(str, options)]) == 0
    said = capsys.readouterr().out
    assert "3 found" in said and "brand: x (2), y (1)" in said and "2  " in said


def test_a_pipe_that_nothing_writes_to_is_refused(tmp_path, capsys):
    tokens({"a": "fig", "b": "pear"}).save(tmp_path / "search")
    os.mkfifo(tmp_path / "pipe")
    asked = ["remove", str(tmp_path / "search"), "--from", str(tmp_path / "pipe"), "-o", str(tmp_path / "out")]
    assert main(asked) == 2
    assert "Got " in capsys.readouterr().err and not (tmp_path / "out").exists()
