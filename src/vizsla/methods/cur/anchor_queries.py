"""Which queries become anchors: at random, by clicks, one for each cluster, or pieces of item texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from vizsla.arguments import generator
from vizsla.checked import checked
from vizsla.dataset import Dataset
from vizsla.encoder import Encoder
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.methods.jpq.pseudo_queries import pseudo_queries

HOW = ("random", "clicks", "clusters", "pseudo")


@checked
def anchor_queries(
    dataset: Dataset, count: int = 200, *, how: str = "random", encoder: Encoder | None = None, seed: int = 0
) -> list[str]:
    """Choose anchor queries among those with clicks; where there are none, pieces of item texts.

    Parameters
    ----------
    dataset : Dataset
        Queries with clicks, and items.
    count : int
        How many, at most.
    how : {"random", "clicks", "clusters", "pseudo"}
        "clicks": the most clicked. "clusters": those nearest to the centres of k-means over the encoder's vectors.
        "pseudo": runs of words out of item texts.
    encoder : Encoder, optional
        For "clusters": a dense one.
    seed : int
        Fixes what is drawn.

    Examples
    --------
    >>> log = Dataset.of({"a": "fig tree"}, queries={"q": "fig"}, clicks=[("q", "a", 1.0)])
    >>> anchor_queries(log, 5), anchor_queries(log, 5, how="pseudo")
    (['fig'], ['fig tree'])
    """
    check_choice("how", how, HOW)
    check_positive("count", count)
    random = generator(seed)
    texts, weights = _clicked(dataset)
    if how == "pseudo" or not texts:
        pieces = pseudo_queries((item.default_text() for item in dataset.items), seed=seed)
        return [pieces[at] for at in random.permutation(len(pieces))[:count].tolist()]
    if how == "clicks":
        return [texts[at] for at in np.argsort(-weights, kind="stable")[:count].tolist()]
    if how == "clusters":
        return [texts[at] for at in _nearest(texts, _dense(encoder), min(count, len(texts)), random, seed)]
    return [texts[at] for at in random.permutation(len(texts))[:count].tolist()]


def _clicked(dataset: Dataset) -> tuple[list[str], Any]:
    """Return the texts of queries with clicks, each once, and the sum of their clicks."""
    clicks = dataset.clicks
    sums: dict[str, float] = {}
    if clicks is not None and clicks.nnz:
        totals = np.asarray(clicks.sum(axis=1)).ravel()
        texts = dataset.query_texts()[1]
        for at in np.flatnonzero(np.diff(clicks.tocsr().indptr)).tolist():
            sums[texts[at]] = sums.get(texts[at], 0.0) + float(totals[at])
    return list(sums), np.array(list(sums.values()))


def _dense(encoder: Encoder | None) -> Encoder:
    if encoder is None or encoder.sparse:
        given = "none" if encoder is None else f"{encoder!r}, whose rows are sparse"
        raise InputError(f'`encoder` must be a dense encoder for how="clusters". Got {given}.')
    return encoder


def _nearest(texts: list[str], encoder: Encoder, count: int, random: np.random.Generator, seed: int) -> list[int]:
    """Return the query nearest to each cluster's centre, and random ones where two clusters share it."""
    import faiss

    rows = np.ascontiguousarray(encoder.queries(texts), np.float32)
    clusters = faiss.Kmeans(rows.shape[1], count, niter=10, seed=seed % 2**31, min_points_per_centroid=1)
    clusters.train(rows)
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)
    chosen = list(dict.fromkeys(index.search(np.asarray(clusters.centroids, np.float32), 1)[1].ravel().tolist()))
    rest = [at for at in random.permutation(len(texts)).tolist() if at not in set(chosen)]
    return [*chosen, *rest][:count]
