"""The fusion benchmark measures what a user would get."""

from __future__ import annotations

import pytest

pytest.importorskip("ir_measures", reason="the extra eval is not installed")

from benchmarks.fusion import set_rows
from benchmarks.fusion_sets import SEEN, UNSEEN, FusionSet
from benchmarks.remembered import Remembered, swapped
from tests.methods.fusion.test_fuse import fruit_log, letters
from vizsla.data.dataset import Dataset
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense


def small_set() -> FusionSet:
    log = fruit_log()
    qrels = log.qrels("train")
    data = Dataset(log.items, log.queries, clicks=log.clicks, qrels={SEEN: qrels, UNSEEN: qrels})
    return FusionSet("fruit", data, lambda: dense(data, letters))


def test_a_part_that_remembers_answers_as_its_part():
    log = fruit_log()
    words, vectors = bm25(log), dense(log, letters)
    whole = 0.3 * words.scaled(slope=0.5) + 0.7 * vectors.scaled()
    once = swapped(whole, {id(part): Remembered(part) for part in (words, vectors)})
    asked = log.query_texts()[1][:30]
    assert once(asked, 10).to_dict() == whole(asked, 10).to_dict() == once(asked, 10).to_dict()


def test_every_fusion_has_its_goals_and_figures():
    rows = set_rows(small_set(), {"both": ("bm25", "minilm")}, rounds=1)
    works = [row.work for row in rows]
    assert any("learning beside building" in work for work in works)
    assert sum("p if lost" in work for work in works) == 12
    assert sum(work.endswith(", both: learned") for work in works) == 12


def test_the_whole_test_is_the_mean_of_all_its_queries():
    rows = {row.work: row.ours for row in set_rows(small_set(), {"both": ("bm25", "minilm")}, rounds=1)}
    seen, unseen, whole = (
        next(value for work, value in rows.items() if split in work and work.endswith("R@10, both: learned"))
        for split in (SEEN + " (", UNSEEN, "whole test")
    )
    assert whole == pytest.approx((seen + unseen) / 2)  # both splits are the same here
