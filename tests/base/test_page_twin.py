"""Pages against a plain twin: a list that is filtered, sorted, grouped, counted and cut in Python."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import vizsla
from tests.support.table_retriever import TableRetriever
from vizsla import Dataset, bm25
from vizsla.base.page import sort_of
from vizsla.errors import InputError

TEXTS = st.sampled_from(["fig", "fig fig tree", "a fig and a pear", "pear"])
ROWS = st.lists(
    st.tuples(TEXTS, st.sampled_from([None, 1, 2, 3]), st.sampled_from([None, "x", "y", "z"])), min_size=1, max_size=10
)
CONDITIONS = {
    None: lambda row: True,
    "price>1": lambda row: row[1] is not None and row[1] > 1,
    "brand=x or brand=y": lambda row: row[2] in ("x", "y"),
    "price<3 and brand!=x": lambda row: row[1] is not None and row[1] < 3 and row[2] != "x",
}
WITHOUT = {  # what is left of a condition without one field
    "price": {"price>1": None, "price<3 and brand!=x": "brand!=x"},
    "brand": {"brand=x or brand=y": None, "price<3 and brand!=x": "price<3"},
}
CONDITIONS |= {
    "brand!=x": lambda row: row[2] != "x",
    "price<3": lambda row: row[1] is not None and row[1] < 3,
}
SORTS = [None, "price", "price:desc", "brand,price:desc", "brand:desc,price:asc"]
FIELDS = {"price": 1, "brand": 2}


def sorting_key(row, order):
    """Items without a value come last, whichever way."""
    keys = []
    for part in (order or "").split(",") if order else []:
        name, _, way = part.partition(":")
        value = row[FIELDS[name]]
        rank = 0 if value is None else (["x", "y", "z"].index(value) if name == "brand" else value)
        keys.append((value is None, -rank if way == "desc" else rank))
    return keys


@settings(max_examples=60)
@given(
    ROWS, st.sampled_from([key for key in CONDITIONS if key not in ("brand!=x", "price<3")]), st.sampled_from(SORTS),
    st.sampled_from([None, "brand", "price"]), st.integers(1, 4), st.integers(0, 5), st.booleans(),
)  # fmt: skip
@example([("fig", 1, "x"), ("fig fig tree", 1, "x"), ("pear", 2, "x"), ("fig", None, None), ("fig", 3, None)], None, "price:desc", "brand", 2, 1, True)  # noqa: E501  # fmt: skip
@example([("fig", n % 3 + 1, "xyz"[n % 3]) for n in range(10)], "brand=x or brand=y", "brand,price:desc", None, 3, 2, False)  # noqa: E501  # fmt: skip
def test_a_page_is_a_slice_of_the_list_that_was_asked_for(rows, where, order, distinct, k, offset, matching):
    items = [
        {"id": f"i{n}", "text": text, "price": price, "brand": brand} for n, (text, price, brand) in enumerate(rows)
    ]
    items.append({"id": "last", "text": "plum", "price": 1, "brand": "x"})  # so that both fields are there
    data = Dataset.of(items)
    search = bm25(data)
    scores = dict(zip(*(each.tolist() for each in search("fig", 99).row(0)), strict=True))
    if not matching:  # a retriever that does not say what a match is: its list counts
        table = TableRetriever({"fig": {f"i{n}": score for n, score in scores.items()}}, [row["id"] for row in items])
        table._items = data.item_ids
        search = table

    def members(condition):
        return [n for n in scores if CONDITIONS[condition](rows[n])]

    ranked = sorted(members(where), key=lambda n: (sorting_key(rows[n], order), -scores[n], n))
    more = groups = None
    if distinct is not None:
        values = [rows[n][FIELDS[distinct]] for n in ranked]
        firsts = [at for at, value in enumerate(values) if value is None or value not in values[:at]]
        more = [values.count(values[at]) - 1 if values[at] is not None else 0 for at in firsts]
        ranked, groups = [ranked[at] for at in firsts], len(firsts)
    condition = None if where is None else vizsla.where(where)
    page = search.page(
        "fig", k, offset=offset, where=condition, sort=order, distinct=distinct, facets=["brand", "price"]
    )
    wanted = ranked[offset : offset + k]
    assert page.ids == [f"i{n}" for n in wanted]
    assert [hit.score for hit in page] == pytest.approx([scores[n] for n in wanted])
    assert [hit.rank for hit in page] == list(range(offset + 1, offset + 1 + len(wanted)))
    assert (page.total, page.total_is_exact, page.offset, page.groups) == (len(members(where)), True, offset, groups)
    assert [hit.more for hit in page] == (more[offset : offset + k] if more is not None else [None] * len(wanted))
    for field, at in FIELDS.items():
        left = members(WITHOUT[field].get(where, where))
        counted = {value.value: value.count for value in page.facets[field].values if value.count}
        known = [rows[n][at] for n in left if rows[n][at] is not None]
        assert counted == {value: known.count(value) for value in known}
        assert page.facets[field].missing == len(left) - len(known)


@pytest.mark.parametrize("depth", [1, 2, 3, 20])
def test_what_does_not_say_what_matches_has_as_many_hits_as_its_depth(depth):
    names = [f"i{n}" for n in range(5)]
    search = TableRetriever({"q": {name: 5.0 - n for n, name in enumerate(names)}}, names)
    page = search.page("q", 10, depth=depth)
    assert page.ids == names[:depth]
    assert (page.total, page.total_is_exact) == (min(depth, 5), depth > 5)
    assert search.page("q", 2, offset=1, depth=depth).ids == names[:depth][1:3]
    assert search.page("q", 2, offset=5, depth=depth).ids == []


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, []), ("price", [("price", False)]), ("a:desc, b:asc ,c", [("a", True), ("b", False), ("c", False)]),
        (["a:b", "c:desc"], [("a:b", False), ("c", True)]), (":desc", [(":desc", False)]),
        ("a:b:desc", [("a:b", True)]),
    ],
)  # fmt: skip
def test_orders_are_read_as_they_are_written(given, wanted):
    assert sort_of(given) == wanted
    for wrong in (3, [3], "a,,b", [""]):
        with pytest.raises(InputError, match="`sort` must be fields"):
            sort_of(wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"offset": -1}, {"offset": True}, {"offset": 1.0}, {"k": 0}, {"depth": 0}, {"snippet_chars": 0}, {"count_to": -1},
     {"count_to": True}, {"count_to": 1.5}, {"sort": "color"}, {"distinct": 3}, {"distinct": "color"},
     {"highlight": 3}, {"highlight": [3]}, {"highlight": "color"}],
)  # fmt: skip
def test_wrong_wishes_for_a_page_are_refused(wrong):
    data = Dataset.of([{"id": "a", "text": "fig", "price": 1}], keep_texts=True)
    assert bm25(data).page("fig", count_to=0, highlight="").ids == ["a"]
    with pytest.raises(InputError):
        bm25(data).page("fig", **wrong)
    with pytest.raises(InputError, match="Got items of which only ids are known"):
        bm25({"a": "fig"}).page("fig", sort="price")
