"""Pages against the whole ranking, cut, sorted, grouped and counted by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vizsla import Dataset, bm25, where
from vizsla.errors import InputError

RNG = np.random.default_rng(4)
ROWS = [
    {
        "id": f"i{n:02}",
        "text": "fig " * (1 + n % 4) + "tree " * (n % 3) + f"number{n}",
        **({"price": int(RNG.integers(0, 9))} if n % 7 else {}),
        "brand": "xyz"[n % 3],
        "tags": ["a", "b"][: n % 3],
    }
    for n in range(40)
]
KNOWN = {row["id"]: row for row in ROWS}
SEARCH = bm25(Dataset.of(ROWS, keep_texts=True))
WHERES = st.sampled_from([None, "price<5", "brand=x,y", "price>=2 and brand!=z", "tags contains b", "price is null"])


def ranking(query, condition):
    """Return the whole ranking under a condition, best first."""
    return SEARCH(query, k=len(ROWS), where=None if condition is None else where(condition)).ids[0]


def value(item, field):
    return KNOWN[item].get(field)


@settings(max_examples=60)
@given(
    st.sampled_from(["fig", "tree", "fig tree", "number3 fig", "nothing"]),
    st.integers(0, 12),
    st.integers(1, 9),
    WHERES,
    st.sampled_from([None, "price", "price:desc", "brand,price:desc"]),
    st.sampled_from([None, "brand"]),
)
def test_a_page_is_a_cut_of_the_sorted_and_grouped_ranking(query, offset, k, condition, sort, distinct):
    found = SEARCH.page(
        query, k, offset=offset, where=None if condition is None else where(condition), sort=sort, distinct=distinct,
        facets=["brand", "price"],
    )  # fmt: skip
    whole = ranking(query, condition)
    order = list(whole)
    for field in reversed(sort.split(",") if sort else []):
        name, _, direction = field.partition(":")
        known = [item for item in order if value(item, name) is not None]
        known.sort(key=lambda item, name=name: value(item, name), reverse=direction == "desc")
        order = known + [item for item in order if value(item, name) is None]
    if distinct:
        sizes = Counter(value(item, distinct) for item in order)
        firsts = {value(item, distinct): item for item in reversed(order)}
        order = [item for item in order if firsts[value(item, distinct)] == item]
        assert found.groups == len(order)
        assert [hit.more or 0 for hit in found] == [sizes[value(hit.id, distinct)] - 1 for hit in found]
    assert [hit.id for hit in found] == order[offset : offset + k]
    assert [hit.rank for hit in found] == list(range(offset + 1, offset + 1 + len(found.ids)))
    assert found.total == len(whole) and found.total_is_exact
    for field in ("brand", "price"):
        # A condition on the facet's own field does not count for it.
        rest = {"price>=2 and brand!=z": {"brand": "price>=2", "price": "brand!=z"}}.get(condition, {})
        own = None if condition is None or condition.split("<")[0].split("=")[0].split(" ")[0] == field else condition
        counted = ranking(query, rest.get(field, own))
        counts = Counter(value(item, field) for item in counted if value(item, field) is not None)
        facet = found.facets[field]
        assert {each.value: each.count for each in facet.values} == dict(counts)
        assert facet.missing == sum(value(item, field) is None for item in counted) and facet.others == 0
        wanted = sorted(counts, key=lambda each: (-counts[each], each))
        assert [each.value for each in facet.values] == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sort": "tags"}, "one value per item"),
        ({"distinct": "tags"}, "one value per item"),
        ({"sort": "color"}, "color"),
        ({"min_confidence": 1.5}, "min_confidence"),
        ({"min_confidence": True}, "min_confidence"),
        ({"facets": "brand,brand"}, "once"),
        ({"offset": -1}, "offset"),
        ({"snippet_chars": 0}, "snippet_chars"),
        ({"snippet_chars": 2.5, "highlight": True}, "snippet_chars"),
    ],
)
def test_what_no_page_can_be(options, message):
    with pytest.raises(InputError, match=message):
        SEARCH.page("fig", 3, **options)


def test_highlights_are_of_the_fields_that_are_asked_for():
    whole = SEARCH.page("trees", 2, highlight=True)
    chosen = SEARCH.page("trees x", 2, highlight=["brand"])
    for hit in whole:
        text = KNOWN[hit.id]["text"].strip()
        assert [text[low:high] for low, high in hit.highlights["text"]] == ["tree"] * text.count("tree")
    assert all(set(hit.highlights) <= {"brand"} for hit in chosen)
    assert all(hit.highlights is None for hit in SEARCH.page("trees", 2))


@pytest.mark.parametrize("k", [1, 3, 39, 60])
@pytest.mark.parametrize("condition", [None, "brand=x"])
def test_similar_items_are_those_that_the_items_text_finds_without_itself(k, condition):
    found = SEARCH.similar("i04", k, where=None if condition is None else where(condition))
    own = ranking(KNOWN["i04"]["text"], condition)
    assert found.ids[0] == [item for item in own if item != "i04"][:k]
