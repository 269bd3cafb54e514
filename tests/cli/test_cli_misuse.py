"""The command says in one line what is wrong, whatever it is given: no stack trace, and Ctrl-C is exit code 130."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest

import vizsla
from tests.support.interrupts import started, wait_until
from vizsla.cli import main

HUGE = "9" * 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    lines = [{"_id": f"i{n}\x1b[31m", "text": f"a fig tree {n}"} for n in range(30)]
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "clicks.tsv").write_text("".join(f"fig {n}\ti{n}\x1b[31m\t1\n" for n in range(30)))
    vizsla.bm25({line["_id"]: line["text"] for line in lines}).save(folder / "bm25")
    return folder


def run(*arguments, **options):
    command = [sys.executable, "-m", "vizsla", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, **options)


@pytest.mark.parametrize(
    "arguments",
    [
        ("train", "xrlinear", "items.jsonl", "--clicks", "clicks.tsv", "-o", "out", "--seed=-1"),
        ("train", "xrlinear", "items.jsonl", "--clicks", "clicks.tsv", "-o", "out", "--seed", HUGE),
        ("train", "xrlinear", "items.jsonl", "--clicks", "clicks.tsv", "-o", "out", "--threads", HUGE),
        ("train", "xrlinear", "items.jsonl", "--clicks", "clicks.tsv", "-o", "out", "--branching", HUGE),
        ("train", "xrlinear", "items.jsonl", "--clicks", "clicks.tsv", "-o", "out", "--C", "1e400"),
        ("index", "dense", "items.jsonl", "--encoder", "lsa", "-o", "out", "--seed=-1"),
        ("index", "dense", "items.jsonl", "--encoder", "lsa", "-o", "out", "--dim", HUGE),
        ("adapt", "pefa-xs", "bm25", "--clicks", "clicks.tsv", "-o", "out", "--seed=-1"),
        ("search", "bm25", "fig", "-k", HUGE),
        ("search", "bm25", "fig", "-k", "0"),
        ("search", "bm25", "fig", "-k", "9" * 5000),
        ("compose", "a % " + "9" * 5000, "a=bm25", "-o", "out"),
        ("compose", "a.union(" * 1100, "a=bm25", "-o", "out"),
        ("search", "bm25\udcff", "fig"),
        ("eval", ".", "items.jsonl"),
        ("eval", "bm25", "items.jsonl", "--queries=\udcff.tsv"),
    ],
)
def test_one_line_and_exit_code_2(folder, arguments):
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr and not (folder / "out").exists()


def test_ids_and_queries_that_a_terminal_would_obey_are_shown(folder):
    for options in ((), ("--explain",), ("--json",), ("--json", "--explain")):
        done = run("search", "bm25", "fig\x1b]0;x\x07\udcff", *options, cwd=folder)
        assert done.returncode == 0, done.stderr
        assert b"\x1b" not in done.stdout and b"\x07" not in done.stdout and b"\\" in done.stdout
    answer = json.loads(run("search", "bm25", "fig", "--json", cwd=folder).stdout)
    assert answer["hits"][0]["id"].endswith("\x1b[31m")


@pytest.mark.parametrize("name", ["\ud8ff", "\ud8ff.tsv"])
def test_a_path_that_no_system_can_have_is_refused(folder, name, capsys):
    assert main(["eval", str(folder / "bm25"), str(folder / "items.jsonl"), f"--queries={name}"]) == 2
    assert "must be a path" in capsys.readouterr().err


def test_names_of_what_is_checked_are_shown(folder):
    done = run("check", "bm25", "red \x1b[31m", cwd=folder)
    assert done.returncode and b"\x1b" not in done.stdout + done.stderr and b"\\x1b" in done.stdout + done.stderr


def imports_numpy(process) -> bool:
    """Whether the command is in the middle of its imports."""
    try:
        return "numpy" in open(f"/proc/{process.pid}/maps").read()  # noqa: PTH123
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_during_start_up_is_130(folder):
    process = started([sys.executable, "-m", "vizsla", "search", "bm25", "-"], cwd=folder, stdin=subprocess.PIPE)
    wait_until(lambda: imports_numpy(process), process)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1]
    assert process.returncode == 130 and b"Traceback" not in said and b"stopped" in said


def test_an_error_that_ctrl_c_turned_into_is_130_too(folder):
    code = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import vizsla.cli.inspect as verb
from vizsla.cli import main
def run(arguments):  # as a compiled module does whose import is interrupted
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): pass
    except KeyboardInterrupt:
        raise ImportError("numpy._core.multiarray failed to import") from None
verb.run = run
sys.exit(main(["inspect", "bm25"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=os.environ, cwd=folder)
    assert done.returncode == 130 and b"Traceback" not in done.stderr and b"stopped" in done.stderr


def test_an_error_of_our_own_still_shows_where_it_came_from(folder):
    code = """
import sys
import vizsla.cli.inspect as verb
from vizsla.cli import main
def run(arguments):
    raise ZeroDivisionError("ours")
verb.run = run
sys.exit(main(["inspect", "bm25"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=os.environ, cwd=folder)
    assert done.returncode == 1 and b"in run" in done.stderr and b"ZeroDivisionError: ours" in done.stderr


def test_ctrl_c_while_verbs_are_imported(folder):
    code = """
import importlib, os, signal, sys
real = importlib.import_module
def slow(name, *rest):
    if name == "vizsla.cli.sweep":
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest)
importlib.import_module = slow
signal.signal(signal.SIGINT, signal.default_int_handler)
from vizsla.cli import main
sys.exit(main(["sweep", "--help"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=os.environ)
    assert done.returncode == 130 and b"Traceback" not in done.stderr


def test_a_plot_that_cannot_be_drawn_is_refused_before_the_work(folder, tmp_path):
    adapt = ["adapt", "pefa-xs", folder / "bm25", "--clicks", folder / "clicks.tsv", "-o", tmp_path / "out"]
    done = run(*adapt, "--plot", "curve.txt")
    assert done.returncode == 2 and b"must end in .png" in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "2.0", "-0.1", "half"])
@pytest.mark.parametrize(
    "command",
    [
        "adapt pefa a --clicks b -o c",
        "adapt pefa-xs a --clicks b -o c --weight 0.5",
        "train jpq a --clicks b -o c",
        "train cross-encoder a --clicks b --model m -o c",
        "split a -o b",
        "compose a --let a=b -o c",
    ],
)
def test_a_share_is_from_0_to_1(command, value, capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*command.split(), f"--cold={value}"])
    assert "--cold: must be a number from 0 to 1" in capsys.readouterr().err


BASES = {
    "search": ["bm25", "fig"],
    "index bm25": ["items.jsonl", "-o", "new"],
    "eval": ["bm25", "items.jsonl", "--clicks", "clicks.tsv"],
    "train xrlinear": ["items.jsonl", "--clicks", "clicks.tsv", "-o", "new", "--threads", "1"],
    "adapt pefa-xs": ["bm25", "--clicks", "clicks.tsv", "-o", "new"],
    "split": ["items.jsonl", "--clicks", "clicks.tsv", "-o", "new"],
    "remove": ["bm25", "i3\x1b[31m"],
    "compare": ["bm25", "bm25", "items.jsonl"],
}


def _ended(arguments):
    """Return the exit code, which argparse raises."""
    try:
        return main(arguments)
    except SystemExit as ended:
        return ended.code


@pytest.mark.parametrize("verb", BASES)
def test_half_a_character_in_any_option_is_no_stack_trace(folder, monkeypatch, capsys, verb):
    """Such a value cannot be written as UTF-8; Python programs can pass it to `main`."""
    monkeypatch.chdir(folder)
    assert _ended([*verb.split(), "--help"]) == 0
    options = sorted(set(re.findall(r"(?m)^  (?:-\w \w+, )?(--[a-z0-9-]+) [A-Z]", capsys.readouterr().out)))
    assert len(options) > 1
    for option in options:
        code = _ended([*verb.split(), *BASES[verb], f"{option}=\ud8ff"])
        said = capsys.readouterr().err
        assert code in (0, 2) and "Traceback" not in said, (option, code, said)
