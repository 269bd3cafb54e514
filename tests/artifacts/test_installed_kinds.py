"""Kinds that an installed distribution declares by entry points: found by `load` and by the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = """
import numpy as np

import vizsla
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings


class Lengths(vizsla.Retriever):
    kind = "toy-lengths"

    def __init__(self, items, lengths):
        self._items, self.lengths = items, lengths

    @property
    def items(self):
        return self._items

    @property
    def nbytes(self):
        return int(self.lengths.nbytes)

    def _search(self, queries, k, filter, threads):
        allowed = np.arange(len(self.items), dtype=np.int32) if filter is None else filter.numbers
        everything = Candidates.from_rows([allowed] * len(queries), catalog=self.items)
        return everything.with_scores(self._score(queries, everything, filter, threads), k=k)

    def _score(self, queries, candidates, filter, threads):
        return PairScores(self.lengths[candidates.items], Stats())

    def _explain(self, queries, item, filter):
        return Explanation(float(self.lengths[item]), "the length of its id")

    def _write(self, writer):
        writer.catalog("items", self.items)
        writer.array("lengths", self.lengths)

    @classmethod
    def _read(cls, reader):
        return cls(reader.catalog("items"), reader.array("lengths", np.float32))


def lengths(ids):
    return Lengths(Strings.of(ids), np.array([len(each) for each in ids], np.float32))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder with a module and the metadata that pip would have written for it."""
    (tmp_path / "toy.py").write_text(PACKAGE)
    info = tmp_path / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[vizsla.kinds]\ntoy-lengths = toy:Lengths\ntoy-wrong = toy:lengths\ntoy-absent = nowhere:Thing\n"
    )
    saved = run(tmp_path, "-c", f"import toy; toy.lengths(['a', 'bbb', 'cc']).save({str(tmp_path / 'model')!r})")
    assert saved.returncode == 0, saved.stderr
    return tmp_path


def run(folder: Path, *arguments: str, path: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder) if path else ""}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_the_command_line_loads_a_kind_that_is_installed(installed):
    done = run(installed, "-m", "vizsla", "search", str(installed / "model"), "any", "-k", "1")
    assert done.returncode == 0 and "bbb" in done.stdout, done.stderr


def test_without_the_distribution_the_kind_is_unknown(installed):
    done = run(installed, "-m", "vizsla", "search", str(installed / "model"), "any", path=False)
    assert done.returncode != 0 and "unknown kind 'toy-lengths'" in done.stderr


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("toy-wrong", "`toy:lengths` must be a class of the kind 'toy-wrong'"),
        ("toy-absent", "Got an error: ModuleNotFound"),
    ],
)
def test_a_wrong_declaration_is_named(installed, kind, said):
    done = run(installed, "-c", f"from vizsla.artifacts.kinds import class_of; class_of({kind!r})")
    assert "InputError" in done.stderr and said in done.stderr


def test_installed_kinds_are_listed(installed):
    done = run(installed, "-c", "from vizsla.artifacts.kinds import known_kinds; print(known_kinds())")
    assert "'toy-lengths'" in done.stdout and "'bm25'" in done.stdout
