"""BM25 against bm25s (numba) and tantivy: query time, indexing, memory, exactness.

Everybody gets the same cleaned words and answers one query at a time from Python, in one thread. Rounds are interleaved
and medians taken. Run it with `python -m benchmarks.bm25 [--quick|--full] [--json FILE]`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.contestant import Contestant, ContestantError
from benchmarks.corpus import passages, queries
from benchmarks.rows import Row, arguments, median, report

K = 100
PEERS = {"bm25s numba": "bm25_bm25s", "tantivy": "bm25_tantivy"}


class Size(NamedTuple):
    passages: int
    queries: int
    rounds: int
    indexing_rounds: int


QUICK, USUAL, FULL = Size(5_000, 200, 3, 1), Size(100_000, 1000, 9, 3), Size(1_000_000, 1000, 9, 1)


def main() -> None:
    options = arguments("bm25")
    size = QUICK if options.quick else FULL if options.full else USUAL
    with tempfile.TemporaryDirectory() as folder:
        texts, questions = Path(folder) / "passages.txt", Path(folder) / "queries.txt"
        with texts.open("w", encoding="utf-8") as out:
            out.writelines(f"{text}\n" for text in passages(size.passages))
        questions.write_text("".join(f"{query}\n" for query in queries(size.queries)), encoding="utf-8")
        report(measure(size, str(texts), str(questions)), options.json)


def measure(size: Size, texts: str, questions: str) -> list[Row]:
    """Let all contestants run, round by round, and make rows of what they say."""
    with ExitStack() as stack:
        running, problems = _start(stack)
        docs = _rounds(running, problems, size.indexing_rounds, lambda c: size.passages / c.ask("index", file=texts))
        ms = _rounds(running, problems, size.rounds, lambda c: c.ask("search", file=questions, k=K))
        agreeing = _agreeing(running, questions)
    rows = []
    for peer in PEERS:
        work = f"query p50, {size.passages:,} passages, k={K}"
        rows.append(Row(work, median(ms["ours"]), peer, median(ms[peer]), "ms", ">= 1.5", note=problems.get(peer, "")))
    for peer in PEERS:
        ours, theirs = median(docs["ours"]), median(docs[peer])
        rows.append(Row("indexing", ours, peer, theirs, "docs per CPU s", ">= 1.0", False, problems.get(peer, "")))
    same = f"queries whose top-{K} scores agree to 1e-5"
    rows.append(Row(same, agreeing, "bm25s numba", size.queries, "queries", ">= 1.0", False))
    return [*rows, _memory_row(texts)]


def _start(stack: ExitStack) -> tuple[dict[str, Contestant], dict[str, str]]:
    running = {"ours": stack.enter_context(Contestant("bm25_ours"))}
    problems: dict[str, str] = {}
    for peer, script in PEERS.items():
        try:
            running[peer] = stack.enter_context(Contestant(script, ".venv-peers"))
        except ContestantError as error:
            problems[peer] = str(error)
    return running, problems


def _rounds(
    running: dict[str, Contestant], problems: dict[str, str], count: int, question: Callable[[Contestant], float]
) -> dict[str, list[float]]:
    """Ask everybody in turn, `count` times; who fails once is out."""
    answers: dict[str, list[float]] = {name: [] for name in ("ours", *PEERS)}
    for _ in range(count):
        for name, contestant in list(running.items()):
            try:
                answers[name].append(question(contestant))
            except ContestantError as error:
                if name == "ours":
                    raise
                problems[name] = str(error)
                del running[name]
    return answers


def _agreeing(running: dict[str, Contestant], questions: str) -> float | None:
    """Count the queries that we and bm25s give the same scores, rank by rank."""
    if "bm25s numba" not in running:
        return None
    ours, theirs = (running[name].ask("scores", file=questions, k=K) for name in ("ours", "bm25s numba"))
    # bm25s fills up with items that score 0 where fewer than k items match.
    padded = [row + [0.0] * (K - len(row)) for row in ours]
    return float(sum(np.allclose(a, b, rtol=1e-5, atol=1e-5) for a, b in zip(padded, theirs, strict=True)))


def _memory_row(texts: str) -> Row:
    with Contestant("bm25_ours") as fresh:
        found = fresh.ask("memory", file=texts)
    limit = 3 * found["index"] / 1e6 + 200
    return Row("peak memory at build", found["peak"] / 1e6, "3 × index + 200 MB", limit, "MB", ">= 1.0")


if __name__ == "__main__":
    main()
