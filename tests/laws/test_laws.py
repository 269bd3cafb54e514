"""The laws of the design that hold for today's methods, over random catalogs, queries and parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vizsla
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import VARIANTS

WORDS = ["fig", "pear", "apple", "plum", "tree", "leaf", "ω", "größe"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
catalogs = st.lists(texts, min_size=1, max_size=25)
queries = st.lists(texts, min_size=1, max_size=4)
variants = st.sampled_from(list(VARIANTS))


@given(catalogs, queries, variants, st.integers(1, 10), st.integers(0, 20))
def test_law_1_a_search_is_the_head_of_a_longer_one(items, asked, variant, k, more):
    search = bm25(items, variant=variant)
    assert search(asked, k) == search(asked, k + more).top(k)


@given(catalogs, queries, variants, st.integers(1, 30))
def test_law_2_the_score_of_what_was_found_is_what_was_found(items, asked, variant, k):
    search = bm25(items, variant=variant)
    found = search(asked, k)
    assert search.score(asked, found) == found


@settings(max_examples=25)
@given(catalogs, queries, variants)
def test_law_8_saved_and_loaded_it_answers_the_same(tmp_path_factory, items, asked, variant):
    search = bm25(items, variant=variant)
    saved = search.save(tmp_path_factory.mktemp("law") / "saved")
    for mmap in (True, False):
        assert vizsla.load(saved, mmap=mmap)(asked, 10) == search(asked, 10)


@given(catalogs, queries, st.integers(1, 12))
def test_law_9_shards_searched_and_merged_are_the_unsharded_answer(items, asked, k):
    """A shard is a mask here: each answers for its own items, and the merge is the ranked union."""
    search = bm25(items)
    shard_of = np.arange(len(items)) % 3
    answers = [search(asked, k, where=shard_of == shard) for shard in range(3)]
    merged = []
    for row in range(len(asked)):
        parts = [answer.row(row) for answer in answers]
        numbers = np.concatenate([items for items, _ in parts])
        scores = np.concatenate([scores for _, scores in parts])
        merged.append((numbers, scores))
    offsets = np.cumsum([0, *(len(numbers) for numbers, _ in merged)])
    flat = [np.concatenate(column) for column in zip(*merged, strict=True)]
    assert Candidates.ranked(offsets, flat[0], flat[1], catalog=search.items).top(k) == search(asked, k)


@given(catalogs, queries, variants, st.integers(1, 10), st.integers(2, 4))
def test_law_12_threads_do_not_change_the_answer(items, asked, variant, k, threads):
    search = bm25(items, variant=variant)
    assert search(asked * 3, k, threads=threads) == search(asked * 3, k, threads=1)


@given(catalogs, queries, st.permutations(range(25)), st.integers(1, 30))
def test_scores_do_not_depend_on_the_order_of_the_catalog(items, asked, order, k):
    shuffled = [number for number in order if number < len(items)]
    one = bm25({str(number): text for number, text in enumerate(items)})
    two = bm25({str(number): items[number] for number in shuffled})
    everything = len(items)
    for first, second in zip(
        one(asked, everything).to_dict().values(), two(asked, everything).to_dict().values(), strict=True
    ):
        assert second == pytest.approx(first, rel=1e-6)


@given(catalogs, queries)
def test_a_sum_of_a_retriever_with_itself_is_the_retriever(items, asked):
    search = bm25(items)
    doubled = (0.5 * search + 0.5 * search)(asked, 10)
    assert doubled.ids == search(asked, 10).ids
    assert doubled.scores == pytest.approx(search(asked, 10).scores)


@given(catalogs, queries, st.integers(1, 30))
def test_a_rerank_by_itself_at_full_depth_is_the_retriever(items, asked, k):
    search = bm25(items)
    assert search.rerank(search, depth=len(items))(asked, k) == search(asked, k)


@given(catalogs, queries, st.integers(1, 9), st.integers(1, 9))
def test_two_cuts_are_the_smaller_cut(items, asked, first, second):
    search = bm25(items)
    assert (search % first % second)(asked, 10) == (search % min(first, second))(asked, 10)


@given(catalogs, st.data())
def test_a_filter_gives_the_first_allowed_of_the_whole_answer(items, data):
    search = bm25(items)
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(items), max_size=len(items))), dtype=bool)
    whole = search("fig tree", len(items)).row(0)[0]
    assert search("fig tree", 3, where=allowed).row(0)[0].tolist() == [i for i in whole.tolist() if allowed[i]][:3]


def test_ids_come_back_as_they_were_given():
    ids = ["", " ", "a/b", "ü", "é", "🦊", "x" * 5000, "0"]
    search = bm25(dict.fromkeys(ids, "fig"))
    assert search("fig", k=10).ids == [ids]
    assert list(search.items) == ids and search.items == Strings.of(ids)
