"""The check that decides about int8: counted by hand, and the sample it is made on."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.base.encoder import FunctionEncoder
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.export.checks import check_quantization, check_sample

ITEMS, QUERIES = ["a", "b", "c", "d"], ["a", "b", "c", "d"]


def one_hot(name: str, confused: str = "") -> FunctionEncoder:
    """Every letter its own axis; a confused one lies on the next letter's."""

    def rows(texts):
        return np.eye(4)[["abcd".index(text) + (text in confused) for text in texts]]

    return FunctionEncoder(rows, dim=4, name=name, items=lambda texts: np.eye(4)[["abcd".index(t) for t in texts]])


def test_losses_are_those_counted_by_hand():
    full, small = one_hot("full"), one_hot("small", confused="b")
    check = check_quantization(full, small, QUERIES, ITEMS, depth=1, max_loss=0.25)
    assert (check.recall, check.recall_int8, check.agreement) == (1.0, 0.75, 0.75)
    assert check.loss == 0.25 and check.accepted
    assert not check_quantization(full, small, QUERIES, ITEMS, depth=1, max_loss=0.24).accepted
    judged = check_quantization(full, small, QUERIES, ITEMS, depth=1, relevant=[[0], [2], [3], []])
    assert (judged.recall, judged.recall_int8) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert judged.loss < 0 and judged.accepted and "R@1 0.3333 → 0.6667 (+0.3333, allowed 0.0100)" in str(judged)
    with pytest.raises(InputError, match="not be empty"):
        check_quantization(full, small, [], ITEMS)


def test_the_sample_holds_every_right_item():
    texts = [f"text {number}" for number in range(300)]
    clicks = {str(q): {str(3 * q): 1, str(3 * q + 1): 1} for q in range(60)}
    data = Dataset.of(texts, queries=[f"query {q}" for q in range(60)], qrels=clicks)
    sample = check_sample(data, queries=20, items=50, seed=1)
    assert len(sample.queries) == 20 and len(sample.items) == 50 == len(set(sample.items))
    for text, places in zip(sample.queries, sample.relevant, strict=True):
        number = int(text.split()[1])
        assert {sample.items[at] for at in places} == {f"text {3 * number}", f"text {3 * number + 1}"}
    assert sample == check_sample(data, queries=20, items=50, seed=1) != check_sample(data, queries=20, items=50)
    assert len(check_sample(data, queries=60, items=1).items) == 120


def test_a_sample_without_judgments_or_queries():
    assert check_sample(Dataset.of(["a fig"], queries=["figs"])).relevant is None
    with pytest.raises(InputError, match="queries to check with"):
        check_sample(Dataset.of(["a fig"]))
