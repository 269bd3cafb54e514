"""The first mile's reading: a catalog in CSV with mapped columns, and a folder of notes to the first answer."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks.rows import Row, median

LINES, LEAST_RATE, MOST_MB = 1_000_000, 150_000, 1_000
NOTES, MOST_SECONDS = 2_000, 5.0
WORDS = [f"w{number}" for number in range(20_000)]
READ = """
import resource, sys, time
import vizsla, vizsla.io.open
start = time.process_time()
dataset = vizsla.open_dataset(sys.argv[1], id="sku", text="title,description", meta="price,brand,lang")
seconds = time.process_time() - start
print(len(dataset.items) / seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
"""A process of its own, so that its memory is its own too."""


def reading_rows(*, quick: bool, repeats: int) -> Iterator[Row]:
    """Yield what reading costs."""
    lines, notes = (20_000, 100) if quick else (LINES, NOTES)
    with tempfile.TemporaryDirectory() as folder:
        table = written_table(Path(folder) / "items.csv", lines)
        rates, memory = zip(*(read_table(table) for _ in range(repeats)), strict=True)
        goal = "" if quick else ">= 1"
        work = f"read {lines:,} CSV items with mapped columns"
        yield Row(work, median(rates), "the goal", LEAST_RATE, "lines/CPU s", goal, lower_is_better=False)
        yield Row(f"{work}: memory", median(memory), "the goal", MOST_MB, "MB", goal)
        written_notes(Path(folder) / "notes", notes)
        seconds = [first_answer(Path(folder) / "notes") for _ in range(repeats)]
        yield Row(f"{notes:,} Markdown files to the first answer", median(seconds), "the goal", MOST_SECONDS, "s", goal)


def read_table(path: Path) -> tuple[float, float]:
    """Return lines a CPU second, and the most megabytes."""
    done = subprocess.run([sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True)
    rate, megabytes = map(float, done.stdout.split())
    return rate, megabytes


def first_answer(folder: Path) -> float:
    """Return the seconds of one command, from nothing to an answer."""
    start = perf_counter()
    command = [sys.executable, "-m", "vizsla", "search", str(folder), "w7 w11 w13"]
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - start


def written_table(path: Path, lines: int) -> Path:
    """Write a catalog: a third of its rows have quotes, a fiftieth goes over two lines."""
    rng = random.Random(0)
    with path.open("w", newline="") as out:
        table = csv.writer(out)
        table.writerow(["sku", "title", "description", "price", "brand", "lang"])
        for number in range(lines):
            text = " ".join(rng.choices(WORDS, k=12))
            text = text.replace(" ", ", ", 1) if number % 3 == 0 else text
            text = text.replace(" ", "\n", 1) if number % 50 == 0 else text
            price, brand = rng.randrange(100, 99_999) / 100, f"brand{rng.randrange(500)}"
            title = " ".join(rng.choices(WORDS, k=3))
            table.writerow([f"sku-{number}", title, text, price, brand, rng.choice(["en", "de", "fr"])])
    return path


def written_notes(folder: Path, count: int) -> None:
    """Write notes of five sections of eighty words each."""
    rng = random.Random(0)
    folder.mkdir()
    for number in range(count):
        drawn = [(" ".join(rng.choices(WORDS, k=3)), " ".join(rng.choices(WORDS, k=80))) for _ in range(5)]
        sections = [f"## {heading}\n\n{text}\n" for heading, text in drawn]
        (folder / f"note{number}.md").write_text(f"# Note {number}\n\n" + "\n".join(sections))
