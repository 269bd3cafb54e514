"""The default analyzer against the older settings: quality on judged sets, cost, and indexing beside tantivy.

Run it with `python -m benchmarks.analyzers [--quick|--full] [--mixed] [--json FILE]`; `--mixed` runs the catalog in
twelve languages alone.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.contestant import Contestant, ContestantError
from benchmarks.corpus import SETS, data_folder, texts_of
from benchmarks.mixed_languages import mixed_rows
from benchmarks.rows import Row, arguments, median, report
from vizsla.data.dataset import Dataset
from vizsla.evaluation.evaluate import evaluate
from vizsla.evaluation.significance import holm, p_values
from vizsla.methods.bm25 import Bm25, bm25
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.typing import Float64Array

MEASURE = "nDCG@10"
WITHIN = 0.01
OLDER = {
    "plain": Analyzer(),
    "stop words": Analyzer(stop_words="english"),
    "stemming": Analyzer(stem="english"),
    "both": Analyzer.named("english"),
}
SPLITS = {
    "cranfield": ("train", "test"),
    "xquad-en": ("train", "test"),
    "tldr": ("train", "test-seen", "test-unseen"),
    "squad-sent": ("train", "test-seen", "test-unseen"),
    "debian-synopsis": ("train", "test"),
    "wordnet-senses": ("train", "test"),
}
MOST_COST = 1.5


def main() -> None:
    options = arguments("analyzers", own=_add_mixed)
    if options.mixed:
        return report(mixed_rows(("train",) if options.quick else ("train", "test")), options.json)
    chosen = ["cranfield", "xquad-en"] if options.quick else list(SPLITS)
    rows = [row for name in chosen for row in quality_rows(name)]
    report([*rows, *cost_rows(5_000 if options.quick else 100_000, 1 if options.quick else 5)], options.json)


def _add_mixed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mixed", action="store_true", help="one catalog in twelve languages against each alone")


def quality_rows(name: str) -> list[Row]:
    """Return the default beside the best of the older settings, a row a split, and one of all queries together."""
    dataset = Dataset.open(data_folder() / name)
    analyzers: Mapping[str, Analyzer] = {"default": AnyLanguage()} | OLDER
    built = {label: bm25(dataset, analyzer=analyzer) for label, analyzer in analyzers.items()}
    splits = {split: _per_query(built, dataset, split) for split in SPLITS[name]}
    together = {label: np.concatenate([found[label] for found in splits.values()]) for label in built}
    return [_quality_row(f"{name} {split}", found) for split, found in {**splits, "all": together}.items()]


def _per_query(built: Mapping[str, Bm25], dataset: Dataset, split: str) -> dict[str, Float64Array]:
    evaluated = {label: evaluate(one, dataset, split, [MEASURE], latency_queries=0) for label, one in built.items()}
    return {label: one.per_query[MEASURE] for label, one in evaluated.items()}


def _quality_row(where: str, found: Mapping[str, Float64Array]) -> Row:
    """Return a row whose note says how the others did, and how likely chance alone makes such a difference."""
    means = {label: float(np.nanmean(values)) for label, values in found.items()}
    best = max(OLDER, key=means.__getitem__)
    chance = holm(p_values(np.column_stack([found["default"] - found[label] for label in OLDER])))
    others = ", ".join(f"{label} {means[label]:.4f}" for label in OLDER)
    note = f"{others}; {len(found[best])} queries, p against {best} {chance[list(OLDER).index(best)]:.3f} (Holm)"
    return Row(
        f"{MEASURE}, {where}", means["default"], f"{best} - {WITHIN}", means[best] - WITHIN, "", ">= 1.0", False, note
    )


def cost_rows(count: int, rounds: int) -> list[Row]:
    """Return CPU seconds of counting words, and documents that are indexed in one, of texts as they are."""
    texts = list(islice(texts_of("corpus.jsonl.gz", SETS), count))
    analyzers: Mapping[str, Analyzer] = {"default": AnyLanguage(), "plain": OLDER["plain"]}
    counting = _medians(rounds, {n: (lambda a=a: BagOfWords.fit(texts, a)) for n, a in analyzers.items()})
    building = _medians(rounds, {n: (lambda a=a: bm25(texts, analyzer=a)) for n, a in analyzers.items()})
    docs, note = count / building["default"], ""
    tantivy = None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.txt"
        file.write_text("".join(f"{' '.join(text.split())}\n" for text in texts), encoding="utf-8")
        try:
            with Contestant("bm25_tantivy", ".venv-peers") as rival:
                tantivy = median([count / rival.ask("index", file=str(file)) for _ in range(rounds)])
        except ContestantError as error:
            note = str(error)
    limit = f"plain words × {MOST_COST}"
    return [
        Row(f"counting {count:,} texts", counting["default"], limit, MOST_COST * counting["plain"], "CPU s", ">= 1.0"),
        Row(f"indexing {count:,} texts", building["default"], limit, MOST_COST * building["plain"], "CPU s", ">= 1.0"),
        Row("indexing, default", docs, "tantivy", tantivy, "docs per CPU s", ">= 1.0", False, note),
    ]


def _medians(rounds: int, contestants: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Return everybody's median CPU seconds; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, call in contestants.items():
            start = process_time()
            call()
            seconds[name].append(process_time() - start)
    return {name: float(median(times) or 0) for name, times in seconds.items()}


if __name__ == "__main__":
    main()
