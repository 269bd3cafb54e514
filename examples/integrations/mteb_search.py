"""MTEB: a retriever as a model of its retrieval tasks, by `SearchProtocol` (mteb 2.26). Needs `pip install mteb`.

    python mteb_search.py NFCorpus

The tests compile this file and do not run it: mteb needs torch and downloads its tasks. The protocol is defined in
mteb/models/models_protocols.py.
"""

import sys

import mteb
from mteb.models import ModelMeta

from vizsla import bm25


class VizslaSearch:
    """BM25 of a task's corpus; any function from texts by id to a retriever goes in place of `bm25`."""

    mteb_model_meta = ModelMeta.create_empty(overwrites={"name": "vizsla/bm25", "revision": "1"})

    def index(self, corpus, *, task_metadata, hf_split, hf_subset, encode_kwargs, num_proc=None):
        """Build the retriever; mteb calls this once per split."""
        texts = {row["id"]: f"{row.get('title') or ''} {row['text']}".strip() for row in corpus}
        self._search = bm25(texts)

    def search(
        self, queries, *, task_metadata, hf_split, hf_subset, top_k, encode_kwargs, top_ranked=None, num_proc=None
    ):
        """Return scores by query id and document id; `top_ranked` limits reranking tasks to their candidates."""
        if top_ranked is None:
            found = self._search([row["text"] for row in queries], top_k)
            ids = [row["id"] for row in queries]
            return {id: {hit.id: float(hit.score) for hit in hits} for id, hits in zip(ids, found, strict=True)}
        answers = {}
        for row in queries:
            hits = self._search(row["text"], top_k, where=list(top_ranked[row["id"]]))[0]
            answers[row["id"]] = {hit.id: float(hit.score) for hit in hits}
        return answers


if __name__ == "__main__":
    print(mteb.evaluate(VizslaSearch(), mteb.get_tasks(tasks=sys.argv[1:])))
