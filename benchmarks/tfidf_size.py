"""PEFA-XS over TF-IDF on a catalog of long texts: bytes per item, time and recall, with rows cut to their heaviest.

    python -m benchmarks.tfidf_size

debian-synopsis: 59,000 package descriptions of 64 words, and their one-line summaries as queries. The settings are
fixed (weight .5, length .7), so that only the rows differ. Times are CPU times of one query from Python on one thread:
each query's least of the rounds, then the median.
"""

from __future__ import annotations

import argparse
from time import process_time

from benchmarks.corpus import data_folder
from benchmarks.cpu_times import single_query_us
from vizsla._internal.terminal import markdown_table
from vizsla.base.retriever import Retriever
from vizsla.data.dataset import Dataset
from vizsla.evaluation import evaluate
from vizsla.methods.bm25 import bm25
from vizsla.methods.pefa import PefaXs
from vizsla.methods.pefa.blending import grown_log
from vizsla.methods.pefa.options import XsSettings
from vizsla.methods.tfidf import tfidf

SETTINGS = XsSettings(0.5, length=0.7)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", default="debian-synopsis")
    parser.add_argument("--split", default="test")
    parser.add_argument("--entries", nargs="+", type=int, default=[256, 192, 128])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    data = Dataset.open(data_folder() / given.set)
    base = tfidf(data)
    log = grown_log(base, data)
    systems: dict[str, Retriever] = {"BM25": bm25(data), "all entries": PefaXs.build(base, log, SETTINGS)}
    for entries in given.entries:
        start = process_time()
        smaller = tfidf(data, encoder=base.encoder, entries=entries)
        systems[f"{entries} entries"] = PefaXs.build(smaller, log, SETTINGS)
        print(f"{entries} entries: built in {process_time() - start:.1f} CPU s", flush=True)
    texts = data.query_texts(given.split)[1][:300]
    calls = {name: (lambda text, system=system: system(text, k=10)) for name, system in systems.items()}
    times, lines = single_query_us(calls, texts, rounds=given.rounds), []
    for name, system in systems.items():
        found = evaluate(system, data, given.split, ("R@10", "RR@10"), latency_queries=1).measures
        size = system.nbytes / len(data.items)
        lines.append([name, f"{found['R@10']:.4f} / {found['RR@10']:.4f}", f"{size:,.0f}", f"{times[name]:.0f}"])
    print(markdown_table(["", "R@10 / MRR@10", "bytes per item", "µs CPU per query"], lines))


if __name__ == "__main__":
    main()
