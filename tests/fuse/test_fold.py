"""What is held out, nobody who learns from the rest has seen."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.clicks.fold import TooFewClicksError, draw_fold
from vizsla.dataset import Dataset


def log() -> Dataset:
    pick = np.random.default_rng(3)
    items = {f"i{n}": f"item {n}" for n in range(60)}
    queries = {f"q{n}": f"text {n % 300}" for n in range(400)}  # a hundred texts are asked by two queries
    clicks = [(query, f"i{pick.integers(60)}", float(pick.integers(1, 4))) for query in queries for _ in range(2)]
    return Dataset.of(items, queries=queries, clicks=clicks)


def texts_with_clicks(dataset: Dataset) -> set[str]:
    rows = np.flatnonzero(np.diff(dataset.clicks.tocsr().indptr))
    every = dataset.query_texts()[1]
    return {every[row] for row in rows}


@pytest.mark.parametrize("seed", range(3))
def test_held_out_texts_have_no_click_left_whichever_query_asks_them(seed):
    fold = draw_fold(log(), seed=seed)
    assert len(fold.texts) == len(set(fold.texts)) == fold.wanted.shape[0]
    assert not set(fold.texts) & texts_with_clicks(fold.train)


@pytest.mark.parametrize("seed", range(3))
def test_cold_texts_have_items_without_clicks_and_warm_ones_items_with(seed):
    fold = draw_fold(log(), seed=seed)
    left = np.asarray(fold.train.clicks.sum(axis=0)).ravel()
    assert fold.cold.any()
    assert not fold.cold.all()
    for row, cold in enumerate(fold.cold):
        items = fold.wanted.indices[fold.wanted.indptr[row] : fold.wanted.indptr[row + 1]]
        assert (left[items] == 0).all() if cold else (left[items] > 0).all()


def test_what_is_held_out_are_the_clicks_of_all_queries_of_a_text():
    dataset, fold = log(), draw_fold(log())
    every = np.array(dataset.query_texts()[1])
    for row, text in enumerate(fold.texts):
        expected = dataset.clicks.tocsr()[np.flatnonzero(every == text)].toarray().sum(axis=0)
        assert np.array_equal(fold.wanted[[row]].toarray().ravel(), expected)


def test_a_log_without_cold_texts_gives_warm_ones():
    clicks = [(f"text {n}", "a") for n in range(50)]
    fold = draw_fold(Dataset.of({"a": "fig", "b": "pear"}, clicks=clicks))
    assert len(fold.texts) == 10
    assert not fold.cold.any()


def test_too_few_clicks_are_refused():
    with pytest.raises(TooFewClicksError, match="Got 1"):
        draw_fold(Dataset.of(["fig"], clicks=[("a", "0")]))
