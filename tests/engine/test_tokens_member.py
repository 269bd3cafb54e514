"""Tokens as a live member: every answer is that of an index of the live texts, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.word_world import ENGLISH, World, changes, check, texts
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import Dataset
from vizsla.engine.tokens_member import TokensMember
from vizsla.errors import FormatError, InputError
from vizsla.text.analyzers import Analyzer, AnyLanguage

ANALYZERS = {
    "words": None,
    "english": AnyLanguage("english"),
    "stemmed": Analyzer(stop_words="english", stem="english"),
    "chars": Analyzer("chars"),
}


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("analyzer", ANALYZERS)
@given(changes=changes, queries=st.lists(texts, min_size=1, max_size=3), seed=st.integers(0, 2**16))
@settings(max_examples=12, deadline=None)
def test_answers_are_those_of_a_fresh_build(tmp_path_factory, b, analyzer, changes, queries, seed):
    recipe = Recipe.of("tokens", epochs=0, b=b, analyzer=ANALYZERS[analyzer])
    world = World(TokensMember, recipe, tmp_path_factory.mktemp("segments"))
    for change in changes:
        world.apply(*change)
    allowed = np.random.default_rng(seed).random(len(world.live)) < 0.5
    check(world, [*queries, "the dog runs", "der Hund", ""], allowed & np.array(world.live, np.bool_))


def test_a_larger_catalog_with_pruning(tmp_path):
    rng = np.random.default_rng(5)
    vocabulary = [f"word{number}" for number in range(3000)]
    weights = 1 / np.arange(1, 3001)

    def made(count):
        ends = np.cumsum(rng.integers(5, 60, count))
        words = rng.choice(vocabulary, size=ends[-1], p=weights / weights.sum())
        return [" ".join(part) for part in np.split(words, ends[:-1])]

    world = World(TokensMember, Recipe.of("tokens", epochs=0, b=0.7), tmp_path)
    for _ in range(3):
        world.apply("append", made(9000))
        world.remove(sorted(rng.choice(world.alive, 400, replace=False).tolist()))
        world.apply("flush", None)
    world.apply("append", made(200))
    queries = [" ".join(query.split()[:7]) for query in made(12)] + made(3)
    check(world, queries, (rng.random(len(world.live)) < 0.3) & np.array(world.live))


def test_what_is_settled():
    assert TokensMember.settle(Recipe.of("tokens", epochs=0), [], {})["b"] == 0.5
    assert TokensMember.settle(Recipe.of("tokens", epochs=0, b=0.2), [], {})["b"] == 0.2
    rng = np.random.default_rng(0)
    items = {str(number): " ".join(rng.choice(ENGLISH, rng.integers(2, 20))) for number in range(60)}
    clicks = [(" ".join(rng.choice(ENGLISH, 2)) + f" {number}", str(rng.integers(60))) for number in range(150)]
    dataset = Dataset.of(items, clicks=clicks)
    assert (
        TokensMember.settle_on(Recipe.of("tokens", epochs=0), dataset, {})["b"]
        == Recipe.of("tokens", epochs=0).build(dataset).b
    )


def test_recipes_that_are_exact():
    assert TokensMember.accepts(Recipe.of("tokens", epochs=0))
    assert TokensMember.accepts(Recipe.of("tokens", epochs=0, analyzer=AnyLanguage("german")))
    assert not TokensMember.accepts(Recipe.of("tokens"))
    assert not TokensMember.accepts(Recipe.of("tokens", epochs=0, analyzer=AnyLanguage()))
    assert not TokensMember.accepts(Recipe.of("tokens", epochs=0, analyzer=AnyLanguage(["german", "english"])))
    with pytest.raises(InputError, match="recipe"):
        TokensMember(Recipe.of("bm25"), {"analyzer": Analyzer().to_dict(), "b": 0.5}, {})


def test_a_length_that_no_item_can_have_raises(tmp_path):
    world = World(TokensMember, Recipe.of("tokens", epochs=0), tmp_path)
    world.apply("append", ["a fig tree", "a tree"])
    world.apply("flush", None)
    file = world.stored[0][0] / "lengths.npy"
    sound = file.read_bytes()
    file.unlink()
    file.write_bytes(sound[:-8] + b"\xff" * 8)
    member = TokensMember(world.recipe, world.settled, {})
    member.open([world.stored[0][0]], [2])
    with pytest.raises(FormatError, match="longer"):
        member.view(None).search(Queries(["fig"]), 1, None, 1)
