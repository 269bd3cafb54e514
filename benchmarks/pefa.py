"""PEFA on real clicks: quality against the goals and the paper's gains, clicks used, bytes, build time, latency."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row, arguments, median, report
from vizsla.dataset import Dataset
from vizsla.encoder import FunctionEncoder
from vizsla.methods.dense import Dense, dense
from vizsla.methods.pefa import pefa, pefa_xl, pefa_xs
from vizsla.retriever import Retriever

GOALS = {
    ("tldr", "test-seen", "R@10"): 0.60,
    ("tldr", "test-unseen", "R@10"): 0.50,
    ("squad-sent", "test-seen", "R@10"): 0.895,
    ("squad-sent", "test-seen", "MRR@10"): 0.71,
    ("squad-sent", "test-unseen", "R@10"): 0.865,
}
PAPER = {"pefa-xs": 9.22, "pefa-xl": 11.82}
"""Average gains in R@10 on NQ-320K, Table 2."""
SHARES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.95)
ROUNDS = 15


class Collection:
    """A dataset with its MiniLM vectors, looked up by text."""

    def __init__(self, name: str):
        folder = data_folder() / name
        self.name, self.data = name, Dataset.open(folder)
        rows = np.load(folder / "emb" / "queries.minilm-l6-v2.f16.npy").astype(np.float32)
        number = {text: at for at, text in enumerate(self.data.query_texts()[1])}
        self.encoder = FunctionEncoder(
            lambda texts: rows[[number[text] for text in texts]], dim=rows.shape[1], name="minilm"
        )
        self.vectors = np.load(folder / "emb" / "corpus.minilm-l6-v2.f16.npy").astype(np.float32)

    def base(self, **options: Any) -> Dense:
        return dense(self.data, self.encoder, vectors=self.vectors, **options)

    def texts(self, split: str) -> list[str]:
        return self.data.query_texts(split)[1]

    def ranks(self, system: Retriever, split: str) -> np.ndarray:
        """Return 1 / rank of each query's item, 0 beyond rank 10."""
        judged = self.data.qrels(split)
        wanted = judged.indices[judged.indptr[:-1][np.diff(judged.indptr) > 0]]
        found = system(self.texts(split), k=10)
        ranks = np.zeros(len(found))
        for row in range(len(found)):
            at = np.flatnonzero(found.row(row)[0] == wanted[row])
            ranks[row] = 1 / (at[0] + 1) if len(at) else 0
        return ranks


def measure(ranks: np.ndarray, name: str) -> float:
    return float((ranks > 0).mean() if name == "R@10" else ranks.mean())


def p_value(base: np.ndarray, ours: np.ndarray, *, seed: int = 0) -> float:
    """Return the two-sided p-value of a paired randomisation test."""
    differences = ours - base
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(10_000, len(differences)))
    return float((1 + (np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12).sum()) / 10_001)


def quality(one: Collection, systems: dict[str, Retriever]) -> list[Row]:
    rows = []
    ranks = {(n, s): one.ranks(system, s) for n, system in systems.items() for s in ("test-seen", "test-unseen")}
    for (name, split, measured), goal in GOALS.items():
        if name == one.name:
            ours = measure(ranks["pefa", split], measured)
            work = f"{name} {split} {measured}, chosen"
            rows.append(Row(work, ours, "goal", goal, "", ">= 1", lower_is_better=False))
    for measured in ("R@10", "MRR@10"):
        right = [ranks[n, "test-seen"] for n in ("base", "pefa")]
        right = [(r > 0).astype(float) for r in right] if measured == "R@10" else right
        rows.append(Row(f"{one.name} test-seen {measured}, p of the gain", p_value(*right), "limit", 0.01, "", ">= 1"))
    for name in systems:
        recall = {(n, s): measure(ranks[n, s], "R@10") for n in (name, "base") for s in ("test-seen", "test-unseen")}
        gains = [100 * (recall[name, s] - recall["base", s]) for s in ("test-seen", "test-unseen")]
        note = f"test-unseen {gains[1]:+.1f} points"
        peer, theirs = f"paper, NQ-320K, {name[:7]}", PAPER.get(name[:7])
        if name != "base":
            work = f"{one.name} test-seen, {name}: gain in R@10"
            rows.append(Row(work, gains[0], peer, theirs, "points", ">= 0", False, note))
    return rows


def shares_of_clicks(one: Collection) -> list[Row]:
    """Return test-seen R@10 with a part of the clicks (the shape of Figure 3), weight as chosen on all."""
    rows, base = [], one.base()
    chosen = pefa_xs(base, one.data).settings
    texts = one.data.query_texts()[1]
    clicks = one.data.clicks.tocoo()
    order = np.random.default_rng(0).permutation(clicks.nnz)
    floor = measure(one.ranks(base, "test-seen"), "R@10")
    for share in SHARES:
        kept = order[: round(share * clicks.nnz)]
        log = [(texts[clicks.row[at]], base.items[int(clicks.col[at])], float(clicks.data[at])) for at in kept]
        system = pefa_xs(base, log, weight=chosen.weight, calibrated=True)
        ours = measure(one.ranks(system, "test-seen"), "R@10")
        row = f"{one.name} {share:.0%} of clicks, xs"
        rows.append(Row(row, ours, "base", floor, "R@10", ">= 1", lower_is_better=False))
    return rows


def cpu_ms(system: Retriever, texts: list[str], *, batch: bool) -> float:
    start = process_time()
    if batch:
        system(texts, k=10)
    else:
        for text in texts:
            system(text, k=10)
    return (process_time() - start) * 1e3 / len(texts)


def latency(one: Collection, systems: dict[str, Retriever], *, label: str, limits: dict[str, float]) -> list[Row]:
    """Return CPU time a query against the base's, rounds interleaved."""
    texts, rows = one.texts("test-seen"), []
    for batch in (True, False):
        asked = texts[:512] if batch else texts[:100]
        times: dict[str, list[float]] = {name: [] for name in systems}
        for _ in range(ROUNDS):
            for name, system in systems.items():
                times[name].append(cpu_ms(system, asked, batch=batch))
        for name, limit in limits.items():
            work = f"{one.name} {label} {'batch' if batch else 'single'}, {name}"
            rows.append(Row(work, median(times[name]), "base", median(times["base"]), "ms CPU", f">= {1 / limit:.4f}"))
    return rows


def timed(build: Callable[[], Retriever]) -> tuple[Retriever, float]:
    start = perf_counter()
    built = build()
    return built, perf_counter() - start


def costs(one: Collection, systems: dict[str, Retriever], seconds: dict[str, float]) -> list[Row]:
    rows = []
    for name in systems:
        if name != "base":
            size = [systems[n].nbytes / 1e6 for n in (name, "base")]
            rows.append(Row(f"{one.name} bytes, {name}", size[0], "base", size[1], "MB", ">= 0"))
            rows.append(Row(f"{one.name} build, {name}", seconds[name], "base", seconds["base"], "s", ">= 0"))
    return rows


def main() -> None:
    warnings.simplefilter("ignore")
    given = arguments("pefa")
    rows: list[Row] = []
    for name in ("squad-sent",) if given.quick else ("tldr", "squad-sent"):
        one = Collection(name)
        base = one.base()
        builds: dict[str, Callable[[], Retriever]] = {
            "base": one.base,
            "pefa": lambda base=base, one=one: pefa(base, one.data),
            "pefa-xs": lambda base=base, one=one: pefa_xs(base, one.data),
            "pefa-xl": lambda base=base, one=one: pefa_xl(base, one.data),
            "pefa-xs of the paper": lambda base=base, one=one: pefa_xs(base, one.data, calibrated=False),
            "pefa-xl of the paper": lambda base=base, one=one: pefa_xl(base, one.data, votes="mean", near=0.0),
        }
        built = {label: timed(build) for label, build in builds.items()}
        systems = {label: system for label, (system, _) in built.items()}
        rows += quality(one, systems) + costs(one, systems, {label: s for label, (_, s) in built.items()})
        rows += latency(one, systems, label="flat", limits={"pefa-xs": 1.05, "pefa-xl": 2.0, "pefa": 100.0})
        if not given.quick:
            rows += shares_of_clicks(one)
        if given.full:
            graph = one.base(index="hnsw")
            walked: dict[str, Retriever] = {
                "base": graph,
                "pefa-xs": pefa_xs(graph, one.data, weight=0.5, calibrated=True),
                "pefa-xl": pefa_xl(graph, one.data, weight=0.5, neighbours=8, votes="mean", near=0.0, index="hnsw"),
            }
            rows += latency(one, walked, label="hnsw", limits={"pefa-xs": 1.05, "pefa-xl": 2.0})
        print(f"{name}: done", file=sys.stderr)
    report(rows, given.json)


if __name__ == "__main__":
    main()
