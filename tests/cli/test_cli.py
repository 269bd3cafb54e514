"""The command as a person types it: every verb, its files, its exit codes, its one-line errors."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import vizsla
from tests.support.interrupts import has_open, interrupted, started, wait_until
from vizsla.cli import main

ITEMS = {"fig": "a small fig tree", "apple": "an apple tree", "pear": "a pear", "plum": "plums and figs"}


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    (folder / "qrels").mkdir(parents=True)
    lines = [json.dumps({"_id": item, "title": "", "text": text}) for item, text in ITEMS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    queries = {"q1": "fig tree", "q2": "pear"}
    (folder / "queries.jsonl").write_text("".join(json.dumps({"_id": q, "text": t}) + "\n" for q, t in queries.items()))
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tfig\t1\nq2\tpear\t1\n")
    return folder


@pytest.fixture
def built(data, tmp_path):
    assert main(["index", "bm25", str(data), "-o", str(tmp_path / "bm25")]) == 0
    return tmp_path / "bm25"


def test_index_then_search_with_reasons(built, data, capsys):
    capsys.readouterr()
    assert main(["search", str(built), "fig", "tree", "-k", "2", "--explain", "--data", str(data)]) == 0
    printed = capsys.readouterr().out
    assert printed.index("fig") < printed.index("apple")
    assert "a small fig tree" in printed and "'tree': in 2 of 4 items" in printed and "ms" in printed


def test_search_prints_json_for_queries_from_standard_input(built, capsys, monkeypatch, tmp_path):
    capsys.readouterr()
    monkeypatch.setattr("sys.stdin", iter(["fig tree\n", "pear\n"]))
    allowed = tmp_path / "allowed"
    allowed.write_text("apple\npear\n")
    assert main(["search", str(built), "-", "--json", "--explain", "--where", str(allowed)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[hit["id"] for hit in row["hits"]] for row in rows] == [["apple"], ["pear"]]
    assert rows[0]["hits"][0]["why"]["score"] == pytest.approx(rows[0]["hits"][0]["score"])


def test_eval_writes_the_promised_json_and_a_trec_run(built, data, tmp_path, capsys):
    out, run = tmp_path / "out.json", tmp_path / "run.trec"
    arguments = [
        "--measures",
        "R@1,RR@10",
        "--json",
        str(out),
        "--trec",
        str(run),
        "--markdown",
        str(tmp_path / "t.md"),
    ]
    assert main(["eval", f"mine={built}", str(data), *arguments]) == 0
    written = json.loads(out.read_text())
    assert list(written) == ["mine"]
    assert written["mine"]["measures"] == {"R@1": 1.0, "RR@10": 1.0}
    assert {"ms_p50", "ms_p99", "bytes", "scored", "model_calls", "queries"} <= set(written["mine"]["cost"])
    assert written["mine"]["cost"]["queries"] == 2
    assert run.read_text().startswith("q1 Q0 fig 1 ")
    assert "R@1" in capsys.readouterr().out


def test_compare_compose_and_plots(built, data, tmp_path, capsys):
    other = tmp_path / "atire"
    assert main(["index", "bm25", str(data), "-o", str(other), "--variant", "atire", "--stop-words", "english"]) == 0
    fused = tmp_path / "fused"
    expression = "0.5*a.normalized() + 0.5*b.normalized('minmax')"
    assert main(["compose", expression, "--let", f"a={built}", "--let", f"b={other}", "-o", str(fused)]) == 0
    files = [tmp_path / name for name in ("c.json", "latency.png", "bytes.svg")]
    arguments = ["--json", str(files[0]), "--plot", str(files[1]), "--plot-bytes", str(files[2])]
    assert main(["compare", str(data), str(built), f"both={fused}", *arguments]) == 0
    assert list(json.loads(files[0].read_text())) == ["bm25", "both"]
    assert all(file.stat().st_size > 1000 for file in files[1:])
    assert "both" in capsys.readouterr().out


def test_inspect_and_check(built, capsys):
    capsys.readouterr()
    assert main(["inspect", str(built)]) == 0
    assert "bm25" in capsys.readouterr().out
    assert main(["inspect", str(built), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "bm25"
    assert main(["check", str(built)]) == 0
    assert "sound" in capsys.readouterr().out
    array = next(built.rglob("impacts.npy"))
    array.write_bytes(array.read_bytes()[:-1] + b"\x7f")
    assert main(["check", str(built)]) == 1
    assert "impacts.npy" in capsys.readouterr().err


@pytest.mark.parametrize("to", ["beir", "jsonl", "parquet", "trec"])
def test_convert_and_read_again(data, tmp_path, to, capsys):
    assert main(["convert", "dataset", str(data), str(tmp_path / to), "--to", to]) == 0
    if to != "trec":
        assert main(["index", "bm25", str(_items_of(tmp_path / to)), "-o", str(tmp_path / "again")]) == 0
        assert main(["search", str(tmp_path / "again"), "pear"]) == 0
        assert "pear" in capsys.readouterr().out


def _items_of(folder: Path) -> Path:
    if folder.is_file():
        return folder
    alone = [file for file in folder.iterdir() if file.stem in ("items", "corpus")]
    return folder if (folder / "qrels").is_dir() or not alone else alone[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["search", "nowhere", "fig"], "nowhere: there is no such file or folder"),
        (["search", "{built}", "fig", "-k", "0"], "`k` must be a whole number above 0. Got 0."),
        (["index", "bm25", "nothing-here", "-o", "{out}"], "nothing-here"),
        (["index", "bm25", "{data}", "-o", "{built}"], "`--output` must be new. Got"),
        (["index", "bm25", "{data}", "-o", "{out}", "--b", "3"], "`b` must be"),
        (["eval", "{built}", "{data}", "--split", "dev"], "`split` must be one of test. Got 'dev'"),
        (["eval", "{built}", "{data}", "--measures", "nDGC@10"], "nDGC@10"),
        (["compare", "{data}", "{built}", "{built}"], "Got 'bm25' twice"),
        (["compose", "a >>", "--let", "a={built}", "-o", "{out}"], "ends too soon"),
        (["compose", "a", "--let", "a", "-o", "{out}"], "a: there is no such file or folder"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(built, data, tmp_path, capsys, arguments, message):
    capsys.readouterr()
    filled = [a.format(built=built, data=data, out=tmp_path / "out") for a in arguments]
    assert main(filled) == 2
    said = capsys.readouterr().err
    assert said.startswith("vizsla: ") and said.count("\n") == 1
    assert message in said
    assert not (tmp_path / "out").exists()


def test_unknown_verb_and_version():
    with pytest.raises(SystemExit) as stopped:
        main(["fetch"])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0


def _many_items(path: Path, count: int) -> None:
    with path.open("w") as out:
        for number in range(count):
            out.write(
                json.dumps({"_id": str(number), "text": f"word{number % 977} word{number % 1009} tree " * 20}) + "\n"
            )


def test_ctrl_c_stops_within_a_second_and_leaves_nothing(tmp_path):
    _many_items(tmp_path / "items.jsonl", 150_000)
    before = set(tmp_path.iterdir())
    command = [
        sys.executable,
        "-m",
        "vizsla",
        "index",
        "bm25",
        str(tmp_path / "items.jsonl"),
        "-o",
        str(tmp_path / "out"),
    ]
    process = started(command, text=True)
    wait_until(lambda: has_open(process, tmp_path / "items.jsonl"), process)
    said, seconds = interrupted(process)
    assert process.returncode == 130, said
    assert "stopped" in said and "Traceback" not in said
    assert seconds < 1
    assert set(tmp_path.iterdir()) == before


def test_progress_shows_on_a_terminal_and_nowhere_else(tmp_path):
    _many_items(tmp_path / "items.jsonl", 20_000)
    command = [sys.executable, "-m", "vizsla", "index", "bm25", str(tmp_path / "items.jsonl"), "-o"]
    quiet = subprocess.run([*command, str(tmp_path / "one")], capture_output=True, text=True, check=True)
    assert quiet.stderr == ""
    reader, writer = pty.openpty()
    process = subprocess.Popen([*command, str(tmp_path / "two")], stderr=writer, stdout=subprocess.DEVNULL)
    os.close(writer)
    shown = b""
    while chunk := _read(reader):
        shown += chunk
    assert process.wait() == 0
    assert b"reading" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side has gone.
        return b""


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_closed_pipe_is_not_an_error(form, built):
    """Far more is printed than a pipe holds, so that somebody notices that the reader has gone."""
    asked = "yes fig | head -3000"
    command = f"{asked} | '{sys.executable}' -m vizsla search '{built}' - {form} | head -1"
    done = subprocess.run(["bash", "-c", f"{command}; exit ${{PIPESTATUS[2]}}"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"") and done.stdout.count(b"\n") == 1


def test_train_on_a_click_log_then_search(data, tmp_path, capsys):
    clicks = tmp_path / "clicks.tsv"
    clicks.write_text("query\titem\tweight\nsmall fruit\tfig\t3\nlarge fruit\tapple\t1\ntiny fruit\tfig\t2\n")
    items = data / "corpus.jsonl"
    out = tmp_path / "xr"
    options = ["--click-weights", "raw", "--kind-shares", "1", "0.5", "0"]
    assert main(["train", "xrlinear", str(items), "--clicks", str(clicks), "-o", str(out), *options]) == 0
    assert vizsla.load(out).encoder.shares == (1.0, 0.5, 0.0)
    assert main(["search", str(out), "small", "fruit", "--explain", "-k", "2"]) == 0
    printed = capsys.readouterr().out
    assert "features: unigrams 1, bigrams 0.5\nclick weights: raw\n" in printed
    assert "chosen for 2 training queries" in printed and printed.index("fig") < printed.index("apple")
    assert main(["check", str(out)]) == 0


def test_sweep_a_model_and_see_what_it_adds(built, data, tmp_path, capsys):
    log = tmp_path / "clicks.tsv"
    log.write_text("q1\tfig\t3\nq2\tpear\t1\n")
    model = tmp_path / "xr"
    assert main(["train", "xrlinear", str(data), "--clicks", str(log), "-o", str(model)]) == 0
    common = ["--measures", "R@10", "--latency-queries", "2"]
    plot, rows = tmp_path / "curve.png", tmp_path / "rows.json"
    arguments = ["sweep", str(model), str(data), *common, "--efforts", "1,4", "--plot", str(plot), "--json", str(rows)]
    assert main(arguments) == 0
    assert "effort 4" in capsys.readouterr().out and plot.stat().st_size > 5000
    assert [row["effort"] for row in json.loads(rows.read_text())["values"]] == [1, 4]
    assert main(["sweep", str(model), str(data), *common, "--thresholds", "0.1,0.3", "--json", str(rows)]) == 0
    sizes = [row["cost"]["bytes"] for row in json.loads(rows.read_text())["values"]]
    assert sizes[1] < sizes[0]
    assert main(["sweep", str(model), str(data), *common, "--bits", "32,16,8", "--json", str(rows)]) == 0
    assert [row["bits"] for row in json.loads(rows.read_text())["values"]] == [8, 16, 32]
    sizes = [row["cost"]["bytes"] for row in json.loads(rows.read_text())["values"]]
    assert sizes == sorted(sizes) and len(set(sizes)) == 3
    capsys.readouterr()
    assert main(["compare", str(data), str(built), str(model), *common, "--overlap", "2"]) == 0
    assert "not bm25" in capsys.readouterr().out
    sweep = ["sweep", str(model), str(data)]
    for wrong in (["sweep", str(built), str(data)], [*sweep, "--efforts", "few"], [*sweep, "--bits", "4"]):
        assert main(wrong) == 2


def test_two_dashes_are_no_value(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["remove", "model", "a", "--output=--"])
    assert stopped.value.code == 2 and "argument --output: expected a value" in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["search x q --tread 2", "inspect x --deep"])
def test_an_unknown_option_shows_the_usage_of_its_verb(typed, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(typed.split())
    printed = capsys.readouterr().err
    assert stopped.value.code == 2 and printed.startswith(f"usage: vizsla {typed.split()[0]} ")
    assert printed.rstrip().endswith("unrecognized arguments: " + typed[typed.index("--") :])


def test_main_stays_a_function():
    """A module of the package must not have its name: importing one sets it as an attribute of the package."""
    import vizsla.cli

    assert vizsla.cli.main(["check", "no such folder"]) == 1
    assert callable(vizsla.cli.main)


@pytest.mark.parametrize("options", [[], ["--after", "2024-05-03"]])
def test_what_split_holds_out_is_not_among_the_clicks_that_it_writes(tmp_path, options):
    """Clicks with times are written with them, and others as they are."""
    items, clicks = tmp_path / "items.tsv", tmp_path / "clicks.tsv"
    items.write_text("id\ttext\n" + "".join(f"i{n}\ta fig {n}\n" for n in range(6)))
    time = [f"\t2024-05-{1 + n % 5:02}" if options else "" for n in range(30)]
    clicks.write_text("".join(f"asked {n}\ti{n % 6}\t1{time[n]}\n" for n in range(30)))
    out = tmp_path / "out"
    drawn = options or ["--held-out", "0.3", "--cold", "0"]
    assert main(["split", str(items), "--clicks", str(clicks), "-o", str(out), *drawn]) == 0
    both = vizsla.Dataset.open(out)
    held = set(both.query_texts("test")[1])
    learned = {query.text for query, row in zip(both.queries, both.clicks.tocsr(), strict=True) if row.nnz}
    assert held and learned and not held & learned
