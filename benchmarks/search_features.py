"""What people expect of a search: fields with weights, against joined texts and tantivy.

``python -m benchmarks.search_features fields [SET ...]`` compares BM25F, whose weights are chosen on the train clicks,
with joined texts, titles alone, a hand-set 3:1 and tantivy with title^3 (a package to be installed beside), on the test
queries of each set; and the CPU time of single queries. The other commands print the tables of typos, completion, pages
(facets, orders, groups), phrases and confidence.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import completion, facets, phrases, typos
from benchmarks.cpu_times import single_query_us
from vizsla.data.dataset import Dataset
from vizsla.demo.python_docs import python_docs
from vizsla.evaluation.evaluate import evaluate
from vizsla.evaluation.significance import p_values
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_fields import describe_fields

SETS = {"tldr": "test-seen", "tldr unseen": "test-unseen", "debian-synopsis": "test", "wordnet-senses": "test",
        "demo": "test"}  # fmt: skip
MEASURE = "nDCG@10"
K = 10
TIMED = 500
ROUNDS = 7


def opened(name: str) -> Dataset:
    """Return a set by name; the demo's is made of the installed Python's documentation."""
    if name.startswith("demo"):
        return python_docs()
    data = Path(os.environ.get("VIZSLA_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    return Dataset.open(data / name.split()[0])


def tantivy_search(dataset: Dataset) -> Callable[[str], list[tuple[str, float]]] | None:
    """Return a search by tantivy with title^3; None where it is not installed."""
    try:
        import tantivy
    except ImportError:
        return None
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("n", stored=True)
    for field in ("title", "text"):
        builder.add_text_field(field, tokenizer_name="en_stem", index_option="position")
    index = tantivy.Index(builder.build())
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    for number, item in enumerate(dataset.items):
        writer.add_document(tantivy.Document(n=number, title=item.title, text=item.text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher, ids = index.searcher(), dataset.item_ids

    def search(text: str) -> list[tuple[str, float]]:
        words = " ".join(re.findall(r"\w+", text.lower()))
        if not words:
            return []
        query = index.parse_query(words, ["title", "text"], field_boosts={"title": 3.0})
        hits = searcher.search(query, K, count=False).hits
        return [(ids[searcher.doc(address)["n"][0]], score) for score, address in hits]

    return search


def fields(names: list[str]) -> None:
    """Print a table of quality, p-values against the learned weights, and CPU time per query."""
    print(f"| set | system | {MEASURE} | p against learned | µs per query | fields |\n|---|---|---:|---:|---:|---|")
    known: dict[str, tuple[Dataset, dict[str, Any]]] = {}
    for name in names:
        key = name.split()[0]
        if key not in known:
            dataset = opened(name)
            systems: dict[str, Any] = {
                "joined": bm25(dataset),
                "title only": bm25(dataset, fields={"title": 1}),
                "3:1": bm25(dataset, fields={"title": 3, "text": 1}),
                "learned": bm25(dataset, fields="learn"),
            }
            known[key] = dataset, systems | {"tantivy title^3": tantivy_search(dataset)}
        dataset, systems = known[key]
        _report(name, dataset, SETS[name], systems)


def _report(name: str, dataset: Dataset, split: str, systems: dict[str, Any]) -> None:
    ids, texts = dataset.query_texts(split)
    values: dict[str, Any] = {}
    for system, search in systems.items():
        if search is None:
            continue
        run = search if system != "tantivy title^3" else {
            id: dict(search(text)) for id, text in zip(ids, texts, strict=True)
        }  # fmt: skip
        values[system] = evaluate(run, dataset, split, MEASURE, k=K).per_query[MEASURE]
    timed = {one: (lambda text, s=search: s(text, K)) if one != "tantivy title^3" else search
             for one, search in systems.items() if search is not None}  # fmt: skip
    times = single_query_us(timed, texts[:TIMED], rounds=ROUNDS)
    for system, found in values.items():
        p = float(p_values((values["learned"] - found)[:, None])[0]) if system != "learned" else float("nan")
        chosen = describe_fields(systems[system].fields) if hasattr(systems[system], "fields") else ""
        mean = float(np.nanmean(found))
        print(f"| {name} | {system} | {mean:.4f} | {p:.4f} | {times[system]:.1f} | {chosen} |", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("fields").add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    for verb in MORE:
        verbs.add_parser(verb)
    arguments = parser.parse_args()
    if arguments.verb in MORE:
        MORE[arguments.verb]()
    else:
        fields(arguments.sets)


MORE: dict[str, Callable[[], None]] = {
    "typo-words": typos.words,
    "typos": typos.queries,
    "completion": completion.main,
    "pages": lambda: facets.counts([100_000, 1_000_000]),
    "phrases": lambda: phrases.main([100_000, 1_000_000]),
    "confidence": lambda: facets.confidence(None),
}
"""Sub-commands of other modules."""


if __name__ == "__main__":
    main()
