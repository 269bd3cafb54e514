"""Costs of PEFA: bytes, build time, and CPU time a query against the base's, rounds interleaved."""

from __future__ import annotations

from collections.abc import Mapping
from time import process_time

from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row, median
from vizsla.base.retriever import Retriever

LIMITS = {"xs": 1.05, "xl": 2.0}
"""How many times the base's time a query may cost."""
SINGLE, BATCH = 60, 512


def cost_rows(name: str, systems: Mapping[str, Retriever], seconds: Mapping[str, float]) -> list[Row]:
    """Return index bytes and build time of each system beside the base's."""
    rows = []
    for system in systems:
        if system != "base":
            size = [systems[n].nbytes / 1e6 for n in (system, "base")]
            rows.append(Row(f"{name} index, {system}", size[0], "base", size[1], "MB"))
            rows.append(Row(f"{name} build, {system}", seconds[system], "base", seconds["base"], "s"))
    return rows


def latency_rows(
    one: Collection, systems: Mapping[str, Retriever], *, label: str, rounds: int, limited: bool = True
) -> list[Row]:
    """Return CPU time a query, one at a time and in a batch; the medians of rounds in which all take turns."""
    texts, rows = one.texts("test-seen"), []
    for way, asked in (("batch", texts[:BATCH]), ("single", texts[:SINGLE])):
        times: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(rounds):
            for name, system in systems.items():
                times[name].append(_cpu_ms(system, asked, batch=way == "batch"))
        for name in systems:
            if name != "base":
                target = f">= {1 / LIMITS[name]:.4f}" if limited and name in LIMITS else ""
                ours, theirs = median(times[name]), median(times["base"])
                work = f"{one.name} {label} {way}, {name}"
                rows.append(Row(work, ours, "base", theirs, "ms CPU", target, note=_floor(name, systems, label)))
    return rows


def _floor(name: str, systems: Mapping[str, Retriever], label: str) -> str:
    """Say what two exact scans cost at least."""
    if name != "xl" or not label.startswith("flat"):
        return ""
    items, past = len(systems["base"].items), len(systems[name].log)  # type: ignore[attr-defined]
    return f"two exact scans, {items:,} items and {past:,} past queries: at least {1 + past / items:.2f} times the base"


def _cpu_ms(system: Retriever, texts: list[str], *, batch: bool) -> float:
    start = process_time()
    if batch:
        system(texts, k=10)
    else:
        for text in texts:
            system(text, k=10)
    return (process_time() - start) * 1e3 / len(texts)
