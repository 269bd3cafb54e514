"""Learning without clicks: fusion without labels, and tokens that a teacher taught, on sets whose clicks are not used.

    python -m benchmarks.without_clicks --sets squad-sent tldr
    python -m benchmarks.without_clicks --spans              # also teach by words of the items alone: needs MiniLM

R@10 / MRR@10 of test queries about items with clicks ("seen") and without ("unseen"); no click is read. The teacher is
MiniLM alone, or the sum of BM25 and MiniLM by z-scores with equal weights, which is what `learn` delivers without
clicks. Query texts are those of the training split, whose clicks stay unread.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from time import process_time

import numpy as np
from numpy.typing import NDArray

from benchmarks.minilm_vectors import minilm_vectors
from benchmarks.pefa_collection import Collection
from vizsla._internal.terminal import markdown_table
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.retriever import Retriever
from vizsla.data.dataset import Dataset
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.tokens.model import tokens
from vizsla.methods.tokens.taught_tokens import pseudo_queries, taught_tokens

SPLITS = {"seen": "test-seen", "unseen": "test-unseen"}
DRAWS = 1_000


class Judged:
    """Test queries of both splits, and how a system does on each of them."""

    def __init__(self, data: Dataset, most: int):
        rng, self.texts, self.wanted = np.random.default_rng(0), {}, {}
        for name, split in SPLITS.items():
            matrix, asked = data.qrels(split), data.query_texts(split)[1]
            rows = np.flatnonzero(np.diff(matrix.indptr))
            kept = np.sort(rng.permutation(len(rows))[:most])
            self.texts[name] = [asked[at] for at in kept.tolist()]
            self.wanted[name] = [matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]] for row in rows[kept]]

    def measured(self, system: Retriever) -> dict[str, NDArray[np.float64]]:
        """Return recall and reciprocal rank at 10 of every query, by split."""
        found = {}
        for name, texts in self.texts.items():
            answers, rows = system(texts, 10), []
            for at, wanted in enumerate(self.wanted[name]):
                right = np.isin(answers.row(at)[0], wanted)
                rows.append((right.sum() / len(wanted), 1 / (right.argmax() + 1) if right.any() else 0.0))
            found[name] = np.array(rows)
        return found


def learned(name: str, given: argparse.Namespace) -> Iterator[tuple[str, Retriever, float]]:
    """Yield every system with the CPU seconds that it took to build."""
    one = Collection(name)
    items = Dataset(one.data.items, one.data.queries)
    texts = one.data.query_texts("train")[1]
    texts = [texts[at] for at in np.random.default_rng(0).permutation(len(texts))[: given.texts].tolist()]
    words, vectors = bm25(items), one.base()
    yield "BM25", words, 0.0
    yield "idf tokens", tokens({item.id: item.default_text() for item in items.items}), 0.0
    yield "MiniLM", vectors, 0.0
    both = 0.5 * words.normalized("zscore") + 0.5 * vectors.normalized("zscore")
    yield "BM25 + MiniLM, z-scores (`learn`)", both, 0.0
    for said, teacher in [("MiniLM", vectors), ("BM25 + MiniLM", both)][: given.teachers]:
        yield from _taught(items, words, teacher, texts, f"{said}, query texts")
    if given.spans:
        spans = [text for text, _ in pseudo_queries(items)]
        start = process_time()
        rows = dict(zip(spans, minilm_vectors(spans, max_tokens=32), strict=True))
        encoder = FunctionEncoder(
            lambda some: np.stack([rows[text] for text in some]), dim=one.vectors.shape[1], name="minilm"
        )
        dense_spans = dense(items, encoder, vectors=one.vectors)
        both = 0.5 * words.normalized("zscore") + 0.5 * dense_spans.normalized("zscore")
        encoding = process_time() - start
        for said, teacher in [("MiniLM", dense_spans), ("BM25 + MiniLM", both)][: given.teachers]:
            yield from _taught(items, words, teacher, spans, f"{said}, texts alone", encoding)


def _taught(
    items: Dataset, words: Retriever, teacher: Retriever, texts: list[str], said: str, before: float = 0.0
) -> Iterator[tuple[str, Retriever, float]]:
    """Yield tokens that a teacher taught, and their sum with words, which needs no model for a query."""
    start = process_time()
    made = taught_tokens(items, teacher, texts)
    seconds = process_time() - start + before
    yield f"tokens taught by {said}", made, seconds
    both = 0.5 * words.normalized("zscore") + 0.5 * made.normalized("zscore")
    yield f"BM25 + tokens taught by {said}, z-scores", both, seconds


def interval(gains: NDArray[np.float64], seed: int = 0) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of a mean."""
    drawn = np.random.default_rng(seed).choice(gains, (DRAWS, len(gains))).mean(axis=1)
    low, high = np.percentile(drawn, (2.5, 97.5))
    return float(low), float(high)


def main() -> None:
    """Print a table for every set."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["squad-sent", "tldr"])
    parser.add_argument("--texts", type=int, default=12_000, help="query texts to teach by")
    parser.add_argument("--queries", type=int, default=1500, help="test queries of each split")
    parser.add_argument("--spans", action="store_true", help="also teach by words of the items alone")
    parser.add_argument("--teachers", type=int, default=2, help="1 for MiniLM alone, 2 for its sum with BM25 as well")
    given = parser.parse_args()
    for name in given.sets:
        judged, lines = Judged(Collection(name).data, given.queries), []
        first: dict[str, NDArray[np.float64]] = {}
        for system, built, seconds in learned(name, given):
            found = judged.measured(built)
            first = first or found
            cells = [system]
            for split, values in found.items():
                recall, rank = values.mean(axis=0)
                low, high = interval(values[:, 0] - first[split][:, 0])
                cells += [f"{recall:.3f} / {rank:.3f}", f"{low:+.3f} to {high:+.3f}"]
            lines.append([*cells, f"{seconds:.0f}"])
            print(name, *lines[-1], sep=" | ", file=sys.stderr, flush=True)
        header = ["", "seen", "R@10 to BM25", "unseen", "R@10 to BM25", "CPU s"]
        print(f"\n{name}\n\n{markdown_table(header, lines)}")


if __name__ == "__main__":
    main()
