"""Clicks count at once: a process that followed every change answers as one that has just opened the engine."""

import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.model import WORDS, Model
from vizsla import Recipe
from vizsla.base.encoder import FunctionEncoder
from vizsla.engine.engine import Engine
from vizsla.errors import InputError

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None


def counts(texts):
    return [[1.0 + text.split().count(word) for word in WORDS] for text in texts]


def members():
    encoder = FunctionEncoder(counts, dim=len(WORDS), name="counts of words")
    return {
        "words": Recipe.of("bm25"),
        "meaning": Recipe.of("dense", encoder=encoder),
        "clicks": Recipe.of("pefa", base="words", variant="xl", encoder=encoder),
        "moved": Recipe.of("pefa", base=Recipe.of("dense", encoder=encoder), variant="xs"),
        "best": "0.4*words.normalized() + 0.6*clicks.normalized()",
    }, {"encoder": encoder}


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32))
def test_a_process_that_followed_all_changes_answers_as_one_that_opens_anew(seed):
    chance = random.Random(seed)
    recipes, bindings = members()
    model = Model(chance, recipes)
    with tempfile.TemporaryDirectory(dir=MEMORY) as base:
        folder = Path(base) / "engine"
        options = {"metadata": {"price": "number", "brand": "text"}, "flush_rows": 10, "maintenance": "manual"}
        engine = Engine.create(folder, members=recipes, default="best", durability="process", **options)
        assert {name: each.type for name, each in engine.generation().definitions.items()} == {
            name: "composite" if name == "best" else "live" for name in recipes
        }
        for step in range(40):
            model.change(engine)
            if model.items and chance.random() < 0.5:
                click = (model.text(), chance.choice(list(model.items)), 1.0, 1.0)
                engine.click(*click)
                model.clicks.append(click)
            if chance.random() < 0.1:
                model.forget(engine)
            if chance.random() < 0.1:
                engine.flush()
            if step % 8 == 7:
                compare(engine, folder, bindings, [model.text() for _ in range(3)])
        engine.close()


def compare(engine, folder, bindings, queries):
    with Engine.open(folder, bindings=bindings, maintenance="manual") as fresh:
        for name in fresh.members:
            one, other = engine.search(queries, 20, using=name), fresh.search(queries, 20, using=name)
            assert one.ids == other.ids, name
            assert np.array_equal(one.scores, other.scores), name


def test_a_click_lifts_its_item_until_it_is_forgotten(tmp_path):
    recipes, bindings = members()
    with Engine.create(tmp_path / "engine", members=recipes, default="clicks", maintenance="manual") as engine:
        engine.add({str(number): f"{word} {WORDS[number - 1]}" for number, word in enumerate(WORDS)})
        assert "9" not in engine.search("kiwi fig", 1).ids[0]
        before = engine.search("kiwi fig", 20).to_dict()
        for _ in range(3):
            engine.click("kiwi fig", "9")
        assert engine.search("kiwi fig", 1).ids == [["9"]]
        with Engine.open(tmp_path / "engine", bindings=bindings, maintenance="manual") as other:
            assert other.search("kiwi fig", 1).ids == [["9"]]
            engine.upsert({"9": "a changed text"})
            assert other.search("kiwi fig", 1).ids == [["9"]]
            engine.delete_clicks(query="kiwi fig")
            assert "9" not in other.search("kiwi fig", 1).ids[0]
        engine.upsert({"9": f"{WORDS[9]} {WORDS[8]}"})
        assert set(engine.search("kiwi fig", 20).to_dict()["0"]) == set(before["0"])


def test_a_correction_that_was_never_built_is_what_it_corrects(tmp_path):
    made = {
        "words": Recipe.of("bm25"),
        "later": Recipe.of("pefa", base="words", variant="xs", weight=0.5, calibrated=False),
    }
    with Engine.create(tmp_path / "engine", members=made, maintenance="manual") as engine:
        engine.add({"f": "a fig", "p": "a pear"})
        assert engine.generation().definitions["later"].type == "static"
        assert engine.search("fig").to_dict() == engine.search("fig", using="words").to_dict()
        engine.click("sweet", "p")
        engine.rebuild()
        assert engine.stats()["members"]["later"]["clicks_since"] == 0
        assert engine.search("sweet").ids == [["p"]]
        engine.delete("p")
        assert engine.search("sweet").ids[0] in ([], ["f"])


def test_a_member_over_a_recipe_of_its_own_must_be_built_first(tmp_path):
    recipe = Recipe.of("pefa", base=Recipe.of("bm25"), variant="xs", weight=0.5, calibrated=False)
    with Engine.create(tmp_path / "engine", members={"clicks": recipe}, maintenance="manual") as engine:
        engine.add({"f": "a fig", "p": "a pear"})
        with pytest.raises(InputError, match="must be built first"):
            engine.search("fig")
        engine.rebuild()
        assert engine.search("fig").ids == [["f"]]
