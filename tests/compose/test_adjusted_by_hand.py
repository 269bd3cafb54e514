"""Adjusted answers against their definition: every item's score is added up by hand, for any synonyms and rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.table_retriever import TableRetriever
from vizsla import Dataset, adjust
from vizsla.compose.adjustments import MAX_ENTRIES, MAX_WORDS, PINNED, Adjusted, Adjustments, Rule, Synonyms
from vizsla.compose.confidence import (
    MIN_CLICKED_HITS,
    _logistic,
    ascending,
    calibration_error,
    fit,
    leaves,
)
from vizsla.compose.signal import Signal, describe_signal, signal
from vizsla.errors import DataError, InputError

IDS = list("abcdef")
ROWS = [{"id": id, "text": id, "price": price, "brand": brand} for id, price, brand in
        zip(IDS, [1, 2, 3, 4, None, 5], ["x", "y", "x", "y", "x", "y"], strict=True)]  # fmt: skip
SHOP = Dataset.of(ROWS)
TABLE = {
    "tv": {"a": 3.0, "b": 2.0, "c": 1.0},
    "television": {"c": 4.0, "d": 2.0},
    "telly": {"e": 1.0, "a": 0.5},
    "flat tv": {"f": 2.0},
    "flat screen": {"b": 7.0},
    "lamp": {"f": 1.0},
}
PRICES = {"a": 0.0, "b": 0.25, "c": 0.5, "d": 0.75, "e": 0.0, "f": 1.0}


def base():
    search = TableRetriever(TABLE, IDS, scale="points")
    search._items = SHOP.item_ids  # with metadata
    return search


RULES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "query": st.sampled_from(["tv", " TV", "flat  tv", "lamp"]),
            "pattern": st.sampled_from(["^tv", "TV$", "x"]),
            "pin": st.lists(st.sampled_from([*IDS, "gone"]), max_size=3),
            "ban": st.lists(st.sampled_from([*IDS, "gone"]), max_size=2),
            "boost": st.sampled_from(["price > 2", "brand = x"]),
            "by": st.sampled_from([-0.5, 0.25, 2.0]),
        },
    ).filter(lambda rule: rule.get("pin") or rule.get("ban") or rule.get("boost")),
    max_size=3,
)
FULFILLED = {"price > 2": set("cdf"), "brand = x": set("ace"), None: set()}
PATTERNS = {"^tv": {"tv"}, "TV$": {"tv", "flat tv"}, "x": set()}


def applies(rule, query):
    """A query of its own counts before a pattern; a rule without either is for every query."""
    if rule.get("query"):
        return " ".join(rule["query"].lower().split()) == query
    return "pattern" not in rule or query in PATTERNS[rule["pattern"]]


def by_hand(asked, query, rules, weight, allowed):
    """Return (id, score) of all that is found, best first: pins, then sums over what the searches of the base found."""
    mine = [rule for rule in rules if applies(rule, query)]
    banned = {id for rule in mine for id in rule.get("ban", ())}
    allowed = [id for id in allowed if id not in banned]
    pins = [id for id in dict.fromkeys(id for rule in mine for id in rule.get("pin", ())) if id in allowed]
    found = {id for text in asked for id in TABLE.get(text, {}) if id in allowed} | set(pins)
    scores = {}
    for id in found:
        total = sum(share * TABLE.get(text, {}).get(id, 0.0) for text, share in asked.items()) + weight * PRICES[id]
        total += sum(rule.get("by", 0.0) for rule in mine if id in FULFILLED[rule.get("boost")])
        scores[id] = PINNED - pins.index(id) if id in pins else total
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


@settings(max_examples=60)
@given(
    RULES, st.sampled_from(["tv", "flat tv", "lamp"]), st.sampled_from([0.0, -2.0, 0.5]),
    st.sets(st.sampled_from(IDS), min_size=1), st.integers(1, 6),
)  # fmt: skip
@example([{"pin": ["d", "a"], "ban": ["a"]}, {"query": "tv", "pin": ["f"], "boost": "brand = x", "by": 2.0}], "tv", 0.5, set(IDS), 6)  # noqa: E501  # fmt: skip
@example([], "flat tv", 0.0, set(IDS), 6)
@example([{"pattern": "TV$", "pin": ["f", "b"]}], "flat tv", 0.0, set("bf"), 2)
@example([{"pattern": "TV$", "pin": ["f", "b"]}], "flat tv", 0.0, set("ab"), 6)
def test_every_item_has_the_sum_of_what_it_is_given(rules, query, weight, allowed, k):
    given = {"synonyms": ["tv, television^0.5, telly^2", "flat tv => flat screen, flat tv^0.25"], "rules": rules}
    if weight:
        given["signals"] = [{"field": "price", "weight": weight}]
    asked = {"tv": {"tv": 1.0, "television": 0.5, "telly": 2.0}, "flat tv": {"flat screen": 1.0, "flat tv": 0.25}}
    search = adjust(base(), given)
    wanted = by_hand(asked.get(query, {query: 1.0}), query, rules, weight, allowed)
    found = search([query, query], k, where=sorted(allowed))
    for row in found.to_dict().values():
        assert list(row.items()) == [(id, pytest.approx(score, rel=1e-6)) for id, score in wanted[:k]]
    for id, score in wanted:
        why = search.explain(query, id, where=sorted(allowed))
        assert why.score == pytest.approx(score, rel=1e-6)
        if score < PINNED - len(IDS):
            assert sum(part.score for part in why.parts) == pytest.approx(score, rel=1e-6, abs=1e-6)
        else:
            assert f"pinned at place {round(PINNED - score) + 1} by" in str(why)
    again = Adjustments(search.adjustments.to_dict())
    assert again.to_dict() == search.adjustments.to_dict() and again.rules == search.adjustments.rules
    assert [rule.name for rule in again.rules_for(query)] == [
        f"rule {number}" for number, rule in enumerate(rules, 1) if applies(rule, query)
    ]


def test_rules_are_looked_up_again_for_each_query():
    shop = Adjustments({"rules": [{"query": "tv", "pin": ["a"]}, {"pattern": "a", "ban": ["b"]}, {"ban": ["c"]}]})
    for query, numbers in (("tv", [0, 2]), ("lamp", [1, 2]), ("TV ", [0, 2]), ("x", [2]), ("LAMP", [1, 2])):
        assert shop.rules_for(query) == [shop.rules[number] for number in numbers]


def test_what_an_adjusted_part_pins_comes_after_what_is_pinned_around_it():
    inner = adjust(base(), {"rules": [{"pin": ["f", "e"]}]})
    outer = adjust(inner, {"rules": [{"pin": ["d", "e"]}]})
    assert outer("tv", 4).ids == [["d", "e", "f", "a"]] and isinstance(outer.parts[0], Adjusted)
    assert outer("tv").to_dict()["0"]["d"] == 2 * PINNED and outer("tv").to_dict()["0"]["f"] == PINNED


def test_a_boost_reaches_items_beyond_the_depth():
    rules = [{"boost": "brand = y", "by": 5.0}]
    assert adjust(base(), {"rules": rules}, depth=1)("tv", 1).ids == [["b"]]
    with pytest.raises(InputError, match="Got 'color'"):
        adjust(base(), {"rules": [{"boost": "color = red", "by": 5.0}]})("tv")
    assert adjust(base(), {"rules": [{"boost": "brand = y"}]})("tv").to_dict() == base()("tv").to_dict()


# How synonyms are read.


@pytest.mark.parametrize(
    ("lines", "query", "text", "extra"),
    [
        (["tv, television", "tv, telly"], "TV", "TV", [("television", 1.0), ("telly", 1.0)]),
        (["tv, television^0.5", "tv, television^2"], "tv", "tv", [("television", 0.5)]),  # the first one counts
        (["a => x", "a b => y", "a b c => z"], "a b c a b a", "z y x", []),
        (["a => x, y"], "q a q", "q x y q", []),
        (["a => x^2"], "a", "", [("x", 2.0)]),
        (["a, x^0.5", "b, x^2", "c, x"], "a b c", "a b c", [("x", 2.0)]),
        (["b, x^2", "a, x^0.5"], "b a", "b a", [("x", 2.0)]),
        (["I  Pod => IPOD"], "my i pod", "my ipod", []),
        (["a", ",a,,b,"], "a", "a", [("b", 1.0)]),
        (["a, b # c", "#a, c", "c#, d"], "a c#", "a c#", [("b", 1.0), ("d", 1.0)]),
        (["a^100, b^0.001"], "b", "b", [("a", 100.0)]),
        ([" ".join("abcdefgh") + " => x"], "A b c d e f g h i", "x i", []),
        ([" ".join("abcdefghi") + " => x"], "a b c d e f g h i", "a b c d e f g h i", []),  # more than eight words
        (["x => y"], "a  b", "a  b", []),
    ],
)
def test_synonyms_are_applied_as_they_are_written(lines, query, text, extra):
    assert Synonyms.of(lines).applied(query) == (text, extra) and MAX_WORDS == 8


@pytest.mark.parametrize("line", ["a =>", "=> b", "a => ,", ", => b"])
def test_a_replacement_has_two_sides_and_its_line_is_named(line):
    with pytest.raises(DataError, match="syn.txt:3") as caught:
        Synonyms.of(["x, y", "", line], name="syn.txt")
    assert "two sides" in str(caught.value)


@pytest.mark.parametrize("weight", ["0", "-1", "100.1", "nan", "inf", "x", "1^2"])
def test_weights_of_synonyms_are_above_0_and_at_most_100(weight):
    with pytest.raises(InputError, match="above 0, and at most 100"):
        Synonyms.of([f"a, b^{weight}"])


def test_files_and_defaults_of_adjustments(tmp_path):
    (tmp_path / "s.txt").write_text("﻿a, b\n")
    assert Adjustments.of(str(tmp_path / "s.txt")).synonyms.added["a"] == [("b", 1.0)]  # without its byte order mark
    given = Adjustments({"signals": [{"field": "price"}], "rules": [{"boost": "price > 1"}]})
    assert given.signals == [{"field": "price", "weight": 1.0}] and given.rules == [Rule("rule 1", boost="price > 1")]
    assert Adjustments.of(given) is given and repr(given) == "Adjustments(0 synonyms, 1 signals, 1 rules)"
    assert given.to_dict()["rules"] == [{"name": "rule 1", "boost": "price > 1"}]


@pytest.mark.parametrize(
    "wrong",
    [
        [], "x", {"rules": [{"pin": ["a"], "colour": 1}]}, {"rules": [{"pin": [1]}]}, {"rules": [{"ban": "a"}]},
        {"rules": [{"boost": "price > 1", "by": True}]}, {"rules": [{"boost": "price > 1", "by": float("nan")}]},
        {"rules": [{"boost": "price > 1", "by": "2"}]}, {"rules": [{"pin": ["a"], "query": 3}]}, {"rules": ["a"]},
        {"rules": [{"pin": ["a"], "name": 3}]}, {"rules": [{"by": 2.0}]}, {"signals": [{"field": 3}]},
        {"signals": [{"field": "price", "weight": True}]}, {"signals": [{"field": "price", "weight": float("inf")}]},
        {"signals": [{"field": "price", "color": 1}]}, {"signals": [{"field": "price", "shape": "cubic"}]},
        {"synonyms": [1]}, {"synonyms": ["a, b"] * (MAX_ENTRIES + 1)}, {"rules": {"pin": ["a"]}},
    ],
)  # fmt: skip
def test_what_is_no_adjustment_is_refused(wrong):
    with pytest.raises(InputError):
        Adjustments(wrong)
    assert len(Adjustments({"synonyms": ["a, b"] * 9}).lines) == 9


# Signals.


def test_a_signal_says_what_it_is_made_of():
    settings = {"field": "price", "weight": 2.0, "shape": "log", "half_life_days": 3.0}
    assert describe_signal(SHOP.item_ids, settings, 2) == "signal price 3 (shape log, half_life_days 3.0)"
    assert describe_signal(SHOP.item_ids, {"field": "price"}, 4) == "signal price"
    assert describe_signal(SHOP.item_ids, {"field": "color"}, 0) == "signal color"
    price = signal(SHOP, "price")
    assert price.max_score == 1.0 and repr(price) == "Signal(price, 6 items)" and price.nbytes == 24
    assert price.recipe.settings == {"field": "price"}
    assert signal(SHOP, "price", shape="log").recipe.settings == {"field": "price", "shape": "log"}
    aged = signal(SHOP, "price", half_life_days=2.0, now=9.0)
    assert aged.recipe.settings == {"field": "price", "half_life_days": 2.0, "now": 9.0}
    for wrong in (np.ones(5, np.float32), np.ones(6), np.full(6, 1.1, np.float32), np.full(6, -0.1, np.float32), [1]):
        with pytest.raises(InputError, match="from 0 to 1"):
            Signal(SHOP.item_ids, wrong, "price")


# Confidence.


@pytest.mark.parametrize("clicks", [20, MIN_CLICKED_HITS - 1, MIN_CLICKED_HITS, 90])
def test_the_error_of_confidence_is_that_of_models_of_the_other_half(clicks):
    rng = np.random.default_rng(clicks)
    features, rows = rng.standard_normal((300, 7)), np.repeat(np.arange(75), 4)
    clicked = np.zeros(300, bool)
    clicked[np.argsort(-features[:, 0] - rng.standard_normal(300))[:clicks]] = True
    model, error = fit(features, clicked, rows, 5)
    even = np.random.default_rng(5).permutation(75) % 2 == 0  # queries, and so all hits of one, are on one side
    logits = np.empty(300)
    for side in (even, ~even):
        seen = np.isin(rows, np.flatnonzero(~side))
        logits[~seen] = _logistic(features[seen], clicked[seen]).logit(features[~seen])
    if clicks < MIN_CLICKED_HITS:
        assert error == pytest.approx(calibration_error(1 / (1 + np.exp(-logits)), clicked)) and not model.logits
        return
    points = ascending(logits, clicked)
    assert (model.logits, model.shares) == (tuple(points[0].tolist()), tuple(points[1].tolist()))
    wanted = 0.0
    for side in (even, ~even):
        own = np.isin(rows, np.flatnonzero(side))
        sure = np.interp(logits[own], *ascending(logits[~own], clicked[~own]))
        wanted += calibration_error(sure, clicked[own]) * own.mean()
    assert error == pytest.approx(wanted)


def test_parts_that_can_agree_are_the_different_leaves():
    one, other = base(), base()
    both = one + other
    assert [leaf.part for leaf in leaves(both)] == [one, other]
    assert leaves(one) == [] and leaves(one + 2 * one) == []  # one part agrees with nothing
    assert len(leaves((one | other) >> one)) == 2
    assert len(leaves(one.scaled() + 0.5 * Signal(SHOP.item_ids, np.ones(6, np.float32), "price"))) == 0
