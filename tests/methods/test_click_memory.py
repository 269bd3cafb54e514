"""The memory of clicks, against counts by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from vizsla import Recipe, bm25, fuse, load
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.methods import ClickMemory, click_memory

DAY = 86_400.0
FRUIT = {"fig": "a sweet fruit", "pear": "a green fruit", "plum": "a blue fruit", "leek": "a long stalk"}
CLICKS = [("Sweet", "fig"), ("sweet ", "fig"), ("SWEET", "pear"), ("c++", "plum"), ("c", "leek")]


def scores(search: ClickMemory, query: str) -> dict[str, float]:
    return search(query).to_dict()["0"]


def test_a_score_is_the_share_of_the_querys_clicks_against_the_prior():
    search = click_memory(FRUIT, CLICKS, prior=2.0)
    assert scores(search, "  sweet") == pytest.approx({"fig": 2 / 5, "pear": 1 / 5})
    assert search.exact("sweet", 4).to_dict()["0"] == pytest.approx({"fig": 0.4, "pear": 0.2, "plum": 0, "leek": 0})
    assert search("sweet fruit").ids == [[]]


def test_signs_tell_queries_apart():
    search = click_memory(FRUIT, CLICKS)
    assert search(["C++", "C", "c+"]).ids == [["plum"], ["leek"], []]


def test_one_click_is_weak_and_twenty_are_strong():
    once, often = (scores(click_memory(FRUIT, [("q", "fig")] * n), "q")["fig"] for n in (1, 20))
    assert once == pytest.approx(1 / 4) and often == pytest.approx(20 / 23)


def test_random_logs_agree_with_counters():
    rng = np.random.default_rng(5)
    names = list(FRUIT)
    log = [(f"query {rng.integers(9)}", names[rng.integers(4)], float(rng.integers(1, 4))) for _ in range(200)]
    search, counted = click_memory(FRUIT, log[:120]).with_clicks(log[120:]).without_clicks(log[:50]), Counter()
    for query, item, weight in log[50:]:
        counted[query, item] += weight
    for query in {row[0] for row in log}:
        total = sum(weight for (text, _), weight in counted.items() if text == query)
        own = {item: weight / (total + 3) for (text, item), weight in counted.items() if text == query}
        assert scores(search, query.upper()) == pytest.approx(own)


def test_filters_and_ties():
    search = click_memory(FRUIT, [("q", item) for item in reversed(FRUIT)])
    assert search("q", 2).ids == [["fig", "pear"]]
    assert search("q", 2, where={"plum", "leek", "pear"}).ids == [["pear", "plum"]]


def test_explanations_say_the_score_and_the_counts():
    search = click_memory(FRUIT, CLICKS)
    assert str(search.explain("sweet", "fig")) == "0.3333  clicks for this query: 2 of 3, against a prior of 3"
    assert str(search.explain("sweet", "leek")) == "0.0000  clicks for this query: 0 of 3, against a prior of 3"
    assert str(search.explain("new", "fig")) == "0.0000  no clicks for this query"
    both = bm25(FRUIT).scaled() + 2.0 * search.scaled()
    why = both.explain("sweet", "fig")
    assert why.score == pytest.approx(sum(part.score for part in why.parts)) == both("sweet")[0][0].score


def test_old_clicks_count_half():
    log = [("q", "fig", 4.0, 0.0), ("q", "pear", 3.0, 2 * DAY)]
    search = click_memory(FRUIT, log, half_life=1.0)
    assert scores(search, "q") == pytest.approx({"pear": 3 / 7, "fig": 1 / 7})
    assert search.half_life == 1.0 and search.recipe.settings["half_life"] == 1.0
    dataset = Dataset.of(FRUIT, clicks=log)
    assert scores(search.recipe.build(dataset), "q") == scores(search, "q")
    assert scores(search.refit_on(dataset), "q") == scores(search, "q")


def test_items_come_and_go_with_their_clicks():
    search = click_memory(FRUIT, CLICKS).with_items({"kiwi": "a hairy fruit"}).with_clicks([("hairy", "kiwi")])
    left = search.without_items(["fig"])
    assert left(["sweet", "hairy", "c"]).ids == [["pear"], ["kiwi"], ["leek"]]
    assert scores(left, "sweet") == pytest.approx({"pear": 1 / 4})


def test_recipe_and_files_bring_it_back(tmp_path):
    dataset = Dataset.of(FRUIT, clicks=CLICKS)
    search = click_memory(dataset, prior=5.0)
    assert search.recipe == Recipe.of("click_memory", prior=5.0)
    search.save(tmp_path / "memory")
    for again in (load(tmp_path / "memory"), search.recipe.build(dataset)):
        assert again("sweet") == search("sweet") and again.prior == 5.0
    assert load(tmp_path / "memory").with_clicks([("new", "leek")])("new").ids == [["leek"]]


def test_fuse_uses_it_where_queries_repeat():
    """Texts say nothing about what is wanted; only what was clicked before for the same text does."""
    items = {f"i{n}": "same words here" for n in range(50)}
    log = [(f"same {n}", f"i{n}", 1.0, DAY * day) for day in range(8) for n in range(50)]
    dataset = Dataset.of(items, clicks=log)
    parts = {"words": bm25(items), "memory": click_memory(dataset)}
    found = fuse(parts, dataset)([f"same {n}" for n in range(50)], 1).ids
    assert sum(row == [f"i{n}"] for n, row in enumerate(found)) > 45


@pytest.mark.parametrize("prior", [0, -1.0, float("nan"), float("inf"), True])
def test_priors_are_above_0(prior):
    with pytest.raises(InputError, match="`prior` must be"):
        click_memory(FRUIT, CLICKS, prior=prior)


def test_what_is_wrong_is_said():
    with pytest.raises(InputError, match="`clicks` must be given"):
        click_memory(FRUIT)
    with pytest.raises(InputError, match="Got 'melon'"):
        click_memory(FRUIT, [("q", "melon")])
    with pytest.raises(InputError, match="every click must have a time"):
        click_memory(FRUIT, CLICKS, half_life=3.0)
    with pytest.raises(InputError, match="Only clicks that are there"):
        click_memory(FRUIT, CLICKS).without_clicks([("q", "fig")])
    assert click_memory(FRUIT, [])("sweet").ids == [[]]
