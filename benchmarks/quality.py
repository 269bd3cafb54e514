"""Published quality of the methods that build in seconds: one row per data set, split, measure and system.

Run it with `python -m benchmarks.quality [--quick|--full] [--only NAME ...] [--json FILE]`. The figures are exact for a
given code and data set, so `benchmarks.baseline` compares them to the last digit that is published.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchmarks.corpus import data_folder
from benchmarks.pefa_collection import Collection
from benchmarks.rows import Row, arguments, report, told
from vizsla.base.retriever import Retriever
from vizsla.data.dataset import Dataset
from vizsla.evaluation.evaluate import evaluate
from vizsla.methods.bm25 import bm25
from vizsla.methods.pefa import pefa, pefa_xs
from vizsla.methods.tfidf import tfidf
from vizsla.methods.tokens.model import tokens
from vizsla.methods.tokens.train_tokens import train_tokens
from vizsla.methods.xrlinear.build import xrlinear

MEASURES = ("R@10", "R@100", "RR@10", "nDCG@10")
CLICKED = ("tldr", "squad-sent")
JUDGED = (*CLICKED, "debian-deps", "cranfield", "wordnet-senses")
BEAMS = (1, 10, 50)

Systems = Mapping[str, Retriever]


def _bm25(dataset: Dataset) -> Systems:
    return {"bm25": bm25(dataset)}


def _xrlinear(dataset: Dataset) -> Systems:
    model = xrlinear(dataset)
    return {f"xrlinear, beam {beam}": model.with_effort(beam) for beam in BEAMS}


def _tfidf(dataset: Dataset) -> Systems:
    base = tfidf(dataset)
    return {"tfidf": base, "pefa-xs over tfidf": pefa_xs(base, dataset)}


def _tokens(dataset: Dataset) -> Systems:
    base = tokens(dataset, epochs=0)
    return {"tokens": base, "learned tokens, 2 epochs": train_tokens(base, dataset, epochs=2)}


GROUPS: dict[str, tuple[tuple[str, ...], Callable[[Dataset], Systems]]] = {
    "bm25": (JUDGED, _bm25),
    "xrlinear": ((*CLICKED, "debian-deps"), _xrlinear),
    "tfidf": (CLICKED, _tfidf),
    "tokens": (CLICKED, _tokens),
}


def main() -> None:
    """Measure and report."""
    warnings.simplefilter("ignore")
    given = arguments("quality", own=_own)
    report(list(told(rows(given.only, quick=given.quick))), given.json)


def rows(only: list[str] | None = None, *, quick: bool = False) -> Iterator[Row]:
    """Yield the figures of these groups, by default of all; quickly, those of one small set."""
    for group, (sets, build) in GROUPS.items():
        if only and group not in only:
            continue
        for name in ("tldr",) if quick else sets:
            dataset = Dataset.open(data_folder() / name)
            yield from figures(name, dataset, build(dataset))
    if not only or "pefa" in only:
        for name in () if quick else CLICKED:
            one = Collection(name)
            yield from figures(name, one.data, {"minilm": one.base(), "pefa over minilm": pefa(one.base(), one.data)})


def figures(name: str, dataset: Dataset, systems: Systems) -> Iterator[Row]:
    """Yield what each system finds on each test split."""
    for split in (split for split in dataset.judged_splits if split.startswith("test")):
        for system, retriever in systems.items():
            found = evaluate(retriever, dataset, split, MEASURES, k=100, latency_queries=0).measures
            for measure in MEASURES:
                yield Row(f"{name} {split} {measure}, {system}", float(found[measure]), "", None, "", "", False)


def _own(parser: argparse.ArgumentParser) -> Any:
    names = [*GROUPS, "pefa"]
    return parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=f"of {', '.join(names)}")


if __name__ == "__main__":
    main()
