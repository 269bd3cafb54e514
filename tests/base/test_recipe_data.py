"""Recipes as plain data: what is written is read again, nested as it may be, and no deeper or wider."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla import Dataset, bm25
from vizsla.base.recipe import BUILDERS, MAX_DEPTH, MAX_ENTRIES, Binding, Recipe, is_plain_mapping
from vizsla.errors import InputError, VizslaError
from vizsla.text import Analyzer, AnyLanguage

KINDS = st.sampled_from(sorted(BUILDERS))
NAMES = st.sampled_from(["k1", "parts", "weight", "fields"])
PLAIN = st.one_of(st.none(), st.booleans(), st.integers(-9, 9), st.floats(-1, 1), st.text("ab", max_size=3))
MAPPINGS = st.dictionaries(st.sampled_from(["title", "text"]), st.integers(1, 5), max_size=2)
LEAVES = st.one_of(
    PLAIN,
    MAPPINGS,
    st.builds(Binding, st.sampled_from(["encoder", "scorer"]), st.text("0f", min_size=1, max_size=4)),
    st.sampled_from([Analyzer(), Analyzer(stem="german"), AnyLanguage("english"), Analyzer(kind="chars")]),
)
SETTINGS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.builds(Recipe, KINDS, st.dictionaries(NAMES, inner, max_size=2)),
    ),
    max_leaves=6,
)


@given(st.builds(Recipe, KINDS, st.dictionaries(NAMES, SETTINGS, max_size=3)))
def test_what_is_written_as_json_is_read_again(recipe):
    again = Recipe.stored(json.loads(json.dumps(recipe.to_dict())))
    assert again == recipe and again.to_dict() == recipe.to_dict()


def nested(depth, value=1):
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_has_a_limit_for_lists_and_for_recipes():
    def deep(depth):
        made = {"recipe": "bm25", "settings": {}}
        for _ in range(depth):
            made = {"recipe": "bm25", "settings": {"part": made}}
        return made

    assert Recipe.stored(deep(MAX_DEPTH)).kind == "bm25"
    for wrong in (
        deep(MAX_DEPTH + 1),
        deep(MAX_DEPTH + 50),
        {"recipe": "bm25", "settings": {"part": nested(MAX_DEPTH + 1)}},
    ):
        with pytest.raises(InputError):
            Recipe.stored(wrong)
    lists = {"recipe": "bm25", "settings": {"part": nested(MAX_DEPTH)}}
    assert Recipe.stored(lists).settings["part"] == nested(MAX_DEPTH)


def test_a_mapping_of_names_has_a_limit():
    full = {f"n{number}": number for number in range(MAX_ENTRIES)}
    assert is_plain_mapping(full) and not is_plain_mapping(full | {"more": 1})
    assert not is_plain_mapping({"a": [1]}) and not is_plain_mapping({1: 1}) and is_plain_mapping({})


@pytest.mark.parametrize(
    "wrong",
    [
        {"recipe": "bm25"},
        {"settings": {}},
        {"recipe": "bm25", "settings": {}, "more": 1},
        {"recipe": "bm25", "settings": [1]},
        {"recipe": 3, "settings": {}},
        {"recipe": "bm25", "settings": {"a": {"binding": "x"}, "b": {}}},
        {"recipe": "bm25", "settings": {"a": {"mapping": {"x": [1]}}}},
        {"recipe": "bm25", "settings": {"a": {"analyzer": {"kind": "words"}}}},
        [],
        None,
    ],
)
def test_what_is_no_recipe(wrong):
    with pytest.raises(VizslaError):
        Recipe.from_dict(wrong)


def test_a_recipe_builds_what_it_was_taken_from_over_other_data():
    one = Dataset.of({"a": "a fig tree", "b": "a pear", "c": "the fig"})
    other = Dataset.of({"x": "fig fig jam", "y": "jam"})
    search = bm25(one, k1=0.4, b=0.2, analyzer=Analyzer(stem="english")).normalized("minmax", depth=7)
    recipe = Recipe.from_dict(json.loads(json.dumps(search.recipe.to_dict())))
    assert recipe.build(one)("figs", k=3) == search("figs", k=3)
    wanted = bm25(other, k1=0.4, b=0.2, analyzer=Analyzer(stem="english")).normalized("minmax", depth=7)
    assert recipe.build(other)("figs", k=3) == wanted("figs", k=3)
    assert wanted("figs", k=3).ids == [["x"]]
