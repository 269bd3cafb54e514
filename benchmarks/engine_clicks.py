"""A click counts at once: where an item stands for a query before a click on it, after one, and after five.

An engine over tldr with all training clicks: "clicks" is PEFA over BM25, "moved" PEFA over vectors, "xl" PEFA-XL over
vectors, each with settings chosen on these clicks, and "best" is "0.4*words + 0.6*clicks". 200 pairs of a query that
was never asked and an item with fewer than 5 clicks: "wanted" are judged pairs, "any" are items at random, which have
nothing to do with the query. Every click is a transaction, and is taken back before the next pair.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row, arguments, median, report
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.engine.engine import Engine

FEW, DEPTH = 5, 1000
"""Clicks that an item must have at least to be known well; how deep its rank is looked for."""
NAMES = ("clicks", "moved", "xl", "best")
Pair = tuple[str, str]


def main() -> None:
    """Measure and report."""
    warnings.simplefilter("ignore")
    given = arguments("engine_clicks")
    data = Dataset.open(data_folder() / "tldr")
    with TemporaryDirectory() as folder, engine_of(data, Path(folder) / "engine") as engine:
        rows = [
            row
            for kind, pairs in sampled(data, 20 if given.quick else 200).items()
            for row in click_rows(engine, kind, pairs)
        ]
    report(rows, given.json)


def engine_of(data: Dataset, folder: Path) -> Engine:
    """Return an engine with all items and training clicks; members that learn are settled on these."""
    texts = {item.id: item.default_text() for item in data.items}
    encoder = LsaEncoder.fit(texts.values(), dim=256)
    recipes = {"words": Recipe.of("bm25"), "meaning": Recipe.of("dense", encoder=encoder)}
    engine = Engine.create(folder, members=recipes, default="words", bindings={"encoder": encoder})
    engine.add(texts)
    queries, clicks = data.query_texts()[1], data.clicks.tocoo()
    ids = data.item_ids
    engine.clicks(
        (queries[row], ids[int(column)], float(weight), float(at))
        for at, (row, column, weight) in enumerate(zip(clicks.row, clicks.col, clicks.data, strict=True))
    )
    near = {"variant": "xl", "neighbors": 32, "votes": "max", "near": 0.5, "threshold": 0.0}
    learning = {
        "clicks": Recipe.of("pefa", base="words"),
        "moved": Recipe.of("pefa", base="meaning"),
        "xl": Recipe.of("pefa", base="meaning", **near),
    }
    for name, recipe in learning.items():
        start = perf_counter()
        engine.add_member(name, recipe)
        print(f"{name}: settled in {perf_counter() - start:.0f} s", file=sys.stderr)
    engine.add_member("best", "0.4*words + 0.6*clicks")
    engine.set_default("best")
    return engine


def sampled(data: Dataset, count: int) -> dict[str, list[Pair]]:
    """Return pairs of new queries and items with few clicks."""
    rng, ids = np.random.default_rng(0), data.item_ids
    clicks, texts = data.clicks.tocsc(), data.query_texts()[1]
    asked = {texts[row] for row in np.unique(clicks.indices)}
    few = {ids[at] for at in np.flatnonzero(np.diff(clicks.indptr) < FEW)}
    wanted: list[Pair] = []
    for split in ("test-seen", "test-unseen"):
        named = dict(zip(*data.query_texts(split), strict=True))
        judged = data.qrels_dict(split)
        wanted += [(named[query], item) for query, items in judged.items() for item in items]
    new = [(query, item) for query, item in wanted if query not in asked]
    close = [pair for pair in new if pair[1] in few]
    order, other, items = rng.permutation(len(close))[:count], rng.permutation(len(new))[:count], sorted(few)
    chosen = rng.integers(len(items), size=count)
    return {
        "wanted": [close[at] for at in order],
        "any": [(new[at][0], items[item]) for at, item in zip(other, chosen, strict=True)],
    }


def click_rows(engine: Engine, kind: str, pairs: list[Pair]) -> Iterator[Row]:
    """Return the shares of pairs whose ranks are as they should be, for each member, and how long a click takes."""
    ranks: dict[str, list[tuple[int, int, int]]] = {name: [] for name in NAMES}
    times = []
    for query, item in pairs:
        before = {name: rank(engine, name, query, item) for name in NAMES}
        start = perf_counter()
        engine.click(query, item)
        engine.member("clicks")(query)
        times.append((perf_counter() - start) * 1e3)
        one = {name: rank(engine, name, query, item) for name in NAMES}
        for _ in range(FEW - 1):
            engine.click(query, item)
        for name in NAMES:
            ranks[name].append((before[name], one[name], rank(engine, name, query, item)))
        engine.delete_clicks(query=query)
    for name, found in ranks.items():
        best = 10 if name == "best" else 3
        better = np.mean([one < before or one == 1 for before, one, _ in found])
        first = np.mean([five <= best for _, _, five in found])
        work = f"{kind} pairs, {name}"
        yield Row(f"{work}: better after 1 click", float(better), "goal", 0.95, "", ">= 1", False)
        yield Row(f"{work}: among {best} after {FEW}", float(first), "goal", 0.95, "", ">= 1", False)
        yield Row(f"{work}: rank before, median", median([before for before, _, _ in found]), "", None, "")
        yield Row(f"{work}: rank after 1, median", median([one for _, one, _ in found]), "", None, "")
    yield Row(f"{kind} pairs: click to answer, p50", median(times), "", None, "ms")


def rank(engine: Engine, name: str, query: str, item: str) -> int:
    """Return where the item stands, from 1; one more than is looked at where it is not found."""
    found = engine.member(name)(query, k=DEPTH).ids[0]
    return found.index(item) + 1 if item in found else DEPTH + 1


if __name__ == "__main__":
    main()
