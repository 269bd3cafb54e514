"""Shards from the shell: counted one after another, indexed apart, searched as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import vizsla
from vizsla.cli import main

ITEMS = {"fig": "a small fig tree", "apple": "an apple tree", "pear": "a pear", "plum": "plums and figs", "t": "trees"}


def write(path: Path, ids: list[str]) -> str:
    path.write_text("".join(json.dumps({"_id": id, "text": ITEMS[id]}) + "\n" for id in ids))
    return str(path)


@pytest.mark.parametrize("analyzer", [[], ["--stem", "english", "--stop-words", "english"]], ids=["words", "english"])
def test_counted_indexed_and_composed_they_are_the_whole(tmp_path: Path, analyzer: list[str], capsys) -> None:
    whole = write(tmp_path / "all.jsonl", list(ITEMS))
    one, two = write(tmp_path / "one.jsonl", ["fig"]), write(tmp_path / "two.jsonl", list(ITEMS)[1:])
    out = {name: str(tmp_path / name) for name in ("whole", "half", "counts", "a", "b", "both")}
    assert main(["index", "bm25", whole, "-o", out["whole"], *analyzer]) == 0
    assert main(["index", "statistics", one, "-o", out["half"], *analyzer]) == 0
    assert main(["index", "statistics", two, "-o", out["counts"], "--onto", out["half"]]) == 0
    assert "counts: 5 items" in capsys.readouterr().out
    # Those before come first, so that terms are numbered as in the whole.
    assert vizsla.load(out["counts"]) == vizsla.load(out["whole"]).statistics  # type: ignore[attr-defined]
    assert main(["index", "bm25", one, "-o", out["a"], "--statistics", out["counts"]]) == 0
    assert main(["index", "bm25", two, "-o", out["b"], "--statistics", out["counts"]]) == 0
    lets = ["--let", f"a={out['a']}", "--let", f"b={out['b']}"]
    assert main(["compose", "a.shards(b)", *lets, "-o", out["both"]]) == 0
    asked = ["fig tree", "pears", "a plum"]
    assert vizsla.load(out["both"])(asked) == vizsla.load(out["whole"])(asked)  # type: ignore[operator]


def test_another_analyzer_than_that_of_the_statistics_is_one_line(tmp_path: Path, capsys) -> None:
    one, counts = write(tmp_path / "one.jsonl", ["fig"]), str(tmp_path / "counts")
    assert main(["index", "statistics", one, "-o", counts]) == 0
    assert main(["index", "bm25", one, "-o", str(tmp_path / "x"), "--statistics", counts, "--chars"]) != 0
    assert "same analyzer" in capsys.readouterr().err
