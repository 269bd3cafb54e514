"""What is no array, no function or no table of names is refused in words where one is meant."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from vizsla import learning
from vizsla.errors import InputError
from vizsla.text.ngrams import NgramTfidf

SEARCH = vizsla.tokens(["a fig tree", "an apple tree"])
STATISTICS = vizsla.bm25(["a fig", "an apple"]).statistics


@pytest.mark.parametrize("wrong", [..., {"a": None}, "x", [1.5]])
def test_counts_of_tokens(wrong):
    kept = {"lengths": SEARCH.lengths}
    with pytest.raises(InputError, match="`frequencies` must be"):
        type(SEARCH)(SEARCH.items, SEARCH.encoder, SEARCH.index, frequencies=wrong, **kept)
    with pytest.raises(InputError, match="`frequencies` must be"):
        type(STATISTICS)(STATISTICS.words, wrong, STATISTICS.documents, STATISTICS.length)


def test_names_of_ngrams():
    with pytest.raises(InputError, match="`names` must hold Strings"):
        NgramTfidf(range(3), np.zeros(0, np.float32), bins=[0, 0, 0])


@pytest.mark.parametrize("train", [learning.train_jpq, learning.train_sidr, learning.train_cross_encoder])
def test_a_watch_is_a_function(train):
    with pytest.raises(InputError, match="`watch` must be a function or None"):
        train(watch=np.array([np.nan]))  # before anything that is missing


def test_no_fields_are_none():
    assert SEARCH("fig").metadata(0, fields=np.zeros((0, 2))) == [{}]


def test_shares_words_and_ranks():
    with pytest.raises(InputError, match="`shares` must have a number for each"):
        vizsla.tfidf(["a fig"], kind_shares=np.zeros((2, 0)))
    with pytest.raises(InputError, match="`content` must be a list of words"):
        vizsla.text.AnyLanguage(content=np.array(3))
    scorer = vizsla.FunctionScorer(lambda query, texts: [0.0 for _ in texts], {"a": "fig"}, name="none")
    with pytest.raises(InputError, match="`rank` must be"):
        vizsla.residual_cur(scorer, vizsla.methods.score_anchors(scorer, ["fig"]), rank=0)
