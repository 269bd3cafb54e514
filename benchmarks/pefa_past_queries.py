"""PEFA-XL over HNSW: graphs over past queries in float16, as they are by default, against float32."""

from __future__ import annotations

from typing import Any

from benchmarks.pefa_collection import Collection
from benchmarks.pefa_graph import PAPER
from benchmarks.pefa_quality import SPLITS
from benchmarks.rows import Row
from vizsla.evaluation.compare import compare
from vizsla.methods.pefa import pefa_xl
from vizsla.methods.pefa.options import XlSettings

MEASURES = ("R@10", "RR@10")


def past_query_rows(one: Collection, settings: dict[str, XlSettings]) -> list[Row]:
    """Return the quality of both storages, for each of the settings."""
    graph = one.base(index="hnsw", threads=2, **PAPER)
    return [row for name, given in settings.items() for row in _rows(one, graph, name, vars(given))]


def _rows(one: Collection, graph: Any, name: str, settings: dict[str, Any]) -> list[Row]:
    systems = {
        storage: pefa_xl(graph, one.data, **settings, storage=storage, threads=2) for storage in ("float32", "float16")
    }
    rows = []
    for split in SPLITS:
        compared = compare(systems, one.data, split, list(MEASURES), baseline="float32", latency_queries=1)
        for test in compared.tests:
            half, full = (float(compared.evaluations[each].measures[test.measure]) for each in ("float16", "float32"))
            work = f"{one.name} HNSW {split} {test.measure}, {name}, past queries in float16"
            rows.append(Row(work, half, "float32", full, "", "", False, f"p {test.p:.2g}"))
    return rows
