"""Loading a click log: lines a CPU second, against a plain reader and against the reader that went line by line.

The log has 117,724 lines with query text, item id, weight and time, made from debian-deps' train pairs; the queries are
the head of each package's description. `Dataset.open` reads items and log, checks every line and sums up a matrix. The
plain reader (`csv`, dictionaries, scipy) does the same without any check. The reader before this one took 4.1 CPU
seconds for such a log. `python -m benchmarks.clicks [--quick|--full] [--json FILE]`.
"""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
from scipy.sparse import csr_array

from benchmarks.corpus import data_folder
from benchmarks.rows import Row, arguments, median, report
from vizsla.data.dataset import Dataset

LINES, SECONDS_BEFORE = 117_724, 4.1
PEER, BEFORE = "plain csv reader, unchecked", f"line by line, {LINES:,} lines in {SECONDS_BEFORE} s"
Entry = tuple[str, str, str, str]


def entries(count: int, *, words: int) -> list[Entry]:
    """Return clicks of debian-deps: the first words of a description, a package, a weight and a time."""
    folder, random = data_folder() / "debian-deps", np.random.default_rng(0)
    with gzip.open(folder / "queries.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = {query["_id"]: " ".join(query["text"].split()[:words]) for query in map(json.loads, lines)}
    with (folder / "qrels" / "train.tsv").open(encoding="utf-8") as lines:
        pairs = [line.split("\t")[:2] for line in lines][1:]
    chosen, weights = random.permutation(len(pairs))[:count], random.choice(["1", "2", "3", "0.5"], count)
    return [
        (texts[pairs[at][0]], pairs[at][1], str(weight), str(1_700_000_000 + number))
        for number, (at, weight) in enumerate(zip(chosen.tolist(), weights, strict=True))
    ]


def written(rows: list[Entry], path: Path) -> Path:
    """Write a log: tabs, or commas and quotes in a .csv; gzipped if the name says so."""
    opened = gzip.open if path.suffix == ".gz" else open
    delimiter = "," if ".csv" in path.name else "\t"
    with opened(path, "wt", encoding="utf-8", newline="") as out:
        csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return path


def plain(items: Path, log: Path) -> csr_array:
    """Read items and log as a short script would."""
    with gzip.open(items, "rt", encoding="utf-8") as lines:
        columns = {json.loads(line)["_id"]: number for number, line in enumerate(lines)}
    queries: dict[str, int] = {}
    rows, found, weights = [], [], []
    opened = gzip.open if log.suffix == ".gz" else open
    with opened(log, "rt", encoding="utf-8", newline="") as lines:
        for query, item, weight, _ in csv.reader(lines, delimiter="," if ".csv" in log.name else "\t"):
            rows.append(queries.setdefault(query, len(queries)))
            found.append(columns[item])
            weights.append(float(weight))
    return csr_array((weights, (rows, found)), shape=(len(queries), len(columns)), dtype=np.float32)


def seconds(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def rates(log: Path, count: int, *, rounds: int) -> tuple[float, float]:
    """Return lines a CPU second, ours and the plain reader's; they take turns, after a round that is not counted."""
    items = data_folder() / "debian-deps" / "corpus.jsonl.gz"
    assert (Dataset.open(items, clicks=log).clicks != plain(items, log)).nnz == 0, "the two readers must agree"
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(seconds(lambda: Dataset.open(items, clicks=log)))
        theirs.append(seconds(lambda: plain(items, log)))
    return count / (median(ours) or np.nan), count / (median(theirs) or np.nan)


def main() -> None:
    options = arguments("clicks")
    count, rounds = (5_000, 3) if options.quick else (LINES, 15 if options.full else 5)
    logs = {"TSV": ("log.tsv", 12), "CSV": ("log.csv", 12), "CSV, gzipped": ("log.csv.gz", 12)}
    if options.full:
        logs["CSV, long queries"] = ("long.csv", 1000)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (file, words) in logs.items():
            path = written(entries(count, words=words), Path(folder) / file)
            ours, theirs = rates(path, count, rounds=rounds)
            work = f"{name}, {count:,} lines"
            # Items are read too: a few thousand lines do not pay for that, so that a quick run has no goal.
            goal = "" if options.quick else ">= 3"
            rows.append(Row(work, ours, BEFORE, LINES / SECONDS_BEFORE, "lines/CPU s", goal, lower_is_better=False))
            rows.append(Row(work, ours, PEER, theirs, "lines/CPU s", lower_is_better=False))
    report(rows, options.json)


if __name__ == "__main__":
    main()
