"""CSV and TSV catalogs as people have them: mapped columns, quotes, line ends, encodings, dirt."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
import warnings
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.io.conftest import Put
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, InputError
from vizsla.io import files, tables
from vizsla.io.bad_lines import Reading
from vizsla.io.files import Line, LineFile
from vizsla.io.tables import CsvRows, TableSource, item_maker

HEAD = "sku,title,description,price,brand\n"


def opened(put: Put, content: str | bytes, name: str = "items.csv", **options):
    return Dataset.open(put(name, content), **options)


def test_columns_are_told_by_their_names_and_said(put: Put) -> None:
    dataset = opened(put, HEAD + '1,Fig,"A small, sweet fig",3.50,Ace\n')
    item = dataset.items[0]
    assert (item.id, item.title, item.text) == ("1", "Fig", "A small, sweet fig")
    assert item.metadata == {"price": "3.50", "brand": "Ace"}
    assert dataset.mapping.endswith("items.csv: id sku; text title + description; metadata price, brand")


@pytest.mark.parametrize(("columns", "end"), [(40, "c39"), (41, "c39, and 1 more"), (5000, "c39, and 4,960 more")])
def test_of_many_columns_the_first_are_named(put: Put, columns: int, end: str) -> None:
    names = ",".join(f"c{number}" for number in range(columns))
    dataset = opened(put, f"id,text,{names}\n1,fig{',' * columns}\n")
    assert "items.csv: id id; text text; metadata c0, c1, " in dataset.mapping
    assert dataset.mapping.endswith(f", {end}")


def test_columns_can_be_named(put: Put) -> None:
    options = {"id": "key", "text": "title,descr,more", "meta": ["brand", "title"]}
    dataset = opened(put, "key,title,descr,more,brand,x\n7,Fig,sweet,,Ace,y\n", **options)
    assert dataset.items[0].default_text() == "Fig sweet"
    assert dataset.items[0].metadata == {"brand": "Ace", "title": "Fig"}


@pytest.mark.parametrize(
    ("head", "options", "problem"),
    [
        ("a,b\n1,2\n", {}, "no column of the header is known as an id. Got 'a', 'b'. Name the columns"),
        ("id,b\n1,2\n", {}, "no column of the header is known as a text"),
        ("id,text\n1,2\n", {"meta": "price"}, "there is no column 'price'"),
        ("id,text\n1,2\n", {"id": "sku"}, "there is no column 'sku'. Got 'id', 'text'"),
        ("id,text\n1,2\n", {"title": "name"}, "there is no column 'name'"),
        ("id,text\n1,2\n", {"text": "title,text"}, "there is no column 'title'"),
        ("id,id\n1,2\n", {}, "every column must have a name of its own. Got 'id' twice"),
    ],
)
def test_a_header_that_says_too_little_raises(put: Put, head: str, options: dict, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        opened(put, head, **options)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_told_by_the_header(put: Put, separator: str) -> None:
    content = "\n".join(separator.join(row) for row in (["id", "text", "n"], ["1", "a fig", "2"]))
    assert opened(put, content).items[0].text == "a fig"


@pytest.mark.parametrize("packed", ["items.csv", "items.csv.gz"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_records_over_several_lines_are_read_and_jumped_to(put: Put, end: str, packed: str) -> None:
    rows = ["id,text", '1,"first', 'second ""line"""', "2,plain", '3,"x, y"']
    dataset = opened(put, "\ufeff" + end.join(rows) + end, packed)
    assert [item.text for item in dataset.items] == [f'first{end}second "line"', "plain", "x, y"]
    assert dataset.text("2") == "plain" and dataset.text("1") == f'first{end}second "line"'


DIRT = [
    (b"2,a,b\n", "expected 2 columns, as in the header. Got 3"),
    (b"2\n", "expected 2 columns, as in the header. Got 1"),
    (b",text\n", "the id is empty"),
    (b'2,"never closed\n', "a quote is not closed"),
    (b'2,"closed" early\n', "a quoted field goes on behind its quote"),
    (b"2,nul\x00byte\n", "the line has a NUL byte"),
    (b"2,caf\xe9\n", r"invalid UTF-8 \(byte 0xe9 at column 6\)"),
]


@pytest.mark.parametrize(("line", "problem"), DIRT, ids=[problem[:30] for _, problem in DIRT])
def test_dirt_is_named_or_left_out_counted_and_kept_aside(put: Put, tmp_path, line: bytes, problem: str) -> None:
    path = put("items.csv", b"id,text\n1,one\n" + line + b"3,three\n4,four\n")
    with pytest.raises(DataError, match=f"line 3: .*{problem}"):
        Dataset.open(path)
    aside = tmp_path / "aside"
    with pytest.warns(DatasetWarning, match="1 unreadable lines skipped"):
        dataset = Dataset.open(path, on_error="skip", rejected=aside)
    assert list(dataset.item_ids) == ["1", "3", "4"] and aside.read_bytes() == line
    assert [item.id for item in dataset.items] == ["1", "3", "4"] and dataset.text("4") == "four"
    assert aside.read_bytes() == line, "a second reading writes nothing"


def test_a_wrong_byte_behind_an_open_quote_tells_the_way_out_once(put: Put) -> None:
    with pytest.raises(DataError) as raised:
        opened(put, HEAD.encode() + b'1,"Fig,x,1,b\n2,\xff,x,1,b\n')
    assert str(raised.value).count("Or leave out what cannot be read") == 1


def test_warn_names_the_first_few_and_skip_only_counts(put: Put) -> None:
    path = put("items.csv", "id,text\n1,one\n" + "bad\n" * 9)
    with pytest.warns(DatasetWarning) as named:
        Dataset.open(path, on_error="warn")
    with pytest.warns(DatasetWarning) as counted:
        Dataset.open(path, on_error="skip")
    assert [len(named), len(counted)] == [6, 1]


def test_repeated_ids_empty_texts_and_blank_lines_are_counted(put: Put) -> None:
    path = put("items.csv", "id,text\n1,one\n\n1,again\n2,\n")
    with pytest.raises(DataError, match="line 4: the id '1' was given before, on line 2"):
        Dataset.open(path)
    with pytest.warns(DatasetWarning):
        dataset = Dataset.open(path, on_error="skip")
    assert [message[0] for message in dataset.warnings] == ["1", "1", "1"]
    assert [item.text for item in dataset.items] == ["one", ""]


def test_a_huge_field_is_read(put: Put) -> None:
    huge = "fig, " * 60_000
    assert opened(put, f'id,text\n1,"{huge}"\n2,x\n').items[0].text == huge


@pytest.mark.parametrize(
    ("encoding", "codec"), [("utf-16", "utf-16"), ("latin-1", "latin-1"), ("UTF-8", "utf-8-sig"), ("cp1252", "cp1252")]
)
def test_encodings(put: Put, encoding: str, codec: str) -> None:
    content = "id,text\n" + "".join(f"{n},Grüße aus Köln {n}\n" for n in range(20_000))
    dataset = opened(put, content.encode(codec), encoding=encoding)
    assert dataset.items[19_999].text == "Grüße aus Köln 19999"


def test_a_wrong_byte_of_another_encoding_names_its_line(put: Put) -> None:
    path = put("items.csv", "id,text\n1,ok\n2,".encode("utf-16") + b"\x00\xd8\x00")
    with pytest.raises(DataError, match="line 3: the line has what is not utf-16"):
        Dataset.open(path, encoding="utf-16")
    with pytest.raises(DataError, match='line 1: the file is UTF-16, not UTF-8. Pass encoding="utf-16"'):
        Dataset.open(path)
    with pytest.raises(InputError, match="`encoding` must be one that Python knows"):
        Dataset.open(path, encoding="klingon")


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6), st.sampled_from([100_000, 4]))
def test_what_the_csv_module_writes_is_read_as_it_was(rows, plain) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("x" + one, other) for one, other in rows])
    lines = (Line("a.csv", number, text) for number, text in enumerate(out.getvalue().split("\n")[:-1], 1))
    before, tables.MAX_CSV_MODULE_CHARS = (
        tables.MAX_CSV_MODULE_CHARS,
        plain,
    )  # with 4, the splitter works without the csv module
    try:
        found = [tuple(fields) for _, fields in CsvRows(lines, ",", width=2).read(_refuse)]
    finally:
        tables.MAX_CSV_MODULE_CHARS = before
    assert found == [("x" + one, other) for one, other in rows]


PIECES = [*"\"'\\,;|\t \r\nab1é水\x1f\x85\u2028\ufeff", "\r\n", "\r\n"]
ODD = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


@pytest.mark.parametrize("name", ["items.csv", "items.csv.gz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(ODD, ODD, ODD), min_size=1, max_size=8),
    separator=st.sampled_from(",;|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    block_bytes=st.sampled_from([7, 64, 1 << 18]),
    cut=st.booleans(),
)
@example([('12" pipe', "a\r\nb", "\r")], ",", "\r\n", csv.QUOTE_MINIMAL, 1 << 18, True)
@example([("a\r\nb\nc\nd\r\ne", "\n\r\n\n", "")], ",", "\n", csv.QUOTE_ALL, 7, True)
def test_a_file_of_the_csv_module_is_read_as_it_was(tmp_path, name, rows, separator, end, quoting, block_bytes, cut):
    """Quotes in the middle, line ends of all kinds inside of fields, and odd characters survive, by either way."""
    out = io.StringIO()
    if end == "\n" and any("\r" in cell for row in rows for cell in row):
        quoting = csv.QUOTE_ALL  # before Python 3.13 the module does not quote a lone \r by itself
    writer = csv.writer(out, delimiter=separator, lineterminator=end, quoting=quoting)
    writer.writerow(["id", "text", "more", "last"])
    writer.writerows([(str(number), *row) for number, row in enumerate(rows)])
    text = out.getvalue().removesuffix(end) if cut else out.getvalue()
    raw = text.encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", DatasetWarning)  # of empty texts
        patch.setattr(files, "BLOCK_BYTES", block_bytes)
        dataset = Dataset.open(path)
        found = [(item.id, item.text, item.metadata["more"], item.metadata["last"]) for item in dataset.items]
        assert found == [(str(number), *row) for number, row in enumerate(rows)]
        assert dataset.items[len(rows) - 1].text == rows[-1][0]


@pytest.mark.parametrize("name", ["items.csv", "items.csv.gz"])
def test_quotes_in_the_middle_of_a_text_stay(put: Put, name: str) -> None:
    content = 'id,text\n1,"12"" pipe"\n2,12" pipe\n3,a 12" and a 13" pipe\n4,"""quoted"""\n5,"a ""b"", c"\n'
    dataset = opened(put, content, name)
    wanted = ['12" pipe', '12" pipe', 'a 12" and a 13" pipe', '"quoted"', 'a "b", c']
    assert [item.text for item in dataset.items] == wanted
    assert [dataset.text(str(number)) for number in range(1, 6)] == wanted


@pytest.mark.parametrize("name", ["items.csv", "items.csv.gz"])
def test_a_header_may_go_on_to_the_next_line(put: Put, name: str) -> None:
    dataset = opened(put, 'id,text,"price\nin euro"\n1,fig,3\n', name)
    assert dict(dataset.items[0].metadata) == {"price\nin euro": "3"}


@pytest.mark.parametrize("name", ["items.csv", "items.tsv", "items.csv.gz"])
def test_a_carriage_return_at_the_end_of_a_file_is_no_part_of_the_last_field(put: Put, name: str) -> None:
    separator = "\t" if "tsv" in name else ","
    dataset = opened(put, f"text{separator}id\na fig{separator}f1\r\na pear{separator}p1\r", name)
    assert list(dataset.item_ids) == ["f1", "p1"]


@pytest.mark.parametrize("name", ["clicks.csv", "clicks.tsv"])
def test_a_carriage_return_at_the_end_of_a_click_log_is_no_part_of_the_last_item(put: Put, name: str) -> None:
    separator = "\t" if "tsv" in name else ","
    items, log = put("items.csv", "id,text\na,fig\n"), put(name, f"figs{separator}a\nfig tree{separator}a\r")
    assert Dataset.open(items, clicks=log).clicks.nnz == 2


def _refuse(error: DataError, text: str) -> None:
    raise error


def test_lines_of_an_open_quote_are_looked_at_once(put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    """Doubled quotes on every line: what was read before is not searched again."""
    seen, real = [], tables._QUOTED

    class Counted:
        def match(self, text: str, at: int = 0):
            seen.append(len(text) - at)
            return real.match(text, at)

    monkeypatch.setattr(tables, "_QUOTED", Counted())
    lines = ['a ""fig"" tree'] * 3000
    text = "\r\n".join(["id,text,n", '1,"' + lines[0], *lines[1:], 'end",7', '2,"a ""b""",8', ""])
    items = list(Dataset.open(put("items.csv", text.encode())).items)
    assert items[0].text == "\r\n".join(['a "fig" tree'] * 3000 + ["end"]) and items[1].text == 'a "b"'
    assert sum(seen) <= 4 * len(text), "once for every reading of the file"


LINES = {
    "good": '{at},"a fig"\n',
    "plain": "{at},a fig\n",
    "long": '{at},"a\nfig"\n',
    "nameless": ',"a fig"\n',
    "ragged": "{at},a,fig\n",
    "blank": "\n",
}


@given(st.lists(st.sampled_from(list(LINES)), min_size=1, max_size=30), st.integers(1, 200))
def test_a_record_is_found_in_its_place_whatever_was_left_out(kinds, block_bytes) -> None:
    kinds = ["good", *kinds]
    texts = [LINES[kind].format(at=at) for at, kind in enumerate(kinds)]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "BLOCK_BYTES", block_bytes)
        path = Path(folder) / "items.csv"
        path.write_text("id,text\n" + "".join(texts))
        source = TableSource(LineFile(path), item_maker, how=Reading(on_error="skip"))
        found = list(source)
        kept = ("good", "plain", "long")
        assert [item.id for item in found] == [str(at) for at, kind in enumerate(kinds) if kind in kept]
        for number, item in enumerate(found):
            before = texts[: int(item.id)]
            assert source.place(number).number == 2 + "".join(before).count("\n")
            assert source.pick(number) == item
