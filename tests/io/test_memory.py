from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from vizsla.data.dataset import Dataset
from vizsla.io.document_readers import read_code, read_markdown, read_rst, read_text
from vizsla.io.passages import ParsedDocument, passages

COUNT = 200_000
PROGRAM = """
import sys
from vizsla.data.dataset import Dataset
import scipy.sparse

def kilobytes(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key))

tiny, big = sys.argv[1:]
for item in Dataset.open(tiny).items: pass
before = kilobytes("VmHWM")
dataset = Dataset.open(big)
characters = sum(len(item.text) for item in dataset.items)
assert dataset.text("item-199999").startswith("t199999 words of 199999 ")
print(len(dataset.items), characters, kilobytes("VmHWM") - before)
"""

CLICKS = """
import sys
from vizsla.data.dataset import Dataset
import scipy.sparse

def kilobytes(key):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(key))

items, tiny, big = sys.argv[1:]
Dataset.open(items, clicks=tiny)
before = kilobytes("VmHWM")
dataset = Dataset.open(items, clicks=big)
print(len(dataset.queries), int(dataset.clicks.sum()), kilobytes("VmHWM") - before)
"""
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")


@pytest.mark.parametrize("name", ["log.tsv", "log.tsv.gz"])
@needs_proc
def test_clicks_are_streamed(tmp_path: Path, name: str) -> None:
    (tmp_path / "items.jsonl").write_text('{"_id": "a", "text": "x"}\n')
    (tmp_path / "tiny.tsv").write_text("q\ta\t1\n")
    unpacked = "".join(f"{number} {'filler ' * 100}\ta\t1\n" for number in range(100)).encode() * 1000
    (tmp_path / name).write_bytes(gzip.compress(unpacked, 1) if name.endswith("gz") else unpacked)
    files = [str(tmp_path / file) for file in ("items.jsonl", "tiny.tsv", name)]
    count, clicks, growth = map(int, subprocess.check_output([sys.executable, "-c", CLICKS, *files], text=True).split())
    assert (count, clicks) == (100, 100_000)
    # An entry takes 24 bytes, as much again while they are sorted, and half of that in the matrix.
    assert growth < 20_000, f"{growth} kB for a log of {len(unpacked) / 1e6:.0f} MB"


@needs_proc
def test_texts_are_streamed(tmp_path: Path) -> None:
    line = '{{"_id": "item-{0}", "title": "t{0}", "text": "words of {0} {1}"}}\n'
    (tmp_path / "tiny.jsonl").write_text(line.format(0, "x"))
    with (tmp_path / "big.jsonl").open("w") as out:
        out.writelines(line.format(number, "filler " * 40) for number in range(COUNT))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "tiny.jsonl"), str(tmp_path / "big.jsonl")]
    count, characters, growth = map(int, subprocess.check_output(command, text=True).split())
    assert count == COUNT
    assert characters > 55e6
    # Ids take 11 + 8 + 8 bytes each, their table 4 to 8, offsets 8; titles, which are kept, 7 + 8; growing buffers may
    # double for a moment, and how the system hands out memory adds some. The texts themselves would be 59,000.
    assert growth < 45_000, f"{growth} kB for {characters / 1e6:.0f} MB of texts"


@pytest.mark.parametrize("name", ["items.jsonl", "items.csv", "items.parquet"])
@pytest.mark.parametrize("field", ["text", "title", "note"])
def test_few_long_records_are_in_memory_at_once(tmp_path: Path, name: str, field: str) -> None:
    """A batch is bounded by its bytes: 150 records of a megabyte are fewer than a batch of short ones."""
    rows = [{"id": str(number), "text": "a fig", "title": "b", "note": "c"} for number in range(150)]
    for row in rows:
        row[field] = ("word " * 200_000)[:1_000_000]  # the same value: only what is read of it counts
    if name.endswith("jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif name.endswith("csv"):
        lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
        (tmp_path / name).write_text("\n".join(lines))
    else:
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / name)
    tracemalloc.start()
    try:
        dataset = Dataset.open(tmp_path / name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(dataset.items) == 150
    assert peak < 60 << 20, f"{peak >> 20} MB for records of a megabyte"


@pytest.mark.parametrize("read", [read_text, read_markdown, read_rst, read_code])
@pytest.mark.parametrize("end", ["\n", "\u2028"])
def test_blank_lines_of_a_document_are_not_listed(read: Callable[[str], ParsedDocument], end: str) -> None:
    text = end * 250_000 + "a fig"
    tracemalloc.start()
    try:
        (passage,) = passages(read(text))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (passage.text, passage.start) == ("a fig", 250_000)
    assert peak < 1_300_000, "a list of all lines would take 8 bytes for each"
