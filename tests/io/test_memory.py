from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

COUNT = 200_000
PROGRAM = """
import sys
from vizsla.dataset import Dataset
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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
def test_texts_are_streamed(tmp_path: Path) -> None:
    line = '{{"_id": "item-{0}", "title": "t{0}", "text": "words of {0} {1}"}}\n'
    (tmp_path / "tiny.jsonl").write_text(line.format(0, "x"))
    with (tmp_path / "big.jsonl").open("w") as out:
        out.writelines(line.format(number, "filler " * 40) for number in range(COUNT))
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "tiny.jsonl"), str(tmp_path / "big.jsonl")]
    count, characters, growth = map(int, subprocess.check_output(command, text=True).split())
    assert count == COUNT
    assert characters > 55e6
    # Ids take 11 + 8 + 8 bytes each, their table 4 to 8, offsets 8; growing buffers may double for a moment.
    assert growth < 25_000, f"{growth} kB for {characters / 1e6:.0f} MB of texts"
