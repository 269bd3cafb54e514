"""A collection with clicks and stored MiniLM vectors, for the PEFA benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.corpus import data_folder
from vizsla.base.encoder import FunctionEncoder
from vizsla.data.dataset import Dataset
from vizsla.methods.dense import Dense, dense

Click = tuple[str, str, float]


class Collection:
    """A dataset with its MiniLM vectors, looked up by text."""

    def __init__(self, name: str):
        folder = data_folder() / name
        self.name, self.data = name, Dataset.open(folder)
        rows = np.load(folder / "emb" / "queries.minilm-l6-v2.f16.npy").astype(np.float32)
        number = {text: at for at, text in enumerate(self.data.query_texts()[1])}
        self.encoder = FunctionEncoder(
            lambda texts: rows[[number[text] for text in texts]], dim=rows.shape[1], name="minilm"
        )
        self.vectors = np.load(folder / "emb" / "corpus.minilm-l6-v2.f16.npy").astype(np.float32)

    def base(self, **options: Any) -> Dense:
        """Return exact search over the vectors, or another index."""
        return dense(self.data, self.encoder, vectors=self.vectors, **options)

    def texts(self, split: str) -> list[str]:
        """Return a split's queries."""
        return self.data.query_texts(split)[1]

    def clicks(self, share: float, *, seed: int = 0) -> list[Click]:
        """Return a random part of the clicks."""
        texts, clicks = self.data.query_texts()[1], self.data.clicks.tocoo()
        kept = np.random.default_rng(seed).permutation(clicks.nnz)[: round(share * clicks.nnz)]
        ids = self.data.item_ids
        return [(texts[clicks.row[at]], ids[int(clicks.col[at])], float(clicks.data[at])) for at in kept]

    def recall(self, system: Any, split: str, *, k: int) -> float:
        """Return the mean share of each query's items among the best k."""
        judged, found = self.data.qrels(split), system(self.texts(split), k=k)
        rows = np.flatnonzero(np.diff(judged.indptr))
        wanted = [judged.indices[judged.indptr[row] : judged.indptr[row + 1]] for row in rows]
        return float(np.mean([np.isin(items, found.row(at)[0]).mean() for at, items in enumerate(wanted)]))
