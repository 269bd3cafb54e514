"""Exit codes: the second of several counts as much as the first, and what ran out of memory did not succeed."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from vizsla.artifacts import inspect as checking
from vizsla.cli import main
from vizsla.methods.bm25 import bm25


@pytest.fixture
def folders(tmp_path):
    """Two sound artifacts and a damaged one."""
    for name in ("sound", "also sound", "damaged"):
        bm25({"a": "a fig tree", "b": "a pear"}).save(tmp_path / name)
    file = next((tmp_path / "damaged").rglob("*.npy"))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    return {name: str(tmp_path / name) for name in ("sound", "also sound", "damaged")}


@pytest.mark.parametrize("order", list(permutations(["sound", "also sound", "damaged"])))
def test_one_damaged_artifact_is_enough_wherever_it_stands(folders, order, capsys):
    assert main(["check", *(folders[name] for name in order)]) == 1
    told = capsys.readouterr().out.splitlines()
    expected = ["1 problem" if name == "damaged" else "sound" for name in order]
    assert [line.rpartition(": ")[2] for line in told] == expected
    assert main(["check", folders["sound"], folders["also sound"]]) == 0


@pytest.mark.parametrize("order", [("sound", "damaged"), ("damaged", "sound")])
def test_verbs_that_load_several_refuse_one_that_is_damaged(folders, order, tmp_path, capsys):
    lets = [f"--let=p{number}={folders[name]}" for number, name in enumerate(order)]
    assert main(["compose", "p0 | p1", *lets, "-o", str(tmp_path / "out")]) == 2
    assert "checksum does not match" in capsys.readouterr().err and not (tmp_path / "out").exists()
    qrels, data = tmp_path / "qrels.tsv", tmp_path / "data.jsonl"
    qrels.write_text("q1\ta\t1\n")
    data.write_text('{"id": "a", "text": "a fig tree"}\n{"id": "b", "text": "a pear"}\n')
    queries = tmp_path / "queries.tsv"
    queries.write_text("q1\tfig\n")
    given = [str(data), "--queries", str(queries), "--qrels", str(qrels)]
    assert main(["compare", *given, *(f"p{number}={folders[name]}" for number, name in enumerate(order))]) == 2
    assert "checksum does not match" in capsys.readouterr().err


@pytest.mark.parametrize("error", ["plain", "of numpy"])
def test_running_out_of_memory_is_not_success(folders, monkeypatch, capsys, error):
    """Also where the artifact before it was sound."""
    real, seen = checking.check, []

    def check(path):
        seen.append(path)
        if len(seen) == 2:
            if error == "plain":
                raise MemoryError
            np.empty(1 << 60, np.uint8)
        return real(path)

    monkeypatch.setattr(checking, "check", check)
    assert main(["check", folders["sound"], folders["also sound"]]) == 2
    assert "not enough memory" in capsys.readouterr().err
