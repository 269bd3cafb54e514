"""Scores agree with bm25s, given the same tokens, for every variant."""

from __future__ import annotations

import random

import numpy as np
import pytest

from vizsla.core.candidates import Candidates
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import VARIANTS

bm25s = pytest.importorskip("bm25s", reason="the rival test needs bm25s: pip install 'vizsla[test]'")

WORDS = ["fig", "pear", "apple", "plum", "quince", "tree", "leaf", "root", "seed", "bark", "café", "größe", "ω"]
PICK = random.Random(3)
TEXTS = [" ".join(PICK.choices(WORDS, k=PICK.randint(1, 12))) for _ in range(400)]
QUERIES = ["fig pear", "fig fig tree", "café größe root seed bark", "plum", "ω x1 don apple quince seed"]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("k1", "b", "delta"), [(1.5, 0.75, 0.5), (0.9, 0.4, 1.0)])
def test_all_scores_agree(variant, k1, b, delta):
    search = bm25(TEXTS, variant=variant, k1=k1, b=b, delta=delta)
    tokens = [search.words.analyzer(text) for text in TEXTS]
    rival = bm25s.BM25(method=variant, k1=k1, b=b, delta=delta)
    rival.index(tokens, show_progress=False)
    everything = Candidates.from_rows([np.arange(len(TEXTS), dtype=np.int32)])
    for query in QUERIES:
        theirs = rival.get_scores(search.words.analyzer(query))
        ours = search.score(query, everything)
        np.testing.assert_allclose(ours.scores, theirs[ours.items], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("variant", VARIANTS)
def test_top_k_agrees(variant):
    search = bm25(TEXTS, variant=variant)
    rival = bm25s.BM25(method=variant)
    rival.index([search.words.analyzer(text) for text in TEXTS], show_progress=False)
    for query in QUERIES:
        _, theirs = rival.retrieve([search.words.analyzer(query)], k=20, show_progress=False)
        ours = search(query, k=20).scores
        np.testing.assert_allclose(ours, theirs[0][: len(ours)], rtol=1e-5, atol=1e-5)
