"""Encoders are stored in the engine, and an engine is there whole or not at all."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vizsla import Engine, Recipe
from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.lsa import LsaEncoder
from vizsla.engine.follower import Follower
from vizsla.errors import RecipeError

TEXTS = {"f": "a green fig", "p": "a ripe pear", "q": "a quince jelly", "m": "plum and fig jam", "k": "kiwi and lime"}

READ = """
import sys
from vizsla import Engine
with Engine.open(sys.argv[1]) as engine:
    engine.add({"n": "a green pear"})
    engine.rebuild("coded")
    print(engine.search("green pear", 1, using="meaning").ids, engine.search("green pear", 1, using="clicks").ids)
    print(engine.search("green pear", 1, using="coded").ids)
"""


def test_another_process_needs_no_bindings(tmp_path):
    encoder = LsaEncoder.fit(TEXTS.values(), dim=4)
    recipes = {
        "meaning": Recipe.of("dense", encoder=encoder),
        "clicks": Recipe.of("pefa", base="meaning"),
        "coded": Recipe.of("dense", encoder=encoder, index="hnsw"),
    }
    with Engine.create(tmp_path / "engine", members=recipes) as engine:
        engine.add(TEXTS)
        definitions = engine.generation().definitions
        assert len({*definitions["meaning"].objects.values(), *definitions["coded"].objects.values()}) == 1
        engine.compact()
        engine.backup(tmp_path / "backup")
    for folder in ("engine", "backup"):
        ran = subprocess.run(
            [sys.executable, "-c", READ, str(tmp_path / folder)], capture_output=True, text=True, check=False
        )
        assert ran.stdout.split() == ["[['n']]"] * 3, ran.stderr


def test_an_encoder_that_cannot_be_saved_must_be_given(tmp_path):
    encoder = FunctionEncoder(lambda texts: [[len(text), 1.0] for text in texts], dim=2, name="lengths")
    with Engine.create(tmp_path / "engine", members={"meaning": Recipe.of("dense", encoder=encoder)}) as engine:
        engine.add(TEXTS)
    with pytest.raises(RecipeError, match=r"must be given `encoder` .* pass bindings="):
        Engine.open(tmp_path / "engine")
    with Engine.open(tmp_path / "engine", bindings={"encoder": encoder}) as engine:
        assert engine.search("fig", 5).ids[0]


@pytest.mark.parametrize("empty", [False, True])
def test_creation_that_is_stopped_leaves_nothing(tmp_path, monkeypatch, empty):
    folder = tmp_path / "engine"
    if empty:
        folder.mkdir()
    real, calls = Follower.current, []

    def stopped(self, **options):
        calls.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(Follower, "current", stopped)
    members = {
        "words": Recipe.of("bm25"),
        "letters": Recipe.of("tfidf"),
        "both": "words.normalized() + letters.normalized()",
    }
    with pytest.raises(KeyboardInterrupt):
        Engine.create(folder, members=members)
    assert calls and [path.name for path in tmp_path.rglob("*")] == (["engine"] if empty else [])
    monkeypatch.setattr(Follower, "current", real)
    with Engine.create(folder, members=members) as engine:
        assert list(engine.members) == [*members] and engine.generation().default == "both"
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]
