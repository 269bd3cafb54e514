"""An encoder that is named by its folder, its hub id or its address needs no bindings: each process finds it again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import vizsla
from tests.contract.catalog import WORDS
from tests.encoders.minilm import minilm_folder
from tests.encoders.small_onnx import write_small_onnx
from vizsla import Engine, Recipe
from vizsla.cli import main
from vizsla.encoders import OnnxEncoder, open_encoder
from vizsla.encoders.cache import EmbeddingStore
from vizsla.encoders.http import HttpEncoder
from vizsla.encoders.persistence import LazyEncoder
from vizsla.errors import InputError

TEXTS = {f"i{number}": f"{WORDS[number % len(WORDS)]} {WORDS[number * 3 % len(WORDS)]}" for number in range(30)}


@pytest.fixture
def model(tmp_path):
    return write_small_onnx(tmp_path / "models" / "small")


READ = """
import sys
from vizsla import Engine
with Engine.open(sys.argv[1]) as engine:
    print(engine.search(sys.argv[2], 1).ids[0][0])
"""


def read(engine, query: str) -> str:
    """Return the best item that another process finds, or its error: in this one models stay in memory."""
    command = [sys.executable, "-c", READ, str(engine), query]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.stdout.strip() or ran.stderr


def recipe_text(**settings) -> str:
    return json.dumps({"recipe": "dense", "settings": settings})


def test_the_shell_needs_a_name_only(tmp_path, monkeypatch, capsys, model):
    monkeypatch.chdir(tmp_path)
    Path("items.jsonl").write_text("".join(json.dumps({"id": id, "text": text}) + "\n" for id, text in TEXTS.items()))
    members = [
        f"flat={recipe_text(encoder='models/small')}",
        f"near={recipe_text(encoder={'name': 'models/small', 'query_prompt': WORDS[0] + ' '}, index='hnsw')}",
        'small={"recipe": "pq", "settings": {"base": ' + recipe_text(encoder="models/small") + ', "bytes": 2}}',
        "best=0.5*flat.normalized() + 0.5*near.normalized()",
    ]
    options = [part for member in members for part in ("--member", member)]
    assert main(["engine", "create", "shop", *options]) == 0
    assert main(["engine", "search", "shop", "fig"]) == 0
    assert "Nothing found" in capsys.readouterr().out
    assert main(["engine", "add", "shop", "items.jsonl"]) == 0
    encoder = open_encoder("models/small")
    prompted = open_encoder("models/small", query_prompt=WORDS[0] + " ")
    for name, known in (("flat", encoder), ("near", prompted), ("small", encoder)):
        capsys.readouterr()
        assert main(["engine", "search", "shop", TEXTS["i7"], "-k", "3", "--using", name, "--json"]) == 0
        hits = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        wanted = vizsla.dense(TEXTS, known)(TEXTS["i7"], 3)
        assert [hit["id"] for hit in hits] == wanted.ids[0]
        assert [hit["score"] for hit in hits] == pytest.approx(wanted.scores.tolist(), rel=1e-6)
    assert main(["engine", "search", "shop", "fig"]) == 0


@pytest.mark.parametrize("form", [str, Path, OnnxEncoder])
def test_python_takes_a_name_a_path_or_the_encoder(tmp_path, model, form):
    recipe = Recipe.of("dense", encoder=form(model))
    inner = Recipe.of("pefa", base=Recipe.of("dense", encoder=form(model)), variant="xs", weight=0.5)
    with Engine.create(tmp_path / "engine", members={"clicks": inner, "meaning": recipe}) as engine:
        engine.add(TEXTS)
        engine.click("quite another", "i3")
        expected = engine.search("fig", 5), engine.search("quite another", 1, using="clicks")
        engine.backup(tmp_path / "backup")
    for name in ("engine", "backup"):
        with Engine.open(tmp_path / name) as engine:
            assert (engine.search("fig", 5), engine.search("quite another", 1, using="clicks")) == expected
            assert isinstance(engine.objects[OnnxEncoder(model).fingerprint], LazyEncoder)
    assert read(tmp_path / "backup", "fig") == expected[0].ids[0][0]


def test_engine_and_model_may_move_together(tmp_path, model):
    with Engine.create(tmp_path / "engine", members={"meaning": Recipe.of("dense", encoder=str(model))}) as engine:
        engine.add(TEXTS)
        expected = engine.search("fig", 5)
    (tmp_path / "new").mkdir()
    for name in ("engine", "models"):
        shutil.move(tmp_path / name, tmp_path / "new" / name)
    with Engine.open(tmp_path / "new" / "engine") as engine:
        assert engine.search("fig", 5) == expected


def test_another_model_in_its_place_is_refused(tmp_path, model):
    with Engine.create(tmp_path / "engine", members={"meaning": Recipe.of("dense", encoder=str(model))}) as engine:
        engine.add(TEXTS)
    model.rename(model.with_name("gone"))
    assert "models/small" in read(tmp_path / "engine", "fig")
    write_small_onnx(model, seed=1)
    assert "must be the one that the vectors were made with" in read(tmp_path / "engine", "fig")


REBUILD = """
import sys
from vizsla import Engine
with Engine.open(sys.argv[1]) as engine:
    engine.search("words", using="words")
    engine.rebuild("near")
    print(engine.stats()["members"]["near"]["items_since"])
"""


def test_no_item_is_encoded_by_a_second_process(tmp_path, model):
    members = {
        "words": Recipe.of("bm25"),
        "meaning": Recipe.of("dense", encoder=str(model)),
        "near": Recipe.of("dense", encoder=str(model), index="hnsw"),
        "past": Recipe.of("pefa", base="meaning", variant="xl", weight=0.5),
    }
    with Engine.create(tmp_path / "engine", members=members, default="meaning") as engine:
        engine.add(TEXTS)
        engine.click("something sweet", "i3")
        engine.search("fig", using="near")
        engine.add({"late": TEXTS["i7"] + " fig"})
        engine.search("fig", using="past")
        assert engine.stats()["members"]["near"]["items_since"] == 1
        assert engine.stats()["bytes_on_disk"]["embeddings"] > 0
    model.rename(model.with_name("gone"))
    command = [sys.executable, "-c", REBUILD, str(tmp_path / "engine")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "0", ran.stderr
    model.with_name("gone").rename(model)


def test_erasing_leaves_no_vector_of_deleted_texts(tmp_path, model):
    with Engine.create(tmp_path / "engine", members={"meaning": Recipe.of("dense", encoder=str(model))}) as engine:
        engine.add(TEXTS)
        engine.search("fig")
        gone = engine.objects[OnnxEncoder(model).fingerprint].items([TEXTS["i7"]]).tobytes()
        kept = engine.objects[OnnxEncoder(model).fingerprint].items([TEXTS["i8"]]).tobytes()
        same = [id for id, text in TEXTS.items() if text == TEXTS["i7"]]
        engine.delete(same)
        engine.compact(erase=True)
        held = [file.read_bytes() for file in (tmp_path / "engine").rglob("*") if file.is_file()]
        assert not any(gone in each for each in held) and any(kept in each for each in held)
        store = EmbeddingStore(tmp_path / "engine" / "embeddings.sqlite")
        assert store.count(OnnxEncoder(model).fingerprint) == len({TEXTS[id] for id in engine.items})


def test_a_service_is_described_without_its_key_and_asked_when_allowed(tmp_path, monkeypatch):
    asked = []

    def rows(self, texts, side):
        if self._from_artifact:
            self._check_allowed()
        asked.append(texts)
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    monkeypatch.setattr(HttpEncoder, "_rows", rows)
    monkeypatch.setenv("THE_KEY", "secret-value")
    service = {"url": "http://127.0.0.1:9/v1/embeddings", "model": "m", "dim": 2, "key_variable": "THE_KEY"}
    with Engine.create(tmp_path / "engine", members={"far": Recipe.of("dense", encoder=service)}) as engine:
        engine.add({"f": "a fig"})
        assert engine.search("fig").ids == [["f"]]
    assert not any(b"secret-value" in file.read_bytes() for file in (tmp_path / "engine").rglob("*") if file.is_file())
    with Engine.open(tmp_path / "engine") as engine:
        with pytest.raises(InputError, match="VIZSLA_"):
            engine.search("fig")
        monkeypatch.setenv("VIZSLA_SERVICES", "http://127.0.0.1:9")
        assert engine.search("fig").ids == [["f"]]


def test_options_that_an_encoder_does_not_have_are_named(tmp_path, model):
    with pytest.raises(InputError, match="`encoder` must be a name, or have"):
        Engine.create(tmp_path / "e", members={"m": Recipe.of("dense", encoder={"name": str(model), "no": 1})})
    assert not (tmp_path / "e").exists()


def test_minilm_needs_no_bindings_in_another_process(tmp_path):
    folder = minilm_folder()
    with Engine.create(tmp_path / "engine", members={"meaning": Recipe.of("dense", encoder=folder)}) as engine:
        engine.add({"fig": "a green fig", "auto": "a fast automobile"})
        assert engine.search("a car", 1).ids == [["auto"]]
    assert read(tmp_path / "engine", "a car") == "auto"
