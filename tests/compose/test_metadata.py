"""A composition knows what any of its parts knows of the items."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from vizsla import Dataset, FunctionScorer, bm25, dense, load, shards, where
from vizsla.compose.budgeted import rerank
from vizsla.core.catalog import details_of

IDS = ["fig", "pear", "plum", "lime"]
TEXTS = {"fig": "a sweet fig tree", "pear": "a sweet pear tree", "plum": "a sour plum tree", "lime": "a sour lime"}


def letters(texts):
    return [[text.count(letter) for letter in "aefglmprtu"] for text in texts]


ENCODER = vizsla.encoders.FunctionEncoder(letters, dim=10, name="letters")


def dataset(ids, *, keep_texts=False, **fields):
    items = [{"id": id, "text": TEXTS[id], **{name: values[id] for name, values in fields.items()}} for id in ids]
    return Dataset.of(items, keep_texts=keep_texts)


PRICE = {"fig": 3, "pear": 4, "plum": 5, "lime": 6}
COLOR = {"fig": "purple", "pear": "green", "plum": "purple", "lime": "green"}
SHAPES = {
    "sum": lambda one, other: one.normalized() + other.normalized(),
    "union": lambda one, other: one | other,
    "rerank": lambda one, other: one >> other,
    "budgeted": lambda one, other: rerank(one, other, budget=4),
    "cut": lambda one, other: (one | other) % 3,
    "normalized": lambda one, other: (one.normalized() + other.normalized()).normalized(),
    "nested": lambda one, other: one >> (0.5 * one.normalized() + 0.5 * other.normalized()),
}


@pytest.mark.parametrize("order", [IDS, IDS[::-1]])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_field_that_only_the_second_part_knows_is_found_and_shown(shape, order):
    one, other = bm25(dataset(IDS, price=PRICE)), dense(dataset(order, color=COLOR, keep_texts=True), ENCODER)
    both = SHAPES[shape](one, other)
    found = both("sweet tree", k=4, where=where("color=green"))
    assert found.ids[0] and set(found.ids[0]) <= {"pear", "lime"}
    everything = both("sweet tree", k=4)
    for hit, known in zip(everything[0], everything.metadata(0), strict=True):
        assert known == {"price": PRICE[hit.id], "color": COLOR[hit.id]}
    for hit, known in zip(everything[0], everything.metadata(0, ["text", "color", "price"]), strict=True):
        assert known == {"text": TEXTS[hit.id], "color": COLOR[hit.id], "price": PRICE[hit.id]}


@pytest.mark.parametrize("order", [IDS, IDS[::-1]])
def test_the_first_part_that_knows_a_field_wins(order):
    cheap, dear = ({id: price * factor for id, price in PRICE.items()} for factor in (1, 100))
    one, other = bm25(dataset(IDS, price=cheap)), bm25(dataset(order, price=dear, color=COLOR))
    for first, second, prices in ((one, other, cheap), (other, one, dear)):
        both = first | second
        assert [details_of(both.items).of(both.items.find(id))["price"] for id in IDS] == list(prices.values())
        assert both("tree", k=4, where=where("price>100")).ids[0] == [] or prices is dear


def test_parts_with_other_items_say_what_they_know_of_theirs():
    one = bm25(dataset(["fig", "pear"], price=PRICE, keep_texts=True))
    other = bm25(dataset(["pear", "plum"], price=dict.fromkeys(IDS, 9), color=COLOR))
    both = one | other
    known = {id: details_of(both.items).of(both.items.find(id)) for id in ("fig", "pear", "plum")}
    assert known["fig"] == {"price": 3}
    assert known["pear"] == {"price": 4, "color": "green"} and known["plum"] == {"price": 9, "color": "purple"}
    assert both("sweet tree", where=where("color=green")).metadata(0, ["text"]) == [{"text": TEXTS["pear"]}]


def test_shards_know_what_each_of_them_knows():
    whole = vizsla.methods.Statistics.of(TEXTS)
    one = bm25(dataset(["fig", "pear"], price=PRICE), statistics=whole)
    other = bm25(dataset(["plum", "lime"], price=PRICE, color=COLOR), statistics=whole)
    both = shards([one, other])
    assert sorted(both("tree", where=where("price>=4")).ids[0]) == ["pear", "plum"]
    assert both("plum", k=1).metadata(0) == [{"price": 5, "color": "purple"}]


def test_a_scorer_of_a_dataset_brings_its_fields():
    lengths = FunctionScorer(lambda query, texts: [-len(text) for text in texts], dataset(IDS, color=COLOR))
    both = bm25(TEXTS) >> lengths
    assert set(both("tree", where=where("color=purple")).ids[0]) == {"fig", "plum"}


def test_parts_of_one_dataset_share_their_details_as_they_are():
    data = dataset(IDS, price=PRICE)
    one, other = bm25(data), dense(data, ENCODER)
    assert (one.normalized() + other.normalized()).items is one.items
    plain = bm25(TEXTS) | bm25(TEXTS)
    assert details_of(plain.items) is None


def test_a_saved_composition_knows_the_same(tmp_path):
    both = bm25(dataset(IDS, price=PRICE)) | bm25(dataset(IDS[::-1], color=COLOR))
    again = load(both.save(tmp_path / "both"))
    for search in (both, again):
        assert search("tree", k=4, where=where("color=green", "price=4")).ids == [["pear"]]
        assert search("pear", k=1).metadata(0) == [{"price": 4, "color": "green"}]
    assert np.array_equal(both("tree").items, again("tree").items)
