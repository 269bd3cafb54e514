"""Every option of every verb arrives, with its value, at the function that the verb is made for."""

from __future__ import annotations

import argparse
from functools import cache
from types import SimpleNamespace

import pytest

from tests.cli.commands import COMMANDS, ELSEWHERE, ITEMS, WORDS
from tests.cli.recording import Recorder
from vizsla import bm25, dense, load
from vizsla.cli import main
from vizsla.cli.verbs import parser
from vizsla.encoders.lsa import LsaEncoder
from vizsla.methods.bm25_statistics import Statistics
from vizsla.methods.tokens.model import tokens


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with data, a log, queries, judgments, and saved retrievers."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "items.jsonl").write_text("".join(f'{{"id": "{i}", "text": "{t}"}}\n' for i, t in ITEMS.items()))
    (folder / "log.tsv").write_text("fig\ta\t1\ncar\td\t1\nold tree\tc\t2\n")
    (folder / "queries.tsv").write_text("q1\tfig\nq2\tcar\n")
    (folder / "qrels.tsv").write_text("q1 0 a 1\nq2 0 d 2\n")
    (folder / "more.txt").write_text("fig\ncar tree\n")
    (folder / "model").mkdir()
    (folder / "model" / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    bm25(ITEMS).save(folder / "bm25")
    tokens(ITEMS).save(folder / "tokens")
    Statistics.of(ITEMS).save(folder / "statistics")
    flat = dense(ITEMS, LsaEncoder.fit(ITEMS.values(), dim=2))
    flat.save(folder / "dense")
    return folder


def written(parts, files, new):
    names = {path.stem if path.is_file() else path.name: path for path in files.iterdir()}
    return [part.format(**names, new=new) for part in parts]


@pytest.mark.parametrize("verb", COMMANDS)
def test_options_arrive(verb, files, tmp_path, monkeypatch):
    command, place, by_hand = COMMANDS[verb]
    recorder = Recorder(monkeypatch)
    recorder.at(place)
    argv = [*verb.split(), *written(command, files, tmp_path / "new")]
    plain = recorder.given(argv)
    for option, expected in {**declared_rows(verb), **by_hand}.items():
        found = recorder.given([*argv, *written(option.split(), files, tmp_path / "new")])
        for name, wanted in expected.items():
            assert wanted(found.get(name)) if callable(wanted) else found.get(name) == wanted, option
        changed = {name for name in found.keys() | plain.keys() if _told_apart(found.get(name), plain.get(name))}
        named = {name for name in expected if not name.isdigit()}
        assert changed <= {*named, "1", "2"}, f"{option} changes what it names alone"
        assert {name for name, wanted in expected.items() if not callable(wanted)} <= changed, f"{option} is no default"


def declared_rows(verb):
    """What the options that a signature declares become: rows as in COMMANDS, with values that are no defaults."""
    flags = " ".join(COMMANDS[verb][2]).split()
    rows = {}
    for action in verbs()[verb]._actions:
        option, flag = getattr(action, "declared_by", None), action.option_strings[-1] if action.option_strings else ""
        if option is None or action.dest in ELSEWHERE or flag.replace("--no-", "--") in flags:
            continue
        if action.nargs == 0:
            rows[flag] = {option.name: option.default is False}  # the last flag of a pair is --no-...
        elif action.choices is not None:
            word = next(word for word in reversed(action.choices) if word != option.default)
            rows[f"{flag} {word}"] = {option.name: word}
        elif "bool" in option.kinds:
            rows[f"{flag} yes"] = {option.name: True}
        elif {"int", "float"} & {*option.kinds}:
            number = 37 if "int" in option.kinds else 0.3125
            rows[f"{flag} {number}"] = {option.name: number}
        else:
            rows[f"{flag} word"] = {option.name: "word"}
    return rows


def _told_apart(one, other):
    plain = (int, float, str, bool, type(None), list, tuple)
    return isinstance(one, plain) and isinstance(other, plain) and one != other


@cache
def verbs():
    """Return the parser of every verb by its name."""
    return dict(leaves(parser()))


def leaves(node, name=""):
    subs = [action for action in node._actions if isinstance(action, argparse._SubParsersAction)]
    if not subs:
        yield name, node
    for sub in subs:
        for verb, inner in sub.choices.items():
            yield from leaves(inner, f"{name} {verb}".strip())


@pytest.mark.parametrize("verb", COMMANDS)
def test_no_option_is_without_a_row(verb):
    options = [action for action in verbs()[verb]._actions if action.option_strings]
    known = " ".join(COMMANDS[verb][2])
    missing = [
        action.option_strings
        for action in options
        if action.dest not in ELSEWHERE and not hasattr(action, "declared_by")
        and not any(flag in known.split() for flag in action.option_strings)
    ]  # fmt: skip
    assert not missing, "add a row for these to COMMANDS"


READING = {
    "--id": ("id", "id"),
    "--text": ("text", "text"),
    "--title": ("title", "text"),
    "--meta": ("meta", "text"),
    "--format": ("format", "jsonl"),
    "--separator": ("separator", ";"),
    "--encoding": ("encoding", "latin-1"),
    "--on-error": ("on_error", "skip"),
    "--rejected": ("rejected", "left-out.txt"),
    "--passage-size": ("passage_size", 77),
    "--passage-overlap": ("passage_overlap", 7),
    "--passage-min": ("passage_min", 3),
    "--passage-unit": ("passage_unit", "characters"),
    "--dedupe": ("dedupe", "near"),
}
OPENED = [
    "index bm25",
    "index tokens",
    "index tfidf",
    "train xrlinear",
    "train tokens",
    "split",
    "convert dataset",
    "eval",
    "compare",
]


@pytest.mark.parametrize("verb", OPENED)
def test_how_data_are_read_arrives(verb, files, tmp_path, monkeypatch):
    command, _, _ = COMMANDS[verb]
    recorder = Recorder(monkeypatch)
    recorder.at("vizsla.data.dataset:Dataset.open")
    argv = [*verb.split(), *written(command, files, tmp_path / "new")]
    options = [part for option, (_, value) in READING.items() for part in (option, value)]
    files_of = ["--queries", "a.tsv", "--clicks", "b.tsv", "--qrels", "c.tsv"]
    found = recorder.given([*argv, *options, "--keep-texts", "--click-columns", "query=search, item=sku", *files_of])
    assert {name: found[name] for name, _ in READING.values()} == dict(READING.values())
    assert found["keep_texts"] is True and found["click_columns"] == {"query": "search", "item": "sku"}
    assert [found[name] for name in ("queries", "clicks", "qrels")] == ["a.tsv", "b.tsv", "c.tsv"]
    assert set(recorder.given(argv)) <= {"0", "queries", "clicks", "qrels"}  # what nobody says is left to the library


SAVED = ("index dense", "index pq", "adapt pefa-xs", "adapt pefa-max", "adapt pefa-xl", "adapt pefa", "train jpq")


@pytest.mark.parametrize("verb", SAVED)
def test_how_an_artifact_is_saved_arrives(verb, files, tmp_path, monkeypatch):
    quick = {
        "index dense": ["{items}", "--dim", "2", "-o", "{new}"],
        "adapt pefa-xs": ["{dense}", "--clicks", "{log}", "--weight", "0.5", "--calibrated", "no", "-o", "{new}"],
        "index pq": ["{dense}", "--bytes", "1", "--bits", "4", "--no-opq", "-o", "{new}"],
    }
    command = quick[verb] if verb in quick else COMMANDS[verb][0]
    recorder = Recorder(monkeypatch)
    recorder.at("vizsla.artifacts.artifact:Artifact.save")
    argv = [*verb.split(), *written(command, files, tmp_path / "new")]
    for options, bundled, overwrite in (([], None, False), (["--bundle-model", "--overwrite"], True, True)):
        found = recorder.given([*argv, *options])
        assert (found["bundle_models"], found["overwrite"]) == (bundled, overwrite)
    assert recorder.given([*argv, "--no-bundle-model"])["bundle_models"] is False
    for options in (["--bundle-model", "m", "n"], ["--bundle-model", "m", "--bundle-model", "n"]):
        assert recorder.given([*argv, *options])["bundle_models"] == ["m", "n"]


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("--index hnsw --M 5 --ef-construction 6 --ef 7", {"index": "hnsw", "M": 5, "ef_construction": 6, "ef": 7}),
        ("--index ivf --lists 5 --probes 2 --seed 7", {"index": "ivf", "lists": 5, "probes": 2, "seed": 7}),
        ("--index ivf --recall 0.5", {"recall": 0.5, "index": "ivf"}),
        ("--index pq --bytes 1 --bits 4 --no-opq --memory-mb 9", {"bytes": 1, "bits": 4, "opq": False, "memory_mb": 9}),
        ("--guarded", {"index": "flat", "guarded": True}),
        ("--storage int8", {"storage": "int8"}),
    ],
)
def test_options_of_dense_indexes_arrive(option, wanted, files, tmp_path, monkeypatch):
    recorder = Recorder(monkeypatch)
    recorder.at("index_dense:dense")
    argv = ["index", "dense", files / "items.jsonl", "--dim", "2", "-o", tmp_path / "new", *option.split()]
    found = recorder.given(argv)
    assert {name: found[name] for name in wanted} == wanted


def test_options_of_encoders_arrive(files, tmp_path, monkeypatch):
    argv = ["index", "dense", files / "items.jsonl", "-o", tmp_path / "new"]
    recorder = Recorder(monkeypatch)
    recorder.at("index_dense:LsaEncoder.fit")
    found = recorder.given([*argv, "--dim", "3", "--seed", "7"])
    assert (found["dim"], found["seed"]) == (3, 7)
    recorder.at("index_dense:open_encoder")
    recorder.at("adapt:open_encoder")
    options = ["--encoder", "some/model", "--query-prompt", "q: ", "--item-prompt", "i: ", "--no-normalize"]
    wanted = {"0": "some/model", "query_prompt": "q: ", "item_prompt": "i: ", "normalize": False}
    assert recorder.given([*argv, *options]) == wanted
    adapted = ["adapt", "pefa-xl", files / "dense", "--clicks", files / "log.tsv", "-o", tmp_path / "new"]
    assert recorder.given([*adapted, "--encoder", "some/model"]) == {"0": "some/model"}


def test_options_of_a_sweep_arrive(files, monkeypatch):
    recorder = Recorder(monkeypatch)
    recorder.at("sweep:sweep")
    argv = ["sweep", files / "dense", files / "items.jsonl"]
    assert main([*map(str, argv), "--efforts", "3"]) == 2  # an exact search has no effort
    graph = files / "graph"
    if not graph.exists():
        assert (
            main([*map(str, ["index", "dense", files / "items.jsonl", "--dim", 2, "--index", "hnsw", "-o", graph])])
            == 0
        )
    found = recorder.given(["sweep", graph, *argv[2:], "--efforts", "3,9", "--split", "dev", "--measures", "R@5"])
    assert found["0"] == "effort" and found["split"] == "dev" and found["measures"] == ["R@5"]
    assert [(value, system.effort) for value, system in found["1"]] == [(3.0, 3), (9.0, 9)]
    own = [value for value, _ in recorder.given(["sweep", graph, *argv[2:]])["1"]]
    assert own == [30, 75, 150, 300, 600, 1200]  # of its own 300, a tenth to four times
    assert main([*map(str, ["sweep", graph, *argv[2:], "--bits", "8"])]) == 2  # no tree
    assert main([*map(str, ["sweep", graph, *argv[2:], "--efforts", "many"])]) == 2


def test_anchors_options_arrive(files, tmp_path, monkeypatch):
    recorder = Recorder(monkeypatch)
    argv = ["index", "anchors", files / "items.jsonl", "--queries", files / "queries.tsv", "--scorer", files / "bm25"]
    argv += ["-o", tmp_path / "new", "--prior", files / "tokens", "--prior", files / "dense"]
    recorder.at("index_anchors:anchor_queries")
    found = recorder.given([*argv, "--anchors", "3", "--seed", "7", "--choose", "clicks"])
    assert (found["count"], found["seed"], found["how"]) == (3, 7, "clicks")
    recorder.monkeypatch.undo()
    recorder.at("index_anchors:residual_cur")
    options = ["--anchors", "2", "--budget", "3", "--rounds", "2", "--storage", "float32", "--seed", "5"]
    found = recorder.given([*argv, *options])
    assert {name: found[name] for name in ("budget", "rounds", "storage", "seed")} == {
        "budget": 3, "rounds": 2, "storage": "float32", "seed": 5,
    }  # fmt: skip
    assert [prior.kind for prior in found["2"]] == ["tokens", "dense"] and found["0"].kind == "bm25"
    assert main([*map(str, [*argv, *options, "--estimate", "-o", tmp_path / "other"])]) == 0
    assert not (tmp_path / "other").exists()


def test_the_papers_budgeted_searches_are_built(files, tmp_path, capsys):
    argv = ["index", "anchors", files / "items.jsonl", "--queries", files / "queries.tsv", "--scorer", files / "bm25"]
    argv += ["--anchors", "2", "--budget", "3", "--paper", "--prior", files / "tokens"]
    assert main([*map(str, [*argv, "--method", "adacur", "--rounds", "2", "-o", tmp_path / "adacur"])]) == 0
    assert main([*map(str, [*argv, "--method", "anncur", "--first-calls", "1", "-o", tmp_path / "anncur"])]) == 0
    made = {name: load(tmp_path / name) for name in ("adacur", "anncur")}
    assert [(one.ridge, one.plan.budget, one.plan.rounds, one.plan.first) for one in made.values()] == [
        (0.0, 3, 2, None),
        (0.0, 3, 2, 1),
    ]
    assert all(one.first.kind == "tokens" for one in made.values())
    capsys.readouterr()
    for wrong, told in (
        (["--method", "adacur", "--rank", "2"], "`--rank` must be left out with `--method adacur`"),
        (["--method", "anncur", "--rounds", "2"], "`--rounds` must be left out"),
        (["--method", "adacur", "--prior", files / "dense"], "`--prior` must be given once at most"),
        ([], "`--paper` must be left out with `--method residual`"),
    ):
        assert main([*map(str, [*argv, *wrong, "-o", tmp_path / "no"])]) == 2
        assert told in capsys.readouterr().err


def test_options_of_an_export_arrive(files, tmp_path, monkeypatch):
    recorder = Recorder(monkeypatch)
    argv = ["export", "onnx", "some/model", "-o", tmp_path / "new"]
    recorder.at("export_onnx:SentenceEncoder")
    options = ["--query-prompt", "q: ", "--item-prompt", "i: ", "--max-tokens", "33"]
    wanted = {"0": "some/model", "query_prompt": "q: ", "item_prompt": "i: ", "max_tokens": 33}
    assert recorder.given([*argv, *options]) == wanted
    recorder.at("export_onnx:SentenceEncoder", answer="model")
    recorder.at("export_onnx:export_onnx", answer="full")
    recorder.at("export_onnx:check_sample")
    data = ["--int8", "--data", files / "items.jsonl", "--queries", files / "queries.tsv", "--threads", "2"]
    sizes = ["--split", "dev", "--check-queries", "5", "--check-items", "6", "--seed", "7"]
    found = recorder.given([*argv, *data, *sizes])
    assert {name: found[name] for name in ("split", "queries", "items", "seed")} == {
        "split": "dev", "queries": 5, "items": 6, "seed": 7,
    }  # fmt: skip
    assert [call.get("threads") for call in recorder.calls if "threads" in call] == [2]
    sample = type("Sample", (tuple,), {"relevant": "right"})(("queries", "items", "right"))
    recorder.at("export_onnx:check_sample", answer=sample)
    recorder.at("export_onnx:quantize")
    found = recorder.given([*argv, *data, "--depth", "3", "--max-loss", "0.2", "--no-per-channel"])
    rules = {name: found[name] for name in ("depth", "max_loss", "per_channel", "relevant")}
    assert rules == {"depth": 3, "max_loss": 0.2, "per_channel": False, "relevant": "right"}
    assert "per_channel" not in recorder.given([*argv, *data])


@pytest.mark.parametrize("option", [["--no-per-channel"], ["--query-prompt", "q"], ["--item-prompt", "i"]])
def test_what_a_cross_encoder_has_not_is_refused(option, files, tmp_path, capsys):
    argv = [
        "export",
        "onnx",
        "some/model",
        "--cross-encoder",
        "-o",
        tmp_path / "new",
        "--int8",
        "--data",
        files / "items.jsonl",
    ]
    assert main([*map(str, argv), *option]) == 2
    assert f"`{option[0]}` must be left out" in capsys.readouterr().err


def test_what_a_query_and_an_item_become_arrives(files, tmp_path, monkeypatch):
    seen = {}

    class Encoder:
        def with_forms(self, **forms):
            seen.update(forms)
            return self

    monkeypatch.setattr("vizsla.cli.index_sidr.sidr_encoder", lambda path: seen.update(path=path) or Encoder())
    recorder = Recorder(monkeypatch)
    recorder.at("index_sidr:sidr")
    argv = ["index", "sidr", files / "items.jsonl", "--model", "trained", "-o", tmp_path / "new"]
    recorder.given([*argv, "--queries-as", "tokens", "--items-as", "learned"])
    assert seen == {"path": "trained", "queries": "tokens", "items": "learned"}


def test_int8_is_asked_of_the_trained_model_and_its_data(files, tmp_path, monkeypatch):
    recorder = Recorder(monkeypatch)
    recorder.at("train_sidr:train_sidr", answer="learned")
    recorder.at("train_sidr:quantize_sidr")
    argv = ["train", "sidr", files / "items.jsonl", "--clicks", files / "log.tsv", "--model", files / "model"]
    found = recorder.given([*argv, "-o", tmp_path / "new", "--int8", "--seed", "7"])
    assert found["0"] == "learned" and found["seed"] == 7


def test_neighbors_arrive_where_they_teach(files, tmp_path, monkeypatch):
    seen = {}

    def with_items(items, *, neighbors=10):
        seen["neighbors"] = neighbors
        raise ValueError

    monkeypatch.setattr("vizsla.cli.add.load_changeable", lambda path: SimpleNamespace(with_items=with_items))
    with pytest.raises(ValueError):
        main(["add", "m", str(files / "items.jsonl"), "-o", str(tmp_path / "new"), "--neighbors", "3"])
    assert seen == {"neighbors": 3}


def test_a_question_of_ones_own_arrives(monkeypatch):
    recorder = Recorder(monkeypatch)
    recorder.at("vizsla.demo.tour:run_demo")
    assert recorder.given(["demo", "how", "to", "sort"]) == {"questions": ["how to sort"]}
    assert recorder.given(["demo"]) == {"questions": None}
