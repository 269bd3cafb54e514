"""Who finds which relevant items: an example counted by hand."""

from __future__ import annotations

import json

import pytest

from tests.evaluation.judged_dict import JudgedDict
from tests.support.table_retriever import TableRetriever
from vizsla.evaluation import overlap
from vizsla.evaluation.overlap import top_k_recall

ITEMS = ["a", "b", "c", "d", "e"]
DATA = JudgedDict({"q1": "one", "q2": "two"}, {"q1": {"a": 1, "b": 2, "c": 0}, "q2": {"c": 1, "d": 1, "e": 1}})
LEFT = TableRetriever({"one": {"a": 3, "c": 2, "b": 1}, "two": {"c": 2, "d": 1}}, ITEMS)
RIGHT = TableRetriever({"one": {"b": 3, "a": 2}, "two": {"c": 1}}, ITEMS)


def test_relevant_items_are_counted_by_who_finds_them():
    # Depth 2: left finds a, c | c, d; right finds b, a | c. Relevant are a, b | c, d, e.
    seen = overlap(LEFT, RIGHT, DATA, k=2, names=("left", "right"))
    assert (seen.both, seen.only_a, seen.only_b, seen.neither) == (2, 1, 1, 1)
    assert (seen.relevant, seen.recall_a, seen.recall_b, seen.recall_union) == (5, 0.6, 0.6, 0.8)


def test_the_union_of_both_finds_exactly_that():
    seen = overlap(LEFT, RIGHT, DATA, k=2)
    union = (LEFT | RIGHT)(["one", "two"], k=4).ids
    relevant = [{"a", "b"}, {"c", "d", "e"}]
    found = sum(len(wanted & set(row)) for wanted, row in zip(relevant, union, strict=True))
    assert found == seen.both + seen.only_a + seen.only_b


def test_the_report_can_be_read_and_written(tmp_path, capsys):
    seen = overlap(LEFT, RIGHT, DATA, k=2, names=("left", "right"))
    seen.show()
    printed = capsys.readouterr().out
    assert "5 relevant items, depth 2" in printed and "left alone" in printed
    assert json.loads(seen.to_json(tmp_path / "o.json"))["recall_union"] == 0.8
    assert "| neither | 1 | 0.2000 |" in seen.to_markdown()


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_query_with_fewer_best_items_than_k_can_be_found_whole(k):
    exact = {"q": {"fig": 3.0, "pear": 2.0}, "r": {"plum": 1.0}}
    assert top_k_recall(exact, exact, k) == 1
    assert top_k_recall({"q": {"fig": 1.0}}, exact, k) == pytest.approx((1 / min(k, 2) + 0) / 2)
