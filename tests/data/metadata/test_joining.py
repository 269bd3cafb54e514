"""Joined catalogs: what was read stays as it was read, whatever joins it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vizsla
from vizsla import Dataset, bm25, load, tfidf, where
from vizsla.core.catalog import details_of
from vizsla.core.strings import Strings
from vizsla.core.validation import DatasetWarning
from vizsla.data.metadata import CompressedTexts, GatheredTexts
from vizsla.data.metadata_join import described
from vizsla.errors import InputError


def shop(letter, prices, field="price", **options):
    rows = [{"id": f"{letter}{n}", "text": "a fig", field: price} for n, price in enumerate(prices)]
    return Dataset.of(rows, **options)


def found(search, condition):
    return sorted(search("fig", k=3000, where=where(condition)).ids[0])


EUROPEAN = ["1.999", *["5,50"] * 40]
AMERICAN = ["5.50"] * 1000


def test_added_items_change_no_price(tmp_path):
    one, more = tfidf(shop("e", EUROPEAN)), shop("u", AMERICAN)
    assert found(one, "price>1100") == ["e0"]
    both = one.with_items(more)
    assert found(both, "price>1100") == ["e0"] and len(found(both, "price=5.5")) == 1040
    again = load(both.save(tmp_path / "both"))
    for changed in (both, again):
        left = changed.without_items(more.item_ids)
        assert found(left, "price>1100") == ["e0"]
        assert found(left.with_items(shop("n", ["2.500"])), "price>1100") == ["e0", "n0"], "the point is still a comma"


@pytest.mark.parametrize("turn", [1, -1])
def test_no_price_changes_in_a_union(turn):
    one, other = (bm25(data) for data in (shop("e", EUROPEAN), shop("u", AMERICAN))[::turn])
    assert found(one | other, "price>1100") == ["e0"] and len(found(one | other, "price=5.5")) == 1040


def test_added_texts_are_read_as_those_that_are_there():
    one = tfidf(shop("e", ["5.25", "1,250"] * 20))
    more = one.with_items(shop("n", ["1,999"])).with_items([{"id": "m", "text": "a fig", "price": "2.999"}])
    assert found(more, "price>1300") == ["n0"] and found(more, "price<3") == ["m"]
    european = tfidf(shop("e", EUROPEAN)).with_items(shop("n", [2.999, "2.999"])).with_items(shop("d", [2.5]))
    assert found(european, "price=2999") == ["n1"] and found(european, "price=2.999") == ["n0"]
    assert found(european, "price=2.5") == ["d0"]


def test_an_added_leading_zero_is_no_number_unless_it_is_declared():
    one = tfidf(shop("e", ["7", "123"] * 20))
    with pytest.warns(DatasetWarning, match=r"1 new values of 'price' are no number, such as '00123'"):
        more = one.with_items(shop("n", ["00123"]))
    assert "n0" not in found(more, "price=123") and found(more, 'price="00123"') == ["n0"]
    declared = tfidf(shop("e", ["7", "123"], meta="price:number")).with_items(shop("n", ["00123"]))
    assert found(declared, "price=123") == ["e1", "n0"]


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("same", [True, False])
def test_a_declared_kind_wins(turn, same, tmp_path):
    declared = shop("a", ["10001", "10002"], "zip", meta=["zip:text"])
    told = shop("a" if same else "b", ["10001", "20002"], "zip")
    one, other = (bm25(data) for data in (declared, told)[::turn])
    for both in (one | other, load((one | other).save(tmp_path / "both"))):
        assert details_of(both.items).column("zip").kind == "text"
        assert set(found(both, "zip startswith 100")) == ({"a0", "a1"} if same else {"a0", "a1", "b0"})
    loaded = load(bm25(declared).save(tmp_path / "one"))
    assert details_of(loaded.items).column("zip").declared
    with pytest.raises(InputError):
        found(bm25(told), "zip startswith 100")


VALUES = st.sampled_from(
    ["1.999", "1,999", "5,50", "5.50", "7", "n/a", 3, 2.5, True, "2024-05-01", "00123", "1.234.567"]
)


@given(st.lists(VALUES, min_size=1, max_size=30), st.lists(VALUES, min_size=1, max_size=30))
def test_what_is_added_and_removed_was_never_there(first, second):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DatasetWarning)
        one, two = shop("a", first).item_ids, shop("b", second).item_ids
        whole = described(Strings.of([*one, *two]), [one, two], settled=True)
        left = described(Strings.of([*one]), [whole])
    before, after = details_of(one).column("price"), details_of(left).column("price")
    assert (after.kind, after.settings) == (before.kind, before.settings)
    assert [after.at(n) for n in range(len(first))] == [before.at(n) for n in range(len(first))]
    for condition in ("price=1999", "price=5.5", "price is null", "price=3", 'price="n/a"'):
        assert np.array_equal(where(condition).mask(left), where(condition).mask(one))


@given(st.lists(VALUES, min_size=1, max_size=30), st.lists(VALUES, min_size=1, max_size=30))
def test_a_union_of_one_kind_says_what_its_parts_say(first, second):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DatasetWarning)
        one, two = shop("a", first).item_ids, shop("b", second).item_ids
    if details_of(one).column("price").kind != details_of(two).column("price").kind:
        return
    whole = described(Strings.of([*one, *two]), [one, two])
    for condition in ("price=1999", "price=1.999", "price is null", "price=true", "price=2024-05"):
        parts = [where(condition).mask(part) for part in (one, two)]
        assert np.array_equal(where(condition).mask(whole), np.concatenate(parts)), condition


PRICES = {"comma": EUROPEAN, "dot": ["5.50"] * 20, "none": ["7", "12"] * 20, "groups": ["1 234", "5.50", "7"] * 20}


@pytest.mark.parametrize("names", [(a, b, c) for a in PRICES for b in PRICES for c in PRICES])
def test_a_text_in_a_condition_is_read_as_by_the_first_part_that_tells_its_point(names):
    parts = [shop(str(number), PRICES[name]).item_ids for number, name in enumerate(names)]
    columns = [details_of(part).column("price") for part in parts]
    first = next((column for column in columns if column.style.point), columns[0])
    whole = details_of(described(Strings.of([id for part in parts for id in part]), parts)).column("price")
    for text in ("1.999", "1,999", "5,50", "5.50", "555 123 456", "1.234.567"):
        assert whole.span(text) == first.span(text), text


@pytest.mark.parametrize("name", PRICES)
def test_a_text_in_a_condition_is_read_alike_before_and_after_saving(name, tmp_path):
    search = bm25(shop("a", PRICES[name]))
    kept = details_of(load(search.save(tmp_path / "kept")).items).column("price")
    for text in ("1.999", "1,999", "5,50", "5.50", "555 123 456", "1.234.567"):
        assert kept.span(text) == details_of(search.items).column("price").span(text), text


def test_texts_are_joined_without_unpacking_them(monkeypatch):
    kept = Dataset.of({f"k{n}": f"fig number {n}" for n in range(500)}, keep_texts=True)
    more = Dataset.of({f"m{n}": f"pear number {n}" for n in range(500)}, keep_texts=True)
    bare = Dataset.of([{"id": f"k{n}", "text": f"fig number {n}", "price": n} for n in range(500)])
    asked = []
    unpack = CompressedTexts._unpacked
    monkeypatch.setattr(CompressedTexts, "_unpacked", lambda self, block: asked.append(block) or unpack(self, block))
    both = bm25(kept) | bm25(more)
    assert both("fig", k=5).ids[0] and not asked
    details = details_of(both.items)
    assert isinstance(details.texts, GatheredTexts)
    assert [details.text(n) for n in (0, 499, 500, 999)] == [
        "fig number 0",
        "fig number 499",
        "pear number 0",
        "pear number 499",
    ]
    for one, other in ((kept, bare), (bare, kept)):
        known = details_of((bm25(one) | bm25(other)).items)
        assert known.text(7) == "fig number 7" and known.of(7) == {"price": 7}


def test_texts_outlast_items_that_have_none_and_are_saved_in_order(tmp_path):
    kept = Dataset.of({"a": "a fig", "b": "a pear"}, keep_texts=True)
    grown = tfidf(kept).with_items({"c": "a plum"}).with_items(Dataset.of({"d": "a lime"}, keep_texts=True))
    for search in (grown, load(grown.save(tmp_path / "grown"))):
        assert [details_of(search.items).text(n) for n in range(4)] == ["a fig", "a pear", "", "a lime"]
    left = grown.without_items(["a", "c", "d"])
    assert details_of(left.items).text(0) == "a pear"
    assert len(details_of(left.items).texts.stores) == 1
    bare = tfidf(vizsla.Dataset.of([{"id": "x", "text": "a fig", "n": 1}]))
    assert details_of(bare.with_items(kept).without_items(["a", "b"]).items).texts is None


@pytest.mark.parametrize(
    "held", [("ab", "bc", "cd"), ("bc", "ab", "abcd"), ("abcd", "abcd"), ("a", "b", "ab"), ("d", "")]
)
def test_a_text_is_that_of_the_first_catalog_that_has_one(held):
    bare = Dataset.of([{"id": "a", "text": "bare", "n": 1}])  # it keeps no texts
    catalogs = [
        Dataset.of({id: f"{id} of {number}" for id in ids}, keep_texts=True).item_ids
        for number, ids in enumerate(held)
        if ids
    ]
    for sources in (
        catalogs,
        [bare.item_ids, *catalogs],
        [described(Strings.of(list("abcd")), catalogs), *catalogs[::-1]],
    ):
        details = details_of(described(Strings.of(list("dcbae")), sources))
        for at, id in enumerate("dcbae"):
            first = next((number for number, ids in enumerate(held) if id in ids), None)
            assert (details.text(at) or "") == ("" if first is None else f"{id} of {first}")
