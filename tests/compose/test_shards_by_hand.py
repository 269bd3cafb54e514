"""Shards of written-down scores against one table of all of them: search, score, filters, reasons and recipes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.table_retriever import TableRetriever
from vizsla import Dataset, bm25, shards
from vizsla.base.recipe import Recipe
from vizsla.compose.shards import build_shards
from vizsla.errors import CompositionError, InputError
from vizsla.methods.bm25_statistics import Statistics

NAMES = [f"i{number}" for number in range(9)]
SCORES = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 4).map(float), max_size=9)


def cut(tables, sizes):
    """Return a retriever over each run of the names."""
    ends = np.cumsum([0, *sizes])
    runs = [NAMES[start:end] for start, end in pairwise(ends)]
    return [
        TableRetriever({query: {name: row[name] for name in run if name in row} for query, row in tables.items()}, run)
        for run in runs
    ]


@settings(max_examples=60)
@given(
    st.lists(SCORES, min_size=1, max_size=3), st.sampled_from([[9], [4, 5], [1, 7, 1], [3, 3, 2, 1]]),
    st.sets(st.sampled_from(NAMES)), st.integers(1, 9), st.data(),
)  # fmt: skip
@example([{"i0": 1.0, "i8": 1.0, "i4": 1.0}, {}, {"i7": 2.0}], [4, 5], {"i8", "i4"}, 1, None)
def test_shards_are_one_retriever_over_all_items(rows, sizes, allowed, k, data):
    tables = {f"q{number}": row for number, row in enumerate(rows)}
    whole, parts = TableRetriever(tables, NAMES), cut(tables, sizes)
    both = shards(parts)
    asked = list(tables)
    assert list(both.items) == NAMES and both(asked, k) == whole(asked, k)
    filtered = both(asked, k, where=allowed)
    assert filtered.ids == whole(asked, k, where=allowed).ids
    if data is None:
        return
    some = data.draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    for query in asked:
        assert both.score(query, some) == whole.score(query, some)
        for name in some:
            why = both.explain(query, name)
            assert (why.score, why.reason) == (tables[query].get(name, 0.0), "table table")
    assert both(asked, k).stats.postings == sum(part(asked, k).stats.postings for part in parts)


def test_shards_of_several_scales_twice_the_same_item_or_nothing_are_refused():
    one = TableRetriever({"q": {"a": 1.0}}, ["a"])
    for wrong in ([], [one, 3], [one, TableRetriever({}, ["b"], scale="other")], [one, TableRetriever({}, ["b", "a"])]):
        with pytest.raises(CompositionError):
            shards(wrong)
    with pytest.raises(CompositionError, match="'a' twice"):
        shards([one, TableRetriever({}, ["b", "a"])])
    alone = shards([one])
    assert alone("q").ids == [["a"]] and str(shards([one, TableRetriever({}, ["b"])])) == "shards(table, table)"
    with pytest.raises(InputError, match="one shard"):
        alone.with_items({"c": "fig"})


TEXTS = {f"t{number}": f"fig {'tree ' * (number % 3)}number {number}" for number in range(10)}


@pytest.mark.parametrize(
    ("sizes", "lengths"), [([1], [10]), ([1, 1], [5, 5]), ([3, 7], [3, 7]), ([1, 3], [2, 8]), ([2, 1, 2], [4, 2, 4])]
)
def test_a_recipe_cuts_a_catalog_in_proportion_to_its_sizes(sizes, lengths):
    data = Dataset.of(TEXTS, queries={"q": "fig"}, clicks={"q": {"t9": 2, "t0": 1}})
    made = build_shards(data, [Recipe.of("tfidf")] * len(sizes), sizes)
    assert [len(part.items) for part in made.parts] == lengths and list(made.items) == list(TEXTS)
    for wrong in ([*sizes, 1], [], [0] * len(sizes)):
        with pytest.raises(InputError, match="above 0 for each part"):
            build_shards(data, [Recipe.of("tfidf")] * len(sizes), wrong)


def test_matches_and_counts_are_those_of_the_whole():
    statistics = Statistics.of(TEXTS)
    names = list(TEXTS)
    parts = [
        bm25({name: TEXTS[name] for name in run}, statistics=statistics) for run in (names[:3], names[3:4], names[4:])
    ]
    both, whole = shards(parts), bm25(TEXTS)
    for query in ("tree", "number fig", "3", "nothing"):
        for where in (None, names[2:8]):
            for k in (1, 4):
                mine, theirs = both.page(query, k, where=where, offset=1), whole.page(query, k, where=where, offset=1)
                assert mine.ids == theirs.ids
                assert (mine.total, mine.total_is_exact) == (theirs.total, theirs.total_is_exact)
        for name in names[::3]:
            assert both.explain(query, name).score == whole.explain(query, name).score
