"""Rows that are split in native code are those that the Python rules give, and so is what is refused."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import _native
from vizsla.errors import DataError, InputError
from vizsla.io import files
from vizsla.io.files import LineFile
from vizsla.io.tables import CsvBatches, CsvRows

PIECES = [
    b"a",
    b"fig",
    b",",
    b",",
    b'"',
    b'""',
    b',"',
    b'",',
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"\0",
    b"\xff",
    "é水".encode(),
]
SOUP = st.lists(st.sampled_from(PIECES), max_size=60).map(b"".join)
ROWS = st.lists(
    st.tuples(*[st.sampled_from(["1", "", '"a, b"', '"x\ny"', '"say ""a"""', 'a "b"', "é"])] * 3), max_size=12
).map(lambda rows: "".join(",".join(row) + "\n" for row in rows).encode())


@given(st.one_of(SOUP, ROWS), st.integers(1, 40), st.booleans())
@example(b'1,2,"open\n2,3,4\n', 3, True)
@example(b'1,2,"a\r\nb"\n1,2,3\n', 40, True)
@example(b"1,2,3\n4,5,6", 40, True)
@example(b'\n\n\n1,2,"a\n\n\n\r\n\n4,5,6\n\n\n7,8,9\n', 40, True)
@example(b'\n\n\n1,2,"a\n\n\n\r\n\n4,5,6\n\n\n7,8,9\n', 3, True)
@example(b"1,2,3\n4,5,6\r", 40, True)
@example(b'1,2,3\r\n4,5,"6"\r', 40, True)
def test_native_rows_are_those_of_the_python_rules(content: bytes, block_bytes: int, quotes: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(files, "BLOCK_BYTES", block_bytes):
        path = Path(folder) / "a.csv"
        path.write_bytes(content)
        assert _batched(path, quotes=quotes) == _one_by_one(path, quotes=quotes)


def _batched(path: Path, *, quotes: bool) -> tuple[object, ...]:
    refused: list[str] = []
    table = CsvBatches(LineFile(path), ",", width=3, quotes=quotes)
    batches = table.read(lambda error, _: refused.append(str(error)), lambda error, _: refused.append(str(error)))
    found = [(batch.line(at), row) for batch in batches for at, row in enumerate(batch.rows)]
    return found, table.blank, sorted(refused)


def _one_by_one(path: Path, *, quotes: bool) -> tuple[object, ...]:
    refused: list[str] = []
    lines = LineFile(path).lines(lambda error, _: refused.append(str(error)))
    table = CsvRows(lines, ",", width=3, quotes=quotes)
    found = list(table.read(lambda error, _: refused.append(str(error))))
    return found, table.blank, sorted(refused)


def test_good_rows_are_split_together(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,text\n" + "".join(f'{number},"a fig, no. {number}\nor so"\n' for number in range(1000)))
    batches = list(CsvBatches(LineFile(path), ",", width=2, quotes=True).read(_raise, _raise))
    assert [len(batch.rows) for batch in batches] == [1, 1000]
    assert batches[1].line(999) == (
        str(path),
        2000,
        '999,"a fig, no. 999',
        path.read_text().index('999,"a fig, no. 999'),
        "\n",
    )


@pytest.mark.parametrize(
    "wrong", [{"position": 4}, {"width": 1}, {"width": 0}, {"separator": '"'}, {"separator": "\n"}, {"separator": "\r"}]
)
def test_the_native_splitter_refuses_what_makes_no_sense(wrong: dict[str, object]) -> None:
    asked = {"block": b"a,b", "position": 0, "line": 1, "separator": ",", "quotes": True, "width": 2} | wrong
    with pytest.raises(InputError):
        _native.csv_rows(**asked)
    assert _native.csv_rows(b"a,b\n", 0, 1, separator=",", quotes=True, width=2**62)[0] == []


def _raise(error: DataError, raw: object) -> None:
    raise error
