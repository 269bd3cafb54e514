from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.io.conftest import Put
from vizsla.errors import DataError
from vizsla.io.files import LineFile


def texts(path: Path) -> list[str]:
    return [line.text for line in LineFile(path)]


def test_lines_have_numbers_and_offsets_that_lead_back(put: Put) -> None:
    file = LineFile(put("a.txt", "\ufeffone\r\nzwölf\n\nlast"))
    lines = list(file)
    assert [(line.number, line.text) for line in lines] == [(1, "one"), (2, "zwölf"), (3, ""), (4, "last")]
    assert [file.at(line.offset).text for line in lines] == ["one", "zwölf", "", "last"]


def test_only_newlines_end_a_line(put: Put) -> None:
    assert texts(put("a.txt", "a\u2028b\x0bc\rd\ne")) == ["a\u2028b\x0bc\rd", "e"]


def test_gzip_is_known_by_its_bytes_and_not_by_its_name(put: Put) -> None:
    path = put("a.txt.gz", "one\ntwo\n")
    assert texts(path.rename(path.with_name("b.txt"))) == ["one", "two"]


@pytest.mark.parametrize("data", [b"fine\nb\xe4d\n", b"fine\n\xff\xfe\n"])
def test_a_line_that_is_not_utf8_is_named(put: Put, data: bytes) -> None:
    path = put("a.txt", data)
    with pytest.raises(DataError, match=r"a\.txt, line 2: .*UTF-8") as caught:
        texts(path)
    assert (str(caught.value.path), caught.value.line) == (str(path), 2)


def test_a_nul_byte_is_named(put: Put) -> None:
    with pytest.raises(DataError, match=r"a\.txt, line 2: the line has a NUL byte"):
        texts(put("a.txt", b"fine\na\0b\n"))


def test_utf16_is_refused_unless_it_is_said(put: Put) -> None:
    with pytest.raises(DataError, match=r'line 1: the file is UTF-16, not UTF-8. Pass encoding="utf-16"'):
        texts(put("a.txt", "one\ntwo\n".encode("utf-16")))


@pytest.mark.parametrize("cut", [5, 20, -4])
def test_a_damaged_gzip_is_named(put: Put, cut: int) -> None:
    whole = put("a.txt.gz", "some words that do not repeat: 8f3k2\n" * 3)
    whole.write_bytes(whole.read_bytes()[:cut])
    with pytest.raises(DataError, match=r"a\.txt\.gz, line \d: the gzip stream is damaged"):
        texts(whole)


def test_a_flipped_byte_in_a_gzip_is_seen(put: Put) -> None:
    path = put("a.txt.gz", "".join(f"line {number}\n" for number in range(500)))
    data = bytearray(path.read_bytes())
    data[-6] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(DataError, match="gzip stream is damaged"):
        texts(path)


def test_a_file_that_changes_between_two_readings_raises(put: Put) -> None:
    path = put("a.txt", "one\n")
    file = LineFile(path)
    assert len(list(file)) == 1
    path.write_text("one\ntwo\n")
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="changed after it was opened"):
        list(file)


def test_a_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        LineFile(tmp_path / "nothing.txt")
