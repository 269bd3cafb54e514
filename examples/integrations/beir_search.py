"""BEIR: a retriever behind `BaseSearch` (beir 2.2). Needs `pip install vizsla beir`.

    python beir_search.py FOLDER_OF_A_DATASET

The tests compile this file and do not run it: beir needs torch. Without beir, `vizsla.open_dataset(folder)` reads the
same folder and `vizsla.evaluate` measures on it.
"""

import sys

from beir.datasets.data_loader import GenericDataLoader
from beir.retrieval.evaluation import EvaluateRetrieval
from beir.retrieval.search.base import BaseSearch

from vizsla import bm25


class VizslaBeirSearch(BaseSearch):
    """BM25 of the corpus; any function from texts by id to a retriever goes in place of `bm25`."""

    def search(self, corpus, queries, top_k, *args, **options):
        """Return scores by query id and document id."""
        texts = {id: f"{row.get('title') or ''} {row['text']}".strip() for id, row in corpus.items()}
        found = bm25(texts)(list(queries.values()), top_k)
        return {id: {hit.id: float(hit.score) for hit in hits} for id, hits in zip(queries, found, strict=True)}

    def encode(self, *args, **options):
        """BEIR asks for it; there are no vectors here."""
        raise NotImplementedError("BM25 has no vectors")

    def search_from_files(self, *args, **options):
        """BEIR asks for it; there are no files of vectors here."""
        raise NotImplementedError("BM25 has no vectors")


if __name__ == "__main__":
    corpus, queries, qrels = GenericDataLoader(sys.argv[1]).load(split="test")
    evaluation = EvaluateRetrieval(VizslaBeirSearch(), k_values=[10])
    print(evaluation.evaluate(qrels, evaluation.retrieve(corpus, queries), [10]))
