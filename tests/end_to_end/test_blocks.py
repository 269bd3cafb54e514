"""`vizsla search` shows a block per hit that fits the terminal; a table needs --show."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import vizsla
from vizsla.cli import main
from vizsla.core.display import middle_cut
from vizsla.data.dataset import Dataset

BASE = "https://shop.example.com/catalog/garden/trees/fruit/"
ITEMS = [
    {
        "id": f"{BASE}{name}-tree-in-a-large-terracotta-pot-{number}",
        "title": f"{name.capitalize()} tree",
        "text": "Plants for the garden. " * 12 + f"The {name} tree bears sweet fruit in autumn. " + "Water it. " * 20,
        "price": number,
        "brand": "Ace Gardens",
    }
    for number, name in enumerate(["fig", "pear", "plum", "lime"], 1)
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vizsla.bm25(Dataset.of(ITEMS, keep_texts=True)).save(tmp_path_factory.mktemp("blocks") / "index")


def on_terminal(columns: int, *arguments: str) -> list[str]:
    """Run a command on a terminal of so many columns, and return its lines without colors."""
    child, terminal = pty.fork()
    if child == 0:
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
        os.execve(sys.executable, [sys.executable, "-m", "vizsla", *arguments], environment | {"TERM": "xterm"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    out = b""
    try:
        while data := os.read(terminal, 65536):
            out += data
    except OSError:  # the other end is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, out.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.decode()).replace("\r", "").split("\n")


@pytest.mark.parametrize("columns", [80, 40])
def test_every_hit_is_a_block_that_fits(saved: Path, columns: int) -> None:
    lines = on_terminal(columns, "search", str(saved), "fig tree autumn", "-k", "4")
    assert all(cell_len(line) <= columns for line in lines)
    heads = [line for line in lines if re.match(r"\d  \d+\.\d{4}  ", line)]
    assert [head.split()[0] for head in heads] == ["1", "2", "3", "4"] and heads[0].endswith("Fig tree")
    ids = [line.strip() for line in lines if line.startswith("    http")]
    assert len(set(ids)) == 4, "ids that are cut must still differ"
    assert all("…" in id for id in ids) and {id[-1] for id in ids} == set("1234")
    first = lines.index(heads[0])
    assert "fig tree" in " ".join(lines[first + 2 : first + 4]), "the snippet shows the query's words"
    assert not any("price" in line or "rank" in line for line in lines), "columns only with --show"


def test_columns_come_with_show_and_do_not_vanish(saved: Path) -> None:
    lines = on_terminal(80, "search", str(saved), "fig", "-k", "1", "--show", "title,price,brand")
    head = next(line for line in lines if "rank" in line)
    assert head.split() == ["rank", "score", "id", "title", "price", "brand"]
    row = next(line for line in lines if "Fig tree" in line)
    assert "Ace Gardens" in row and "https://" in row and "pot-1" in row and "…" in row
    narrow = on_terminal(40, "search", str(saved), "fig", "-k", "1", "--show", "title,price,brand")
    said = [line.strip() for line in narrow]
    assert "title: Fig tree" in said and "price: 1" in said and "brand: Ace Gardens" in said
    assert all(cell_len(line) <= 40 for line in narrow)


def test_off_a_terminal_ids_are_whole(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", str(saved), "fig tree", "-k", "4"]) == 0
    out = capsys.readouterr().out
    assert all(item["id"] in out for item in ITEMS)
    assert main(["search", str(saved), "nothing-like-it"]) == 0
    assert "Nothing found." in capsys.readouterr().out


def test_control_characters_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = "a\x1b[31mred\x9b2J"
    items = [{"id": f"x{bad}", "title": f"fig {bad}", "text": f"fig {bad}\nmore\x07"}]
    path = vizsla.bm25(Dataset.of(items, keep_texts=True)).save(tmp_path / "bad")
    for options in ([], ["--show", "title,text"]):
        assert main(["search", str(path), "fig", *options]) == 0
        out = capsys.readouterr().out
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", out) and "\\x1b" in out


def test_an_index_without_titles_or_texts_shows_ids(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = vizsla.bm25({"f": "a fig", "p": "a pear"}).save(tmp_path / "plain")
    assert main(["search", str(path), "fig"]) == 0
    assert re.search(r"^1  \d\.\d{4}  f$", capsys.readouterr().out, re.MULTILINE)


@given(st.text(max_size=60), st.integers(0, 50))
def test_a_middle_cut_fits_and_keeps_both_ends(text: str, width: int) -> None:
    found = middle_cut(text, width)
    assert cell_len(found) <= max(width, 0)
    if cell_len(text) <= width:
        assert found == text
    elif width >= 3:
        head, _, tail = found.partition("…")
        assert text.endswith(tail) and text.startswith(head.rstrip())
