"""Target "commands": every verb of the command line, from a call that works to one or two arguments that make no sense.

Whatever is given, a command ends with 0, 1 or 2 and a line; nothing is half-written, and nothing that a terminal would
obey is printed.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np

from tests.fuzz.command_files import make_files
from tests.fuzz.uses import described
from vizsla.cli import main
from vizsla.cli.verbs import parser

COMMANDS = [
    "index bm25 items.jsonl -o out",
    "index bm25 items.tsv -o out",
    "index bm25 items.csv -o out",
    "index tokens items.tsv -o out",
    "index statistics items.tsv -o out",
    "index tfidf items.tsv -o out",
    "index pq dense -o out --bytes 4 --rounds 1",
    "index dense items.tsv --encoder lsa --dim 4 -o out",
    "index anchors items.tsv --scorer dense --anchors 3 -o out",
    "train tokens items.tsv --clicks clicks.tsv --epochs 1 -o out",
    "train xrlinear items.tsv --clicks clicks.tsv --no-cold-start --click-weights none -o out",
    "train jpq pq --clicks clicks.tsv --epochs 1 --click-loss-weight 1 -o out",
    "adapt pefa dense --clicks clicks.tsv -o out",
    "adapt pefa-xs dense --clicks clicks.tsv --weight 0.5 --calibrated no -o out",
    "adapt pefa-max dense --clicks clicks.tsv --weight 0.5 --margin 0.5 --item-weight 0.5 -o out",
    "adapt pefa-xl dense --clicks clicks.tsv --weight 0.5 --neighbors 3 --votes mean -o out",
    "add tokens new.csv -o out",
    "remove tokens i1 i2 -o out",
    "remove pq --from ids.txt -o out",
    "search bm25 fig",
    "search items.tsv fig",
    "search bm25 --queries queries.tsv --json",
    "search bm25 fig --explain",
    "search bm25 fig --late vectors.db --data items.tsv",
    "eval bm25 items.tsv --queries queries.tsv --qrels qrels.txt",
    "eval run.trec items.tsv --queries queries.tsv --qrels qrels.txt",
    "compare items.tsv bm25 dense --queries queries.tsv --qrels qrels.txt --latency-queries 1",
    "sweep hnsw items.tsv --queries queries.tsv --qrels qrels.txt",
    "compose a|b --let a=bm25 --let b=dense -o out",
    "compose a+b --let a=bm25 --let b=dense --learn items.tsv --clicks clicks.tsv -o out",
    "split items.tsv --clicks clicks.tsv -o out --held-out 0.3 --cold 0",
    "inspect bm25",
    "inspect union --json",
    "inspect vectors.db",
    "check bm25 union",
    "convert dataset items.tsv out --to jsonl",
    "convert dataset items.jsonl out --to beir --clicks clicks.tsv",
    "engine create out --member words=bm25 --field price=number",
    "engine add live new.csv",
    "engine upsert live items.tsv",
    "engine delete live i1 i2",
    "engine delete live --where price<20",
    "engine click live fig i1",
    "engine click live --clicks clicks.tsv",
    "engine search live fig",
    "engine sync live items.tsv",
    "engine compact live",
    "engine rebuild live words",
    "engine snapshot live after",
    "engine rollback live before",
    "engine check live",
    "engine stats live",
    "engine backup live -o out",
]
WORDS = [
    "",
    "-1",
    "0",
    "1",
    "nan",
    "inf",
    "-inf",
    "1e999",
    "9" * 30,
    "9" * 5000,
    "1e-400",
    "-0.5",
    "1.5",
    "0x10",
    "1_000",
    "٣",
    "True",
    "none",
    "auto",
    "x",
    "é",
    "\ud8ff",
    "\x1b[31m",
    "a\nb",
    "a,b",
    "a=b",
    "=",
    "price<3",
    "price=x",
    "..",
    "/nowhere",
    "~",
    "-",
    "--",
    "%s",
    "{}",
    "[1, 2",
    "a" * 5000,
    "english",
    "utf-16",
    "2026-13-45",
    "nDCG@10",
    "nDCG@-1",
    "P@0",
    "a|b",
    "bm25",
    "items.tsv",
    "1:2",
    "1,2,3",
]
SLOW = {
    "--epochs",
    "--rounds",
    "--max-steps",
    "--latency-queries",
    "--table-epochs",
    "--anchors",
    "--threads",
    "--reassignments",
}
LEFT_OUT = {"--help", "--version", "--watch"}
"""Ends at once, or never."""
MEASURING = ("eval", "compare", "sweep")
"""A sanitizer ends these: the evaluator under ir-measures frees what it did not allocate so."""


class CommandTarget:
    """Runs commands in a folder of its own; a case's number and the seed decide everything."""

    def __init__(self, scratch: Path, seed: int, only: str = ""):
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        self.folder, self.seed = scratch / "files", seed
        self.folder.mkdir()
        make_files(self.folder)
        self.spare = shutil.copytree(self.folder / "live", scratch / "spare")
        tried = [
            command for command in COMMANDS if not (os.environ.get("LD_PRELOAD") and command.startswith(MEASURING))
        ]
        self.commands = [command.split() for command in tried if only in command]
        self.options = {" ".join(command): _options(parser(), command) for command in self.commands}
        self.bad = [str(Path("bad") / entry.name) for entry in sorted((self.folder / "bad").iterdir())]

    def run(self, case: int, kept: list[int] | None = None) -> tuple[str, list[str]]:
        """Run one command; with `kept`, only these of its changes are made."""
        command = list(self.commands[case % len(self.commands)])
        options = self.options[" ".join(command)]
        random = np.random.default_rng([self.seed, case])
        for step in range(1 + int(random.random() < 0.3)):
            if kept is None or step in kept:
                command = self._changed(command, options, np.random.default_rng([self.seed, case, step]))
        return self._outcome(command), [" ".join(command)[:400]]

    def _changed(self, command: list[str], options: list[argparse.Action], random: np.random.Generator) -> list[str]:
        value = str(random.choice(self.bad if random.random() < 0.4 else WORDS))
        places = [at for at, word in enumerate(command) if at > 1 and not word.startswith("-") and word != "out"]
        if places and (random.random() < 0.5 or not options):
            at = int(random.choice(places))
            slow = command[at - 1] in SLOW and value.startswith("9")
            return command if slow else [*command[:at], value, *command[at + 1 :]]
        option = options[int(random.integers(len(options)))]
        name = option.option_strings[-1]
        if option.nargs == 0:
            return [*command, name]
        if option.choices and random.random() < 0.7:
            value = str(random.choice([str(choice) for choice in option.choices]))
        elif name in SLOW:
            value = str(random.choice(["0", "-1", "2", "x", "1.5", "nan"]))
        return [*command, f"{name}={value}"]

    def _outcome(self, command: list[str]) -> str:
        os.chdir(self.folder)
        if command[0] == "engine":  # the command before may have changed it
            shutil.rmtree(self.folder / "live")
            shutil.copytree(self.spare, self.folder / "live")
        said, stdin = io.StringIO(), sys.stdin
        try:
            sys.stdin = io.TextIOWrapper(io.BytesIO(b"fig\n\x00\xff\n"))
            with redirect_stdout(said), redirect_stderr(said):
                code = main(command)
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 2
        except Exception as error:
            return f"failure: {described(error)}"
        finally:
            sys.stdin = stdin
            problem = self._left()
        if code not in (0, 1, 2):
            return f"failure: exit code {code}"
        if problem and code:
            return f"failure: left behind: {problem}"
        if any(bad in said.getvalue() for bad in ("\x1b", "\x07", "\u202e")):
            return "failure: what a terminal would obey was printed"
        return "refused" if code else "answered"

    def _left(self) -> str:
        """Remove what the command wrote, and return its name."""
        out = self.folder / "out"
        there = out.exists() or out.is_symlink()
        if out.is_dir() and not out.is_symlink():
            shutil.rmtree(out)
        elif there:
            out.unlink()
        partial = next((entry.name for entry in self.folder.iterdir() if ".partial" in entry.name), "")
        return partial or ("out" if there else "")


def _options(top: argparse.ArgumentParser, command: list[str]) -> list[argparse.Action]:
    """Return the options that a command's verb knows."""
    for word in command:
        inner = next((a for a in top._actions if isinstance(a, argparse._SubParsersAction)), None)
        if inner is None:
            break
        top = inner.choices[word]
    return [action for action in top._actions if action.option_strings and action.option_strings[-1] not in LEFT_OUT]
