"""The native reader and a plain Python one read the same from hostile logs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.io.entries.twin import Twin, read
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError
from vizsla.io import files

ITEMS = ["a", "b", "ä", "a,b", '"a"', "a b"]
QUERIES = ["q", "red fig", 'say "hi"', "a, b", "東京", "\u00a0x", "'", '"', "q ", "\ufeffq", "é", "q\u2028z", "x" * 40]
NOTHING = ["", " ", "\u3000", "\x1f", "\x85"]
WEIGHTS = ["1", "2", "0", "0.5", ".5", "5.", "0.1", "00012", "1e3", "1_0", "0.30000000000000004", "٣", "+1", " 2"]
BAD_WEIGHTS = ["-1", "nan", "inf", "many", ".", "", "1e39", "0x1", "1,5"]
TIMES = ["17", "2024-01-01"]


def quoted(text: str, style: str) -> str:
    doubled = '"' + text.replace('"', '""') + '"'
    needed = "," in text or '"' in text
    styles = {"as needed": doubled if needed else text, "always": doubled, "never": text}
    return styles.get(style, f'"{text}{style}')


@st.composite
def lines(draw: st.DrawFn, *, commas: bool, width: int) -> str:
    fields = [
        draw(st.sampled_from(QUERIES + NOTHING[:2])),
        draw(st.sampled_from(ITEMS + ITEMS + ["z", *NOTHING])),
        draw(st.sampled_from(WEIGHTS + WEIGHTS + BAD_WEIGHTS)),
        draw(st.sampled_from(TIMES * 4 + NOTHING)),
    ][:width]
    ragged = draw(st.sampled_from([0] * 20 + [-1, 1]))
    fields = [*fields, "more"] if ragged > 0 else fields[: width + ragged]
    styles = st.sampled_from(["as needed"] * 20 + ["always"] * 8 + ["never", "", '"x', '" '])
    line = ",".join(quoted(text, draw(styles)) for text in fields) if commas else "\t".join(fields)
    return line + draw(st.sampled_from([""] * 20 + ["\r", " "]))


@st.composite
def logs(draw: st.DrawFn, *, commas: bool, width: int) -> bytes:
    first = (",", "\t")[not commas].join(["fig", "a", "1", "17"][:width])
    rows = draw(st.lists(lines(commas=commas, width=width) | st.sampled_from(["", " ", "\u3000\t"]), max_size=12))
    ends = draw(st.lists(st.sampled_from(["\n", "\r\n"]), min_size=len(rows) + 1, max_size=len(rows) + 1))
    text = "".join(row + end for row, end in zip([first, *rows], ends, strict=True))
    return draw(st.sampled_from([b"", files.BOM])) + text.encode()


@pytest.mark.filterwarnings("ignore::vizsla.core.validation.DatasetWarning")
@pytest.mark.parametrize("width", [2, 3, 4])
@pytest.mark.parametrize("name", ["log.tsv", "log.csv", "log.csv.gz"])
def test_hostile_logs(tmp_path_factory: pytest.TempPathFactory, name: str, width: int) -> None:
    path = tmp_path_factory.mktemp("log") / name

    @given(data=logs(commas="csv" in name, width=width), block_bytes=st.sampled_from([1, 7, 1 << 18]))
    def check(data: bytes, block_bytes: int) -> None:
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        twin = read(data, commas="csv" in name, width=width)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "BLOCK_BYTES", block_bytes)
            skipping_agrees(path, twin)
            raising_agrees(path, twin)

    check()


def opened(path: Path, **options: str) -> Dataset:
    items = path.with_name("items.jsonl")
    if not items.exists():
        items.write_text("".join(json.dumps({"_id": item, "text": "x"}) + "\n" for item in ITEMS))
    return Dataset.open(items, clicks=path, **options)


def skipping_agrees(path: Path, twin: Twin) -> None:
    dataset = opened(path, on_error="warn")
    assert [query.text for query in dataset.queries] == twin.queries()
    matrix = dataset.clicks.tocoo()
    rows, columns = matrix.coords
    found = {
        (dataset.queries[row].text, dataset.item_ids[column]): weight
        for row, column, weight in zip(rows.tolist(), columns.tolist(), matrix.data.tolist(), strict=True)
    }
    assert found == {pair: float(np.float32(weight)) for pair, weight in twin.sums(ITEMS).items()}
    counted = {"blank": len(twin.blank), "unreadable": len(twin.bad), "unknown item": len(twin.dangling(ITEMS))}
    for word, count in counted.items():
        assert [int(text.split()[0]) for text in dataset.warnings if word in text] == [count] * (count > 0)
    assert all(repr(item) in "".join(dataset.warnings) for item in twin.dangling(ITEMS)[:1])


def raising_agrees(path: Path, twin: Twin) -> None:
    if not twin.bad:
        assert len(opened(path).queries) == len(twin.queries())
        return
    with pytest.raises(DataError, match=r"log\.[a-z.]+, line \d+: ") as caught:
        opened(path)
    assert (str(caught.value.path), caught.value.line) == (str(path), twin.bad[0])
