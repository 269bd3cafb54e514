"""A live engine beside SQLite's FTS5, tantivy, LanceDB and usearch: durable changes, and searches meanwhile.

Made texts of 90 words, whose words are as frequent as in a language, and a price. Durable rows are judged by what a
sync of the disk takes in the same run. `--items 1000000` measures how ours grows, without the others.
`python -m benchmarks.engine [--quick] [--items 100000] [--peers FTS5,tantivy,LanceDB,usearch] [--json FILE]`
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contestant import Contestant, ContestantError
from benchmarks.engine_lexical import made_texts
from benchmarks.rows import Row, arguments, report

PEERS = ("FTS5", "tantivy", "LanceDB", "usearch")
MORE = 50_000
"""Items beyond those that are loaded, to be added by the measurements."""
SHARES = {"0.1 %": 1, "1 %": 10, "50 %": 500}
"""How many of 1,000 prices fulfill a condition."""


def main() -> None:
    def own(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--items", type=int, default=0)
        parser.add_argument("--peers", default=None, help="names, with commas between; none is ours alone")

    given = arguments("engine", own=own)
    items = given.items or (5_000 if given.quick else 100_000)
    chosen = given.peers if given.peers is not None else ",".join(PEERS) if items <= 100_000 else ""
    with tempfile.TemporaryDirectory(dir=".") as base:
        texts, queries = written(Path(base), items)
        found: dict[str, dict[str, Any]] = {}
        for name in ("ours", *filter(None, chosen.split(","))):
            try:
                found[name] = measured(name, Path(base) / name, items, texts, queries, quick=given.quick)
            except ContestantError as error:
                found[name] = {"problem": str(error)}
            print(name, found[name], file=sys.stderr, flush=True)
        report(rows(found, items), given.json)


def written(base: Path, items: int) -> tuple[Path, Path]:
    """Write the texts and the queries, one a line."""
    rng, texts, queries = np.random.default_rng(0), base / "texts", base / "queries"
    some: list[str] = []
    with texts.open("w") as file:
        for number, text in enumerate(made_texts(rng, items + MORE, 90)):
            file.write(f"{text}\n")
            if number < 20_000:
                some.append(text)
    asked = [" ".join(rng.choice(some[number].split(), 4, replace=False)) for number in rng.integers(0, len(some), 400)]
    queries.write_text("\n".join(asked))
    return texts, queries


def measured(name: str, folder: Path, items: int, texts: Path, queries: Path, *, quick: bool) -> dict[str, Any]:
    """Let one contestant do everything, in a process of its own, with another that only reads."""
    ours, environment = name == "ours", None if name in ("ours", "FTS5") else ".venv-peers"
    use = {"name": name, "texts": str(texts), "queries": str(queries)}
    part, seconds = (0.05, 1.0) if quick else (1.0, 6.0)
    found: dict[str, Any] = {"load1": os.getloadavg()[0]}
    with Contestant("engine_contest", environment) as writer, Contestant("engine_contest", environment) as reader:
        writer.ask("use", **use)
        reader.ask("use", **use)
        found["sync"] = writer.ask("sync", folder=str(folder.parent), count=50)
        found["load"] = writer.ask("load", folder=str(folder), end=items)
        if ours:
            found["loaded"] = writer.ask("stats")
            found["unmerged"] = writer.ask("search_steadily", seconds=min(seconds, 3.0))
            found["merge"] = writer.ask("maintain", how="compact")
        found["open"] = [reader.ask("reopen", folder=str(folder)) for _ in range(3)]
        found["idle"] = writer.ask("search", count=400)
        found["adds"] = writer.ask("adds", first=items, end=items + int(20_000 * part), size=100)
        at = items + 20_000
        found["findable"] = writer.ask("findable", first=at, end=at + int(100 * part) + 5)
        gone = [[f"i{items // 2 + 1000 * n + k}" for k in range(1000 if items > 20_000 else 50)] for n in range(3)]
        found["delete"] = writer.ask("delete", ids=gone)
        if name != "usearch":
            shares = SHARES.items()
            found["filters"] = {s: writer.ask("filtered", low=3, width=width, count=100) for s, width in shares}
        found["sync after"] = writer.ask("sync", folder=str(folder.parent), count=50)
        if ours:
            found["threads"] = writer.ask("threads", first=at + 1000, count=int(800 * part) + 40)
        reader.ask("reopen", folder=str(folder))
        found["alone"] = reader.ask("search", count=400)
        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(writer.ask, "write_steadily", first=at + 10_000, seconds=seconds + 2)
            found["changing"] = reader.ask("search_steadily", seconds=seconds)
            found["written"] = writing.result()
        if ours:
            found["churn"] = writer.ask("churned", queries=200) if items <= 200_000 else None
            writer.ask("maintain", how="compact")
            found["ratio"] = writer.ask("idle", count=200) if items <= 200_000 else None
            found["size"] = writer.ask("stats")
        found["peak"] = writer.ask("close")
    if ours:
        found["crash"] = after_a_crash(folder, at + 15_000, use)
    return found


def after_a_crash(folder: Path, first: int, use: dict[str, str]) -> dict[str, Any]:
    """Kill a writer that has about 9,000 rows in no segment, and open the engine."""
    with Contestant("engine_contest") as writer, Contestant("engine_contest") as reader:
        for each in (writer, reader):
            each.ask("use", **use)
        for each in (writer, reader):  # everything that is needed is imported then
            each.ask("reopen", folder=str(folder))
        writer.ask("adds", first=first, end=first + 9_000, size=1000)
        os.kill(writer._process.pid, signal.SIGKILL)
        return dict(reader.ask("reopen", folder=str(folder)))


def rows(found: dict[str, dict[str, Any]], items: int) -> list[Row]:
    """Make rows of what was measured: ours against each peer that could, and against the goal."""
    ours, made = found["ours"], list[Row]()
    sync = min(ours["sync"]["p50"], ours["sync after"]["p50"])

    def add(
        work: str, value: Any, goal: float | None, unit: str = "ms", *, higher: bool = False, note: str = ""
    ) -> None:
        own = value(ours)
        if goal is not None:
            made.append(Row(work, own, "goal", goal, unit, ">= 1.0", not higher, note))
        for name, theirs in found.items():
            if name == "ours" or "problem" in theirs:
                continue
            try:
                made.append(Row(work, own, name, value(theirs), unit, "", not higher))
            except (KeyError, TypeError):
                continue
        if goal is None and not (made and made[-1].work == work):
            made.append(Row(work, own, "", None, unit, note=note))

    def cpu(part: dict[str, Any]) -> str:
        return f"{part['cpu']:.3g} ms of CPU time"

    add("load, items/s", lambda f: items / f["load"]["seconds"], None, "items/s", higher=True)
    by_sync = 100 / (2 * sync + 2) * 1e3
    add("durable adds, 100 a commit", lambda f: 1e5 / f["adds"]["p50"], min(by_sync, 10_000.0), "items/s", higher=True,
        note=f"a batch: {cpu(ours['adds'])}; goal by the sync: {by_sync:,.0f}")  # fmt: skip
    add("call until found, p50", lambda f: f["findable"]["p50"], sync + 4, note=cpu(ours["findable"]))
    add("search while it changes, p50", lambda f: f["changing"]["p50"], 0.2, note=cpu(ours["changing"]))
    add("search while it changes, p99", lambda f: f["changing"]["p99"], 5.0,
        note=f"{ours['changing']['cpu99']:.3g} ms of CPU time")  # fmt: skip
    add("delete 1,000 and search", lambda f: f["delete"]["p50"], sync + 6, note=cpu(ours["delete"]))
    for share in SHARES:
        later, first = (lambda f, s=share: f["filters"][s]["later"]["p50"]), ours["filters"][share]["first"]
        add(f"filter {share}, prepared, p50", later, 0.3, note=cpu(ours["filters"][share]["later"]))
        add(f"filter {share}, first use, p50", lambda f, s=share: f["filters"][s]["first"]["p50"], 1.0, note=cpu(first))
    add("open to the first answer", lambda f: min(each["ms"] for each in f["open"]), 15.0, note=cpu(ours["open"][-1]))
    add("single writes of 8 threads, per commit", lambda f: f["threads"]["per_commit"], 0.6 * 8, "writes", higher=True,
        note=f"{ours['threads']['rate']:,.0f} writes/s")  # fmt: skip
    add("search, idle, p50", lambda f: f["idle"]["p50"], None, note=cpu(ours["idle"]))
    if ours["ratio"]:
        plain, own = ours["ratio"]["plain"], ours["ratio"]["engine"]
        made.append(Row("idle search, CPU time", own, "1.3 x plain artifact", 1.3 * plain, "ms", ">= 1.0"))
        same = float(ours["churn"]["same"])
        made.append(Row("scores after churn equal a fresh build's bits", same, "goal", 1.0, "", ">= 1.0", False))
    merge, idle = ours["merge"], ours["unmerged"]  # both with a pause between searches
    made.append(Row("search during a merge, p99", merge["p99"], "3 x p99 before it", 3 * idle["p99"], "ms", ">= 1.0",
                    note=f"CPU time p99 {merge['cpu99']:.3g} ms; the merge took {merge['seconds']:.3g} s"))  # fmt: skip
    made.append(Row("memory of the merge", merge["own"] / 1e6, "memory_mb", 1024.0, "MB", ">= 1.0"))
    made.append(Row("open after a crash to the first answer", ours["crash"]["ms"], "goal", 2000.0, "ms", ">= 1.0"))
    made.append(Row("peak memory of loading", ours["load"]["peak"] / 1e6, "", None, "MB"))
    made.append(Row("peak memory of all", ours["peak"] / 1e6, "", None, "MB"))
    for part, size in ours["size"]["bytes_per_item"].items():
        made.append(Row(f"bytes per item, {part}", size, "", None, "bytes"))
    problems = "".join(f"; {name}: {each['problem']}" for name, each in found.items() if "problem" in each)
    note = f"load average {ours['load1']:.0f}{problems}"
    return [Row("sync of 60 kB, p50", sync, "later", ours["sync after"]["p50"], "ms", note=note), *made]


if __name__ == "__main__":
    main()
