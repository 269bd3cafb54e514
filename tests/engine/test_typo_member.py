"""Typo tolerance in an engine: after every change the answers are those of a fresh build, and new words are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.word_world import World, changes, check, texts
from vizsla import Engine
from vizsla.base.recipe import Recipe
from vizsla.engine.typo_member import TypoTolerantMember
from vizsla.text.analyzers import Analyzer, AnyLanguage, analyzer_of

ANALYZERS = {
    "english": AnyLanguage("english"),
    "words": Analyzer(),
    "stop words": Analyzer(stop_words="english"),
    "stemmed": Analyzer(stop_words="english", stem="english"),
    "mixed": AnyLanguage(["english", "german"]),
}
TYPED = ["runnign dgo", "natoin the huose", "figg tere", "Hundd huase", "nationl runing", "dog house", "dogs treehouse"]


class TypoWorld(World):
    def __init__(self, analyzer, folder):
        super().__init__(
            TypoTolerantMember, Recipe.of("typo_tolerant", base=Recipe.of("bm25", analyzer=analyzer)), folder
        )
        self.fixed = Recipe.of("typo_tolerant", base=Recipe.of("bm25", analyzer=analyzer_of(self.settled["analyzer"])))


@pytest.mark.parametrize("analyzer", ANALYZERS)
@given(changes=changes, queries=st.lists(texts, max_size=2), seed=st.integers(0, 2**16))
@settings(max_examples=12, deadline=None)
def test_answers_are_those_of_a_fresh_build(tmp_path_factory, analyzer, changes, queries, seed):
    world = TypoWorld(ANALYZERS[analyzer], tmp_path_factory.mktemp("segments"))
    for change in changes:
        world.apply(*change)
    allowed = np.random.default_rng(seed).random(len(world.live)) < 0.5
    check(world, [*queries, *TYPED], allowed & np.array(world.live, np.bool_))


def test_words_of_new_items_are_known_at_once_and_those_of_deleted_ones_are_not(tmp_path):
    members = {"words": Recipe.of("bm25"), "typos": Recipe.of("typo_tolerant", base="words")}
    with Engine.create(tmp_path / "engine", members=members, default="typos") as engine:
        engine.add({"zoo": "a red fox", "tree": "a fig tree"})
        assert engine("firefx").ids == [[]]
        engine.add({"browser": "the firefox browser"})
        found = engine("firefx")
        assert found.ids == [["browser"]]
        assert found.hints == ("Did you mean 'firefox'?",)
        assert "'firefox' for 'firefx': 1 edit" in str(engine.explain("firefx", "browser"))
        engine.flush()
        with Engine.open(tmp_path / "engine") as other:
            assert other("firefx").ids == [["browser"]]
        engine.delete(["browser"])
        assert engine("firefx").ids == [[]]
        assert engine("firefx").hints == ()


def test_two_stop_words_are_never_meant(tmp_path):
    texts = {"a": "so it is no good, the fig tree", "b": "no one is so tall", "c": "an apple tree"}
    members = {"typos": Recipe.of("typo_tolerant", base=Recipe.of("bm25"))}
    with Engine.create(tmp_path / "engine", members=members) as engine:
        engine.add(texts)
        assert engine.search("sono").hints == ()
        assert engine.search("thefig").hints == ("Did you mean 'the fig'?",)
