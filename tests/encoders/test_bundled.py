"""Models inside artifacts: the folder moves as one thing, nothing is unpickled, and references go the short way."""

from __future__ import annotations

import json
import pickle
import shutil

import numpy as np
import pytest

import vizsla
from tests.artifacts.signing import read_manifest, write_manifest
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.encoders.small_onnx import write_small_onnx
from vizsla.artifacts.inspect import check, inspect
from vizsla.base.encoder import FunctionEncoder
from vizsla.cli import main
from vizsla.encoders import persistence as model_files_module
from vizsla.encoders.onnx import OnnxEncoder
from vizsla.encoders.persistence import BundledModel, LazyEncoder, model_files
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xl, pefa_xs

LOG = [(CLICKED[query], item) for query, item, _ in CLICKS]


def adapted(base, encoder=None):
    return pefa_xl(base, LOG, encoder=encoder, weight=0.4, neighbors=5, votes="mean", near=0.0, threshold=0.0)


def composed(encoder):
    """A composition in which the encoder is held by four parts."""
    base = dense(ITEMS, encoder)
    moved = pefa_xs(dense(ITEMS, encoder), LOG, weight=0.5, calibrated=True)
    return (base | adapted(base) | bm25(ITEMS)) >> moved


@pytest.fixture
def model(tmp_path):
    return write_small_onnx(tmp_path / "models" / "small")


def test_a_composition_with_its_model_moves_as_one_folder(model, tmp_path):
    built = composed(OnnxEncoder(model))
    expected = built(QUERIES, k=9)
    saved = built.save(tmp_path / "saved")
    assert len(list(saved.rglob("model.onnx.raw"))) == 1, "four parts hold it, it lies there once"
    moved = saved.rename(tmp_path / "elsewhere")
    shutil.rmtree(model.parent)
    loaded = vizsla.load(moved)
    assert check(moved) == [] and loaded(QUERIES, k=9) == expected
    sides = loaded.first.parts
    assert sides[0].encoder is sides[1].encoder is sides[1].base.encoder is loaded.scorer.encoder
    assert isinstance(sides[0].encoder, BundledModel) and repr(sides[0].encoder).startswith("BundledModel(onnx, 8 dim")
    shutil.rmtree(moved)
    assert vizsla.load(loaded.save(tmp_path / "again"))(QUERIES, k=9) == expected


def test_bundled_files_are_listed_with_size_and_checksum(model, tmp_path):
    saved = dense(ITEMS, OnnxEncoder(model)).save(tmp_path / "saved")
    files = inspect(saved).parents["encoder"].files
    assert {name: size for name, size in files.items() if name.endswith(".raw")} == {
        f"{name}.raw": (model / name).stat().st_size for name in ("model.onnx", "tokenizer.json", "encoder.json")
    }
    text = (saved / "encoder" / "manifest.json").read_text()
    assert str(tmp_path) not in text + (saved / "manifest.json").read_text(), "no path of this machine"


def test_only_small_onnx_models_go_in_unasked(model, tmp_path, monkeypatch):
    built = dense(ITEMS, OnnxEncoder(model))
    monkeypatch.setattr(model_files_module, "MAX_BUNDLED_BYTES", 100)
    assert not (built.save(tmp_path / "outside") / "encoder").exists()
    assert (built.save(tmp_path / "inside", bundle_models=True) / "encoder").exists()
    monkeypatch.undo()
    assert not (built.save(tmp_path / "unwanted", bundle_models=False) / "encoder").exists()
    stays = vizsla.load(tmp_path / "inside").save(tmp_path / "stays", bundle_models=False)
    assert (stays / "encoder").exists(), "what is inside stays inside"
    for name in ("outside", "inside", "unwanted", "stays"):
        assert vizsla.load(tmp_path / name)(QUERIES, k=5) == built(QUERIES, k=5)


def test_a_model_outside_is_named_by_the_way_to_it(model, tmp_path):
    built = dense(ITEMS, OnnxEncoder(model))
    saved = built.save(tmp_path / "together" / "artifacts" / "saved", bundle_models=False)
    named = read_manifest(saved)["parameters"]["encoder"]
    assert named["path"] == "../../../models/small" and "name" not in named
    (tmp_path / "models").rename(tmp_path / "together" / "models")
    with pytest.raises(InputError, match="must hold"):
        vizsla.load(saved)("fig")
    again = vizsla.load(_renamed_parent(saved, tmp_path, "../../models/small"))
    assert isinstance(again.encoder, LazyEncoder) and again(QUERIES, k=5) == built(QUERIES, k=5)
    once_more = again.save(tmp_path / "flat", bundle_models=False)
    assert read_manifest(once_more)["parameters"]["encoder"]["path"] == "../moved/models/small"
    assert not (again.save(tmp_path / "still outside") / "encoder").exists(), "only the artifact names it"
    whole = again.save(tmp_path / "bundled", bundle_models=tmp_path / "moved" / "models" / "small")
    assert (whole / "encoder").exists(), "a model that was never loaded can go in"


def _renamed_parent(saved, tmp_path, path):
    manifest = read_manifest(saved)
    manifest["parameters"]["encoder"]["path"] = path
    write_manifest(saved, manifest)
    (tmp_path / "together").rename(tmp_path / "moved")
    return tmp_path / "moved" / "artifacts" / "saved"


def test_a_retriever_with_a_model_pickles(model, tmp_path):
    built = dense(ITEMS, OnnxEncoder(model))
    assert pickle.loads(pickle.dumps(built))(QUERIES, k=5) == built(QUERIES, k=5)
    bundled = vizsla.load(built.save(tmp_path / "saved"))
    shutil.rmtree(tmp_path / "saved")
    shutil.rmtree(model)
    assert pickle.loads(pickle.dumps(bundled))(QUERIES, k=5) == built(QUERIES, k=5)


def test_another_model_inside_is_noticed(model, tmp_path):
    saved = dense(ITEMS, OnnxEncoder(model)).save(tmp_path / "saved")
    other = dense(ITEMS, OnnxEncoder(write_small_onnx(tmp_path / "other", seed=1))).save(tmp_path / "others")
    loaded = vizsla.load(saved)
    loaded.encoder.files = vizsla.load(other).encoder.files
    with pytest.raises(FormatError, match="inside the artifact must be the one that the vectors were made with"):
        loaded("fig")


REFUSED = ["pytorch_model.bin", "x.pt", "x.pkl", "a.py", "../x.json", "/x.json", ".x.json", "x", ""]


@pytest.mark.parametrize("path", REFUSED)
def test_a_prepared_model_may_hold_nothing_but_weights_and_tokenizers(path, tmp_path):
    description = {"kind": "sentence", "dim": 3, "fingerprint": "sentence:0", "options": {}}
    with pytest.raises(InputError, match="A model's file must"):
        BundledModel(description, {path: np.zeros(1, np.uint8)})
    saved = BundledModel(description, {"config.json": np.zeros(1, np.uint8)}).save(tmp_path / "saved")
    manifest = read_manifest(saved)
    manifest["parameters"]["files"] = {path: "config.json"}
    write_manifest(saved, manifest)
    with pytest.raises(FormatError, match="A model's file must"):
        vizsla.load(saved)


def sentence_folder(folder, *weights):
    (folder / "1_Pooling").mkdir(parents=True)
    names = ["config.json", "tokenizer.json", "vocab.txt", "README.md", "own.py", "1_Pooling/config.json", *weights]
    for name in names:
        (folder / name).write_bytes(b"{}")
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    listed = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in modules]
    (folder / "modules.json").write_text(json.dumps(listed))
    return str(folder)


def test_the_files_of_a_sentence_model(tmp_path):
    folder = sentence_folder(tmp_path / "model", "model.safetensors", "pytorch_model.bin", "model.onnx")
    assert sorted(model_files("sentence", folder)) == [
        "1_Pooling/config.json", "config.json", "model.safetensors", "modules.json", "tokenizer.json", "vocab.txt",
    ]  # fmt: skip


@pytest.mark.parametrize("weights", ["pytorch_model.bin", "1_Pooling/model.pt"])
def test_pickled_weights_are_refused(tmp_path, weights):
    folder = sentence_folder(tmp_path / "model", weights)

    class Named(FunctionEncoder):
        reference = {"kind": "sentence", "name": folder, "options": {}}  # noqa: RUF012

    built = dense(ITEMS, Named(lambda texts: np.ones((len(texts), 3)), dim=3, name="named"))
    with pytest.raises(InputError, match=r"as safetensors.*a pickle"):
        built.save(tmp_path / "saved", bundle_models=True)
    assert not (tmp_path / "saved").exists()
    built.save(tmp_path / "saved")


def letters(name="letters", dim=26):
    alphabet = "abcdefghijklmnopqrstuvwxyz"[:dim]
    return FunctionEncoder(lambda texts: [[t.count(c) for c in alphabet] for t in texts], dim=dim, name=name)


WITH = {
    "rerank": lambda: dense(ITEMS, letters()) >> bm25(ITEMS),
    "scorer": lambda: bm25(ITEMS) >> dense(ITEMS, letters()),
    "union": lambda: (bm25(ITEMS) | dense(ITEMS, letters())) >> bm25(ITEMS),
    "sum": lambda: dense(ITEMS, letters()) + 0.5 * dense(ITEMS, letters()),
    "normalized": lambda: dense(ITEMS, letters()).normalized() + bm25(ITEMS).normalized(),
    "cut": lambda: dense(ITEMS, letters()) % 5,
    "pefa-xs": lambda: pefa_xs(dense(ITEMS, letters()), LOG, weight=0.5, calibrated=True) % 5,
    "pefa-xl": lambda: adapted(dense(ITEMS, letters())) % 5,
    "pefa-xl over a composition": lambda: adapted(bm25(ITEMS) >> dense(ITEMS, letters()), letters()),
    "pefa-xl over its own": lambda: adapted(dense(ITEMS, letters("other", 9)) % 20, letters()),
}


@pytest.mark.parametrize("make", WITH.values(), ids=WITH)
def test_every_composition_takes_its_encoder_back(make, tmp_path):
    built = make()
    loaded = vizsla.load(built.save(tmp_path / "saved"))
    with pytest.raises(InputError, match="with_encoder"):
        loaded(QUERIES)
    with pytest.raises(InputError, match=r"must be one that .* was built with \('function|built with \('bag-of-words"):
        loaded.with_encoder(letters("another"))
    given = loaded.with_encoder(letters())
    if "function:other:9" in str(inspect(tmp_path / "saved")):
        given = given.with_encoder(letters("other", 9))
    assert type(given) is type(built) and given(QUERIES, k=5) == built(QUERIES, k=5)


def test_parts_that_are_one_object_stay_one(tmp_path):
    base = dense(ITEMS, letters())
    loaded = vizsla.load((base >> base).save(tmp_path / "saved"))
    assert loaded.first is loaded.scorer
    given = loaded.with_encoder(letters())
    assert given.first is given.scorer and given.first is not loaded.first


@pytest.mark.parametrize(("flags", "inside"), [([], True), (["--bundle-model"], True), (["--no-bundle-model"], False)])
def test_the_commands_bundle(model, tmp_path, capsys, flags, inside):
    data = tmp_path / "items.jsonl"
    data.write_text("".join(json.dumps({"id": item, "text": text}) + "\n" for item, text in ITEMS.items()))
    out, whole = tmp_path / "out", tmp_path / "whole"
    assert main(["index", "dense", str(data), "-o", str(out), "--encoder", str(model), *flags]) == 0
    assert (out / "encoder").exists() == inside
    assert main(["compose", "a % 3", "--let", f"a={out}", "-o", str(whole), *flags]) == 0
    assert (whole / "part0" / "encoder").exists() == inside
    assert main(["inspect", str(whole)]) == 0 and main(["check", str(whole)]) == 0
    assert ("model.onnx.raw" in capsys.readouterr().out) == inside
