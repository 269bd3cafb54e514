"""What a verb saves answers as what Python builds from the same data and settings, and not as its neighbors do."""

from __future__ import annotations

import json
from argparse import ArgumentParser

import pytest

import vizsla
from vizsla import Completer, Dataset, bm25, load, tfidf, tokens, typo_tolerant
from vizsla.cli import main
from vizsla.cli.options import add_data, read_clicks
from vizsla.cli.signatures import _literals
from vizsla.cli.sweep import _efforts
from vizsla.compose import parse
from vizsla.evaluation.sweep import sweep
from vizsla.evaluation.sweep import variants as settings_of
from vizsla.text import Analyzer, AnyLanguage

WORDS = ["fig", "tree", "national", "nations", "running", "the", "oil", "Figs", "run"]
ROWS = [
    {"id": f"i{n:02}", "text": " ".join(WORDS[(n * step) % 9] for step in (1, 2, 4, 5)), "name": WORDS[(n * 7) % 9]}
    for n in range(30)
]
QUERIES = ["figs", "nation", "the oil", "runs", "fig tree", "natoinal", "tre"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verbs")
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return folder


def data(**options):
    return Dataset.of(ROWS, **options)


def answers(search):
    found = search(QUERIES, k=7)
    return found.ids if found.scores is None else found.to_dict()


INDEXES = {
    "bm25": lambda: bm25(data()),
    "bm25 --k1 0.3 --b 0.1": lambda: bm25(data(), k1=0.3, b=0.1),
    "bm25 --variant atire": lambda: bm25(data(), variant="atire"),
    "bm25 --words": lambda: bm25(data(), analyzer=Analyzer()),
    "bm25 --stem english": lambda: bm25(data(), analyzer=Analyzer(stem="english")),
    "bm25 --stop-words english": lambda: bm25(data(), analyzer=Analyzer(stop_words="english")),
    "bm25 --chars": lambda: bm25(data(), analyzer=Analyzer(kind="chars")),
    "bm25 --language english": lambda: bm25(data(), analyzer=AnyLanguage("english")),
    "bm25 --language german,english": lambda: bm25(data(), analyzer=AnyLanguage(["german", "english"])),
    "bm25 --text name": lambda: bm25(data(text="name")),
    "bm25 --text text --title name": lambda: bm25(data(text="text", title="name")),
    "bm25 --text name^5,text": lambda: bm25(data(text="name,text"), fields={"name": 5.0, "text": 1.0}),
    "bm25 --fields name^5,text": lambda: bm25(data(), fields="name^5,text"),
    "bm25 --typos": lambda: typo_tolerant(bm25(data())),
    "tfidf": lambda: tfidf(data()),
    "tokens": lambda: tokens(data()),
}


ALIKE = [
    {"bm25", "bm25 --text text --title name"},
    {"bm25 --text name^5,text", "bm25 --fields name^5,text"},
]


@pytest.mark.parametrize("verb", INDEXES)
def test_an_index_answers_as_the_one_that_python_builds(verb, folder, tmp_path):
    kind, *flags = verb.split()
    argv = ["index", kind, str(folder / "items.jsonl"), "-o", str(tmp_path / "out"), *flags]
    assert main(argv) == 0
    found, wanted = load(tmp_path / "out"), INDEXES[verb]()
    assert found.kind == wanted.kind and answers(found) == answers(wanted)
    same = {other for other in INDEXES if other.split()[0] == kind and answers(INDEXES[other]()) == answers(wanted)}
    assert same == {verb} or same in ALIKE, "the options make a difference"


def test_statistics_are_those_of_the_whole_catalog(folder, tmp_path):
    (tmp_path / "part.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS[:11]))
    whole, part = str(tmp_path / "whole"), str(tmp_path / "part")
    assert main(["index", "statistics", str(folder / "items.jsonl"), "-o", whole]) == 0
    assert main(["index", "bm25", str(tmp_path / "part.jsonl"), "--statistics", whole, "-o", part]) == 0
    found, all_items = load(part), bm25(data())
    for query in QUERIES[:5]:
        own = {hit.id: hit.score for hit in all_items(query, k=30)[0] if hit.id < "i11"}
        assert {hit.id: hit.score for hit in found(query, k=30)[0]} == pytest.approx(own)


@pytest.mark.parametrize("flags", [[], ["--exact"], ["-k", "2"], ["--json"]])
@pytest.mark.parametrize("saved", [True, False])
def test_completions_are_those_of_python(flags, saved, folder, tmp_path, capsys):
    source = folder / "items.jsonl"
    if saved:
        source = tmp_path / "completer"
        assert main(["index", "completion", str(folder / "items.jsonl"), "--title", "name", "-o", str(source)]) == 0
        completer = load(source)
        assert completer("na", 8) == Completer.of(data(title="name"))("na", 8) == ["national", "nations"]
    else:
        completer = Completer.of(data(title="name"))
        flags = [*flags, "--title", "name"]
    for prefix in ("na", "nat", "naz", "r"):
        capsys.readouterr()
        assert main(["complete", str(source), prefix, *flags]) == 0
        wanted = completer(prefix, 2 if "-k" in flags else 8, typos="--exact" not in flags)
        printed = capsys.readouterr().out
        assert (json.loads(printed) if "--json" in flags else printed.splitlines()) == wanted


@pytest.mark.parametrize(
    "expression",
    ["a >> b", "a | b", "0.7*a.normalized() + 0.3*b.normalized()", "b % 2 >> a", "a.normalized('zscore')"],
)
def test_an_expression_is_what_it_says_of_the_named_parts(expression, tmp_path):
    parts = {"a": bm25(data()), "b": tfidf(data())}
    lets = [part for name, model in parts.items() for part in ("--let", f"{name}={model.save(tmp_path / name)}")]
    assert main(["compose", expression, *lets, "-o", str(tmp_path / "out")]) == 0
    found, wanted = load(tmp_path / "out"), parse(expression, parts)
    assert str(found) == str(wanted) and answers(found) == answers(wanted)
    swapped = parse(expression, {"a": parts["b"], "b": parts["a"]})
    assert answers(swapped) != answers(wanted)


def test_items_come_and_go(folder, tmp_path, capsys):
    model = tokens(data())
    model.save(tmp_path / "model")
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "new", "text": "fig fig oil"}) + "\n")
    (tmp_path / "gone").write_text("i03\ni05\n")
    out = str(tmp_path / "out")
    assert main(["add", str(tmp_path / "model"), str(tmp_path / "more.jsonl"), "-o", out]) == 0
    assert "1 added, 31 items" in capsys.readouterr().out
    assert answers(load(out)) == answers(model.with_items({"new": "fig fig oil"}))
    argv = ["remove", out, "i01", "--from", str(tmp_path / "gone"), "-o", out]
    assert main(argv) == 0, "the model's own folder is replaced"
    assert "3 removed, 28 items" in capsys.readouterr().out
    wanted = model.with_items({"new": "fig fig oil"}).without_items(["i01", "i03", "i05"])
    assert answers(load(out)) == answers(wanted) and list(load(out).items) == list(wanted.items)
    assert main(argv) == 2 and main([*argv, "--unknown", "ignore"]) == 0
    assert main(["remove", out, "i02", "-o", str(tmp_path / "model")]) == 2, "another's folder is not"
    assert main(["remove", out, "i02", "-o", str(tmp_path / "model"), "--overwrite"]) == 0


def test_the_data_that_convert_writes_are_the_data(folder, tmp_path):
    (tmp_path / "log.tsv").write_text("figs\ti01\t2\noil\ti02\t1\nfigs\ti03\t1\n")
    items, log = folder / "items.jsonl", tmp_path / "log.tsv"
    assert main(["convert", "dataset", str(items), str(tmp_path / "out"), "--clicks", str(log)]) == 0
    again, own = vizsla.open_dataset(tmp_path / "out"), vizsla.open_dataset(items, clicks=log)
    assert [(item.id, item.text, item.title) for item in again.items] == [
        (item.id, item.text, item.title) for item in own.items
    ]
    assert again.clicks.toarray().tolist() == own.clicks.toarray().tolist() and own.clicks.sum() == 4
    assert again.query_texts()[1] == own.query_texts()[1]


def test_a_sweep_measures_every_value_of_an_argument(folder, tmp_path, capsys):
    queries = [{"id": f"q{n}", "text": query} for n, query in enumerate(QUERIES)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    grades = "".join(f"q{n} 0 i{(n * 3) % 30:02} 1\n" for n in range(len(QUERIES)))
    (tmp_path / "qrels.txt").write_text(grades)
    bm25(data()).save(tmp_path / "words")
    given = ["--queries", str(tmp_path / "queries.jsonl"), "--qrels", str(tmp_path / "qrels.txt")]
    sweeping = ["sweep", str(tmp_path / "words"), str(folder / "items.jsonl"), *given]
    argv = [*sweeping, "--argument", "b", "--values", "0,0.5 1"]
    assert main([*argv, "--measures", "RR@10", "--json", str(tmp_path / "out.json"), "--latency-queries", "1"]) == 0
    files = {"queries": tmp_path / "queries.jsonl", "qrels": tmp_path / "qrels.txt"}
    dataset = vizsla.open_dataset(folder / "items.jsonl", **files)
    systems = settings_of(bm25(data()), "b", [0, 0.5, 1], dataset)
    wanted = sweep("b", systems, dataset, measures=["RR@10"], latency_queries=0)
    told, mine = json.loads((tmp_path / "out.json").read_text()), json.loads(wanted.to_json())
    assert told["setting"] == "b" and [each["b"] for each in told["values"]] == [0, 0.5, 1]
    assert [each["measures"] for each in told["values"]] == [each["measures"] for each in mine["values"]]
    assert all(each["cost"]["queries"] == 7 for each in told["values"])
    for wrong in (["--argument", "b"], ["--values", "1"], ["--efforts", "1"], ["--bits", "8"]):
        assert main([*sweeping, *wrong]) == 2


def test_judgments_alone_are_read_as_the_options_say(tmp_path, capsys):
    (tmp_path / "mine.run").write_text("q1 Q0 a 1 2.0 x\nqé Q0 b 1 2.0 x\n", encoding="latin-1")
    (tmp_path / "qrels").write_text("q1 0 a 1\nbroken\nqé 0 b 1\n", encoding="latin-1")
    argv = ["eval", str(tmp_path / "mine.run"), "--qrels", str(tmp_path / "qrels"), "--measures", "RR@10"]
    assert main([*argv, "--encoding", "latin-1"]) == 2 and "line 2" in capsys.readouterr().err
    told = [*argv, "--encoding", "latin-1", "--on-error", "skip", "--json", str(tmp_path / "out.json")]
    assert main([*told, "--rejected", str(tmp_path / "rejected")]) == 0
    (found,) = json.loads((tmp_path / "out.json").read_text()).values()
    assert found["measures"] == {"RR@10": 1.0} and found["cost"]["queries"] == 2
    assert (tmp_path / "rejected").read_bytes() == b"broken\n"


def test_clicks_are_read_from_a_log_or_from_a_folder(folder, tmp_path):
    (tmp_path / "log.tsv").write_text("figs\ti01\t2\noil\ti02\t1\n")
    log = ["--clicks", str(tmp_path / "log.tsv")]
    assert main(["convert", "dataset", str(folder / "items.jsonl"), str(tmp_path / "beir"), *log]) == 0
    parser = ArgumentParser()
    add_data(parser, needed=False)
    found = {name: read_clicks(parser.parse_args(["--clicks", str(tmp_path / name)])) for name in ("beir", "log.tsv")}
    clicked = found["beir"].clicks.tocoo()
    texts = found["beir"].query_texts()[1]
    pairs = {
        (texts[row], found["beir"].item_ids[column]): weight
        for row, column, weight in zip(clicked.row.tolist(), clicked.col.tolist(), clicked.data.tolist(), strict=True)
    }
    assert pairs == {("figs", "i01"): 2, ("oil", "i02"): 1}
    assert len(list(found["log.tsv"])) == 2


@pytest.mark.parametrize(("effort", "tried"), [(10, [1, 2, 5, 10, 20, 40]), (3, [1, 2, 3, 6, 12]), (1, [1, 2, 4])])
def test_a_sweep_tries_a_tenth_to_four_times_the_effort(effort, tried):
    class Effortful:
        """A retriever that knows its effort alone."""

        def __init__(self, effort):
            self.effort = effort

        with_effort = classmethod(lambda kind, effort: kind(effort))

    found = list(_efforts(Effortful(effort), None))
    assert [number for number, _ in found] == tried and [each.effort for _, each in found] == tried
    assert [number for number, _ in _efforts(Effortful(effort), "7, 3")] == [7, 3]
    with pytest.raises(vizsla.errors.InputError, match="effort to vary"):
        _efforts(Effortful(None), None)


@pytest.mark.parametrize(
    ("text", "kinds", "wanted"),
    [
        ('{"a", "b"}', ["str"], ("a", "b")),
        ("Literal['x', 'y']", ["str"], ("x", "y")),
        ("{1, -2}", ["int"], (1, -2)),
        ('float or "auto"', ["float"], ("auto",)),
        ('"auto" or int or "auto"', ["int"], ("auto",)),
        ('str, such as "a"', ["str"], ()),
        ("float", ["float"], ()),
    ],
)
def test_words_that_an_option_may_be_are_those_of_its_type(text, kinds, wanted):
    assert _literals(text, kinds) == wanted
