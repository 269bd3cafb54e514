"""Items without clicks as a term of a sum."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.fusion.logs import ITEMS, text
from tests.methods.fusion.test_pool import QUERIES, sparse_part
from vizsla import load
from vizsla.compose import Sum
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.methods import cold_item_boost
from vizsla.methods.bm25 import bm25
from vizsla.methods.cold_items import ColdItemBoost
from vizsla.methods.pefa import pefa_xs
from vizsla.methods.tfidf import tfidf
from vizsla.methods.xrlinear.build import xrlinear

TEXTS = [text(query) for query in range(QUERIES)]


def log() -> Dataset:
    return Dataset.of(
        {"fig": "a sweet fruit", "pear": "a green fruit", "plum": "a blue fruit", "leek": "a long stalk"},
        clicks=[("sweet", "fig"), ("sweet thing", "fig", 0.5), ("green", "pear", 2.0)],
    )


def lifted(retriever: ColdItemBoost) -> list[str]:
    return retriever.items.take(retriever.numbers)


def test_items_without_clicks_get_one_and_others_nothing():
    new = cold_item_boost(log())
    assert new.exact("anything", 4).to_dict() == {"0": {"plum": 1.0, "leek": 1.0, "fig": 0.0, "pear": 0.0}}
    assert new("anything").ids == [["plum", "leek"]]
    assert new("anything", where={"leek", "fig"}).ids == [["leek"]]
    assert str(new.explain("anything", "plum")) == "1.0000  it has no clicks yet"
    assert str(new.explain("anything", "fig")) == "0.0000  it has clicks"


def test_clicks_that_come_and_go_are_counted_exactly():
    new = cold_item_boost(log())
    more = new.with_clicks([("blue", "plum", 0.1), ("blue one", "plum", 0.2)])
    assert lifted(more) == ["leek"]
    assert lifted(more.without_clicks([("blue", "plum", 0.1)])) == ["leek"]
    assert lifted(more.without_clicks([("blue one", "plum", 0.2), ("blue", "plum", 0.1)])) == ["plum", "leek"]
    assert lifted(new) == ["plum", "leek"]
    with pytest.raises(InputError, match="Only clicks that are there can be taken away"):
        new.without_clicks([("blue", "plum")])
    with pytest.raises(InputError, match="Got 'melon'"):
        new.with_clicks([("green", "melon")])


def test_new_items_have_no_clicks_and_items_can_go():
    new = cold_item_boost(log()).with_items({"kiwi": "a hairy fruit"})
    assert lifted(new) == ["plum", "leek", "kiwi"]
    assert lifted(new.without_items(["plum", "fig"])) == ["leek", "kiwi"]
    with pytest.raises(InputError, match="kiwi"):
        new.with_items({"kiwi": "again"})


def test_saved_and_loaded_it_is_the_same(tmp_path):
    new = cold_item_boost(log())
    new.save(tmp_path / "new")
    again = load(tmp_path / "new")
    assert again("anything") == new("anything")
    assert lifted(again.with_clicks([("long", "leek")])) == ["plum"]


@pytest.mark.parametrize("units", [np.array([1, -1, 0, 0]), np.zeros(3, np.int64), np.zeros(4, np.float32)])
def test_other_counts_are_refused(units):
    with pytest.raises(InputError, match=r"`units` must be 4 whole numbers|Only clicks that are there"):
        ColdItemBoost(Strings.of(log().item_ids), units)


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.parametrize("height", [0.0, 0.4, 3.0, 50.0])
def test_a_sum_adds_it_to_what_the_others_find(height, filtered):
    """Against scores added by hand: candidates are the other parts' lists, whoever has no clicks."""
    parts = [sparse_part(seed) for seed in range(2)]
    new = ColdItemBoost.of([("q", item) for item in ITEMS[::3]], Strings.of(ITEMS))
    search = Sum([(0.25, parts[0].scaled()), (0.75, parts[1].scaled(slope=2.0)), (height, new)], depth=12)
    where = set(ITEMS[::2]) if filtered else None
    found, together = search(TEXTS, 7, where=where), search(TEXTS, 7, where=where, threads=2)
    assert found == together
    for row, query in enumerate(TEXTS):
        lists = [part(query, 12, where=where).ids[0] for part in parts]
        expected = {
            item: 0.25 * one + 1.5 * two + height * (item not in ITEMS[::3])
            for item in dict.fromkeys([*lists[0], *lists[1]])
            for one, two in [[part.score(query, part.exact(query, 40)).to_dict()["0"][item] for part in parts]]
        }
        best = sorted(expected.items(), key=lambda pair: (-np.float32(pair[1]), ITEMS.index(pair[0])))[:7]
        assert [hit.id for hit in found[row]] == [item for item, _ in best]
        assert [hit.score for hit in found[row]] == pytest.approx([score for _, score in best], rel=1e-6)


def test_laws_1_to_4_hold_for_a_sum_that_lifts():
    parts = [sparse_part(seed) for seed in range(2)]
    new = ColdItemBoost.of([("q", item) for item in ITEMS[::3]], Strings.of(ITEMS))
    search = Sum([(0.5, parts[0].scaled()), (0.5, parts[1].scaled()), (1.5, new)], depth=40)
    everything = search(TEXTS, 40)
    for where in (None, set(ITEMS[::2])):
        found = search(TEXTS, 9, where=where)
        assert search(TEXTS, 4, where=where) == found.top(4)
        assert search.score(TEXTS, found, where=where) == found
        for row, query in enumerate(TEXTS):
            kept = [hit for hit in everything[row] if where is None or hit.id in where]
            assert [(hit.id, hit.score) for hit in found[row]] == [(hit.id, hit.score) for hit in kept[:9]]
            for hit in found[row][:2]:
                why = search.explain(query, hit.id, where=where)
                assert sum(part.score for part in why.parts) == pytest.approx(hit.score, abs=1e-5)
                assert "ColdItemBoost(26 of 40 items)" in why.parts[2].reason


def test_parts_may_number_their_items_differently():
    parts = [sparse_part(0), sparse_part(1, items=ITEMS[::-1])]
    clicks = [("q", item) for item in ITEMS[::3]]
    one, other = (
        Sum(
            [(0.5, parts[0].scaled()), (0.5, parts[1].scaled()), (1.5, ColdItemBoost.of(clicks, Strings.of(items)))],
            depth=40,
        )
        for items in (ITEMS, ITEMS[::-1])
    )
    assert one(TEXTS, 9) == other(TEXTS, 9)


def test_clicks_that_all_learners_take_end_a_lift():
    given = log()
    adapted = pefa_xs(tfidf(given), given, weight=0.5, calibrated=False)
    search = Sum([(1.0, adapted.scaled()), (0.5, cold_item_boost(log()))])
    more = search.with_clicks([("violet", "plum")])
    assert lifted(more.parts[1]) == ["leek"]
    assert lifted(more.without_clicks([("violet", "plum")]).parts[1]) == ["plum", "leek"]


def test_a_lift_stays_while_a_part_misses_the_clicks():
    """XR-Linear takes no clicks later: it would still rank the item far down."""
    tree = xrlinear(log())
    given = log()
    adapted = pefa_xs(tfidf(given), given, weight=0.5, calibrated=False)
    both = Sum([(1.0, adapted.scaled()), (1.0, tree.scaled("exp")), (0.5, cold_item_boost(log()))])
    assert lifted(both.with_clicks([("violet", "plum")]).parts[2]) == ["plum", "leek"]
    with pytest.raises(InputError, match="must have a part that takes clicks"):
        Sum([(1.0, bm25(log()).scaled()), (1.0, tree.scaled("exp")), (0.5, cold_item_boost(log()))]).with_clicks(
            [("a", "plum")]
        )


def test_refitted_it_counts_the_other_clicks():
    assert lifted(cold_item_boost(log()).refit_on(Dataset.of(log().items, clicks=[("long", "leek")]))) == [
        "fig",
        "pear",
        "plum",
    ]
