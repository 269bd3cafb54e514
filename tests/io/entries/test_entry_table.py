"""The native reader at its border, and the rules that it shares with Python."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla._native import EntryFormat, EntryTable
from vizsla.core.strings import Strings
from vizsla.io.interactions import Interactions, read_clicks, read_qrels

TABS = EntryFormat(separator="\t", width=3, query=0, item=1, value=2)


def growing() -> EntryTable:
    return EntryTable(None, None, stop_at_unknown=False)


def test_reading_stops_at_a_line_that_is_not_plain() -> None:
    table, block = growing(), b"q\ta\t1\n\n \nq\ta\t1e3\nq\tb\t2\n"
    assert table.read(block, 0, 5, TABS) == (9, 8, 2)
    assert table.read(block, 17, 9, TABS) == (len(block), 10, 0)
    rows, columns, values, lines = table.take()
    assert (rows.tolist(), columns.tolist(), values.tolist(), lines.tolist()) == ([0, 0], [0, 1], [1, 2], [5, 9])
    assert table.seen == 2


def test_unknown_names_are_counted_or_stop_the_reading() -> None:
    queries, items = Strings.of(["q"]), Strings.of(["a"])
    arrays = [(strings.data, strings.offsets, strings.slots) for strings in (queries, items)]
    block = b"q\ta\t1\nz\ty\t1\nq\tx\t1\n"
    lenient = EntryTable(*arrays, stop_at_unknown=False)
    assert lenient.read(block, 0, 1, TABS)[0] == len(block)
    assert (lenient.unknown_queries, lenient.unknown_items, lenient.seen) == ((1, b"z"), (1, b"x"), 3)
    assert EntryTable(*arrays, stop_at_unknown=True).read(block, 0, 1, TABS)[:2] == (6, 2)


def test_names_are_numbered_as_they_come() -> None:
    names = [f"name {number * 7919 % 30_000}" for number in range(90_000)]
    pairs = Interactions(None, None, dangling="warn")
    block = "".join(f"{name}\tx\t1\n" for name in names).encode()
    assert pairs.read(block, 0, 1, TABS)[0] == len(block)
    numbers: dict[str, int] = {}
    assert pairs.columns[0].tolist() == [numbers.setdefault(name, len(numbers)) for name in names]
    assert list(pairs.queries) == list(numbers)
    pairs.queries.check_slots()


def test_white_space_is_that_of_python() -> None:
    near = {*range(1, 0x3100), *range(0xFE00, 0x10100), *range(0x3100, sys.maxunicode, 997)}
    codes = sorted(code for code in near if code != ord("\n") and not 0xD800 <= code < 0xE000)
    table = growing()
    blank = {code for code in codes if table.read(f"{chr(code)}\n".encode(), 0, 1, TABS)[2]}
    silent = {code for code in codes if table.read(f"{chr(code)}\ta\t1\n".encode(), 0, 1, TABS)[0] == 0}
    assert blank == {code for code in codes if chr(code).isspace()}
    assert silent == blank


@given(st.lists(st.from_regex(r"[0-9]{1,17}(\.[0-9]{0,17})?|\.[0-9]{1,17}", fullmatch=True), max_size=9))
def test_weights_are_what_float_reads(tmp_path_factory: pytest.TempPathFactory, weights: list[str]) -> None:
    log = tmp_path_factory.mktemp("log") / "log.tsv"
    log.write_text("".join(f"q\ta\t{weight}\n" for weight in ["1", *weights]))
    pairs = Interactions(None, None, dangling="warn")
    read_clicks(log).into(pairs)
    assert pairs.columns[2].tolist() == [1.0, *map(float, weights)]


@pytest.mark.parametrize("separator", ["\t", " ", "\u3000 "])
def test_grades_of_both_shapes_of_judgments(tmp_path: Path, separator: str) -> None:
    grades = {"1": 1, "0": 0, "-1": -1, "2.0": 2, "-2.": -2, "1e1": 10, "2147483647": 2147483647, "+3": 3}
    middle = [] if separator == "\t" else ["0"]
    path = tmp_path / "judgments"
    path.write_text("".join(separator.join(["q", *middle, "a", grade]) + "\n" for grade in grades))
    pairs = Interactions(None, None, dangling="warn")
    read_qrels(path).into(pairs)
    assert pairs.columns[2].tolist() == list(grades.values())


@pytest.mark.parametrize(
    "options",
    [
        {"width": 1},
        {"width": 65},
        {"query": -1},
        {"query": 3},
        {"item": 3},
        {"value": 3},
        {"value": -2},
        {"time": 9},
        {"separator": ";"},
    ],
)
def test_a_format_that_cannot_be_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"column|separator"):
        EntryFormat(**{"separator": "\t", "width": 3, "query": 0, "item": 1, **options})


def test_what_a_careless_caller_gives_is_refused() -> None:
    with pytest.raises(ValueError, match="inside the block"):
        growing().read(b"abc", 4, 1, TABS)
    strings = Strings.of(["a"])
    with pytest.raises(ValueError, match="without slots"):
        EntryTable((strings.data, strings.offsets, np.zeros(0, np.uint32)), None, stop_at_unknown=False)
    with pytest.raises(ValueError, match="offset"):
        EntryTable((strings.data, strings.offsets + 1, strings.slots), None, stop_at_unknown=False)
