"""Models that an artifact names: they may be read and are checked, and are copied only if the caller names them."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

import vizsla
from tests.artifacts.signing import read_manifest, sign_above, write_manifest
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.encoders.small_onnx import write_small_onnx
from vizsla.cli import main
from vizsla.encoders import persistence as files_module
from vizsla.encoders.adapted import AdaptedEncoder, TwoSidedEncoder
from vizsla.encoders.onnx import OnnxEncoder
from vizsla.errors import FormatError, InputError, VizslaError
from vizsla.export.int8 import write_int8
from vizsla.export.onnx import copy_onnx
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xl, pefa_xs
from vizsla.methods.pq import pq

SECRET = b"a secret that must stay where it is"
MODULES = [{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]
LOG = [(CLICKED[query], item) for query, item, _ in CLICKS]


@pytest.fixture
def model(tmp_path):
    return write_small_onnx(tmp_path / "models" / "small")


@pytest.fixture
def secrets(tmp_path, model):
    """A folder with secrets beside what looks like a model."""
    folder = shutil.copytree(model, tmp_path / "private")
    for name in ("notes.json", "keys.txt", "model.onnx_data", "pairs.json"):
        (folder / name).write_bytes(SECRET)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_bytes(SECRET)
    (folder / "modules.json").write_text(json.dumps(MODULES))
    return folder


def prepared(tmp_path, model, place, *, kind="onnx"):
    """Return an artifact, signed anew, that names another folder as its model's."""
    saved = dense(ITEMS, OnnxEncoder(model)).save(tmp_path / "prepared", bundle_models=False)
    manifest = read_manifest(saved)
    described = {key: value for key, value in manifest["parameters"]["encoder"].items() if key not in ("name", "path")}
    manifest["parameters"]["encoder"] = {**described, "kind": kind, **place}
    write_manifest(saved, manifest)
    return saved


def leaked(folder):
    """Return the files of a folder that hold the secret."""
    return [file for file in folder.rglob("*") if file.is_file() and SECRET in file.read_bytes()]


WAYS = {
    "save": lambda loaded: loaded,
    "compose": lambda loaded: (loaded | bm25(ITEMS)) >> loaded,
    "cut": lambda loaded: loaded % 3,
    "pq": lambda loaded: pq(loaded, bytes=4),
    "pefa xs": lambda loaded: pefa_xs(loaded, LOG, weight=0.5, calibrated=True),
    "add": lambda loaded: loaded + bm25(ITEMS),
    "adapted": lambda loaded: AdaptedEncoder(loaded.encoder, np.eye(8, dtype=np.float32)),
    "two-sided": lambda loaded: TwoSidedEncoder(loaded.encoder, loaded.encoder),
    "copied": lambda loaded: loaded.__copy__(),
}
PLACES = {
    "absolute": lambda folder, saved: {"name": str(folder)},
    "relative": lambda folder, saved: {"path": os.path.relpath(folder, saved)},
    "through dots": lambda folder, saved: {"name": f"{folder}/../{folder.name}/./"},
    "twice": lambda folder, saved: {"name": "x", "path": os.path.relpath(folder, saved)},
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["onnx", "sentence"])
def test_no_way_of_saving_copies_what_only_an_artifact_names(tmp_path, model, secrets, place, kind):
    saved = prepared(tmp_path, model, PLACES[place](secrets, tmp_path / "prepared"), kind=kind)
    loaded = vizsla.load(saved)
    for way, make in WAYS.items():
        for wanted in (None, False, True):
            out = tmp_path / "out" / f"{way} {wanted}"
            try:
                made = make(loaded)
                made.save(out, bundle_models=wanted)
            except VizslaError as error:
                assert wanted is True or way in ("add", "pefa xs", "pq"), (way, wanted, error)
    assert leaked(tmp_path / "out") == [] and not list((tmp_path / "out").rglob("*.raw"))


@pytest.mark.parametrize("flags", [[], ["--bundle-model"], ["--no-bundle-model"]])
@pytest.mark.parametrize("kind", ["onnx", "sentence"])
def test_no_command_copies_what_only_an_artifact_names(tmp_path, model, secrets, flags, kind, capsys):
    saved = prepared(tmp_path, model, {"name": str(secrets)}, kind=kind)
    out, log = tmp_path / "out", tmp_path / "clicks.tsv"
    log.write_text("".join(f"{query}\t{item}\n" for query, item in LOG))
    data = tmp_path / "items.jsonl"
    data.write_text("".join(json.dumps({"id": item, "text": text}) + "\n" for item, text in ITEMS.items()))
    out.mkdir()
    commands = [
        ["compose", "a % 3", "--let", f"a={saved}", "-o", str(out / "composed")],
        ["compose", "a >> a", "--let", f"a={saved}", "-o", str(out / "chained")],
        ["index", "pq", str(saved), "-o", str(out / "coded"), "--bytes", "4"],
        ["adapt", "pefa", str(saved), "--clicks", str(log), "-o", str(out / "adapted")],
        ["train", "jpq", str(saved), "--clicks", str(log), "-o", str(out / "trained")],
    ]
    codes = [main([*command, *flags]) for command in commands]
    if flags != ["--bundle-model"]:
        assert codes[:3] == [0, 0, 0], capsys.readouterr().err
    else:
        assert codes[:3] == [2, 2, 2] and "must be named again" in capsys.readouterr().err
    assert leaked(out) == [] and not list(out.rglob("*.raw"))


def test_the_caller_may_name_the_model(tmp_path, model, capsys):
    built = dense(ITEMS, OnnxEncoder(model))
    saved = built.save(tmp_path / "outside", bundle_models=False)
    for number, name in enumerate([str(model), model, [model], (str(model / ".." / "small"),)]):
        inside = vizsla.load(saved).save(tmp_path / f"inside {number}", bundle_models=name)
        assert {file.name for file in (inside / "encoder").glob("*.raw")} == {
            f"{name}.raw" for name in ("model.onnx", "tokenizer.json", "encoder.json")
        }
    given = vizsla.load(saved).with_encoder(OnnxEncoder(model)).save(tmp_path / "given")
    assert (given / "encoder").exists()
    out = tmp_path / "coded"
    assert main(["index", "pq", str(saved), "-o", str(out), "--bytes", "4", "--bundle-model", str(model)]) == 0
    assert (out / "encoder").exists()
    shutil.rmtree(model)
    assert vizsla.load(tmp_path / "inside 0")(QUERIES, k=5) == built(QUERIES, k=5)
    composing = ["compose", "a", "--let", f"a={saved}", "-o", str(tmp_path / "x")]
    with pytest.raises(SystemExit, match="2"):
        main([*composing, "--bundle-model", "a", "--no-bundle-model"])
    assert "not allowed with" in capsys.readouterr().err
    assert main([*composing, "--bundle-model", "--bundle-model", "a"]) == 2
    assert "must be given alone" in capsys.readouterr().err and not (tmp_path / "x").exists()


def test_a_model_that_the_caller_opened_may_be_named_too(tmp_path, model):
    built = dense(ITEMS, OnnxEncoder(model))
    assert (built.save(tmp_path / "inside", bundle_models=model) / "encoder").exists()
    with pytest.raises(InputError, match="must name models of the artifact"):
        built.save(tmp_path / "other", bundle_models=[model, tmp_path])


def test_a_name_that_is_not_the_artifacts_is_refused(tmp_path, model, secrets):
    saved = dense(ITEMS, OnnxEncoder(model)).save(tmp_path / "outside", bundle_models=False)
    for name in (secrets, "org/hub-model", [model, secrets]):
        with pytest.raises(InputError, match="must name models of the artifact"):
            vizsla.load(saved).save(tmp_path / "inside", bundle_models=name)
    for odd in ([], [3], [""], ""):
        with pytest.raises(InputError, match="bundle_models"):
            vizsla.load(saved).save(tmp_path / "inside", bundle_models=odd)
    assert not (tmp_path / "inside").exists()


def test_a_named_folder_must_hold_the_recorded_model(tmp_path, model, secrets):
    """Even where the caller names the folder: its model is not the one that the vectors were made with."""
    (secrets / "model.onnx_data").unlink()
    (secrets / "pairs.json").unlink()
    other = write_small_onnx(tmp_path / "other", seed=1)
    shutil.copyfile(other / "model.onnx", secrets / "model.onnx")
    loaded = vizsla.load(prepared(tmp_path, model, {"name": str(secrets)}))
    with pytest.raises(InputError, match="must be the one that the vectors were made with"):
        loaded("fig")
    with pytest.raises(InputError, match="must be those of the saved one"):
        loaded.save(tmp_path / "out", bundle_models=secrets)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "encoder.json"])
def test_links_are_not_followed(tmp_path, model, name):
    elsewhere = tmp_path / "elsewhere"
    (model / name).rename(elsewhere)
    (model / name).symlink_to(elsewhere)
    built = dense(ITEMS, OnnxEncoder(model))
    with pytest.raises(InputError, match="no links"):
        built.save(tmp_path / "out", bundle_models=True)
    assert not (built.save(tmp_path / "unasked") / "encoder").exists(), "it stays outside"
    with pytest.raises(InputError, match="no links"):
        vizsla.load(tmp_path / "unasked").save(tmp_path / "out", bundle_models=model)
    assert not (tmp_path / "out").exists()


def test_links_to_folders_inside_are_not_followed(tmp_path):
    folder, private = tmp_path / "model", tmp_path / "private"
    folder.mkdir()
    private.mkdir()
    (private / "config.json").write_bytes(SECRET)
    (folder / "1_Pooling").symlink_to(private)
    (folder / "modules.json").write_text(json.dumps(MODULES))
    with pytest.raises(InputError, match="no links"):
        files_module.read_files("sentence", str(folder))
    for path in ("../private", "/etc", f"{private}", "1_Pooling/../../private"):
        modules = [{"type": "sentence_transformers.models.Pooling", "path": path}]
        (folder / "modules.json").write_text(json.dumps(modules))
        with pytest.raises(InputError):
            files_module.read_files("sentence", str(folder))


def test_the_hubs_cache_may_link_to_its_own_blobs_only(tmp_path, monkeypatch):
    repository = tmp_path / "models--org--name"
    snapshot, blobs = repository / "snapshots" / "abc", repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "0123").write_bytes(b"{}")
    (snapshot / "config.json").symlink_to("../../blobs/0123")
    monkeypatch.setattr(files_module, "_snapshot", lambda name: snapshot)
    assert bytes(files_module.read_files("sentence", "org/name")["config.json"]) == b"{}"
    (tmp_path / "secret").write_bytes(SECRET)
    (snapshot / "vocab.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="must not be links"):
        files_module.read_files("sentence", "org/name")


def test_a_folder_that_changes_between_the_check_and_the_copy(tmp_path, model, monkeypatch):
    built, real = dense(ITEMS, OnnxEncoder(model)), files_module.model_files
    built("fig")

    def changed(kind, name):
        found = real(kind, name)
        (model / "tokenizer.json").write_text((model / "tokenizer.json").read_text().replace("Lowercase", "NFC"))
        return found

    monkeypatch.setattr(files_module, "model_files", changed)
    with pytest.raises(InputError, match="must be those of the saved one"):
        built.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("location", ["../secret", "/etc/hostname", "sub/../../secret", "", "w" * 200])
def test_weights_of_a_model_lie_beside_it(tmp_path, model, location):
    onnx = pytest.importorskip("onnx")
    loaded = onnx.load(model / "model.onnx")
    table = loaded.graph.initializer[0]
    size = len(table.raw_data)
    table.ClearField("raw_data")
    table.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "0", "length": str(size)}.items():
        table.external_data.add(key=key, value=value)
    (model / "model.onnx").write_bytes(loaded.SerializeToString())
    (tmp_path / "models" / "secret").write_bytes(b"x" * size)
    with pytest.raises(InputError, match="beside it"):
        OnnxEncoder(model)


def test_weights_beside_a_model_are_part_of_it(tmp_path, model):
    """They are in the fingerprint and go with the model, whatever their name."""
    onnx = pytest.importorskip("onnx")
    whole = dense(ITEMS, OnnxEncoder(model))
    outside = {"save_as_external_data": True, "location": "weights.onnx_data", "size_threshold": 0}
    onnx.save_model(onnx.load(model / "model.onnx"), str(model / "model.onnx"), **outside)
    encoder = OnnxEncoder(model)
    built = dense(ITEMS, encoder)
    assert built(QUERIES, k=5) == whole(QUERIES, k=5) and encoder.nbytes > (model / "weights.onnx_data").stat().st_size
    saved = built.save(tmp_path / "saved")
    data = bytearray((model / "weights.onnx_data").read_bytes())
    data[5] ^= 1
    (model / "weights.onnx_data").write_bytes(data)
    assert OnnxEncoder(model).fingerprint != encoder.fingerprint
    shutil.rmtree(model)
    assert vizsla.load(saved)(QUERIES, k=5) == whole(QUERIES, k=5)


@pytest.mark.parametrize("beside", [False, True])
def test_exports_hold_all_weights(tmp_path, model, beside):
    """Weights beside the model come along, or go into the file that is written."""
    onnx = pytest.importorskip("onnx")
    encoder = OnnxEncoder(model)
    wanted = encoder.queries(QUERIES)
    if beside:
        outside = {"save_as_external_data": True, "location": "weights.onnx_data", "size_threshold": 0}
        onnx.save_model(onnx.load(model / "model.onnx"), str(model / "model.onnx"), **outside)
        encoder = OnnxEncoder(model)
    copy_onnx(encoder, tmp_path / "copy")
    (tmp_path / "int8").mkdir()
    write_int8(encoder, tmp_path / "int8")
    shutil.rmtree(model)
    assert (OnnxEncoder(tmp_path / "copy").queries(QUERIES) == wanted).all()
    assert np.allclose(OnnxEncoder(tmp_path / "int8").queries(QUERIES), wanted, atol=0.05)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "weights.onnx_data"])
def test_exports_follow_no_links(tmp_path, model, name):
    onnx = pytest.importorskip("onnx")
    outside = {"save_as_external_data": True, "location": "weights.onnx_data", "size_threshold": 0}
    onnx.save_model(onnx.load(model / "model.onnx"), str(model / "model.onnx"), **outside)
    encoder = OnnxEncoder(model)
    (model / name).rename(tmp_path / "elsewhere")
    (model / name).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "int8").mkdir()
    for act in (lambda: copy_onnx(encoder, tmp_path / "copy"), lambda: write_int8(encoder, tmp_path / "int8")):
        with pytest.raises(InputError, match="no links"):
            act()
    assert not (tmp_path / "copy").exists() and not list((tmp_path / "int8").iterdir())


PANICS = {
    "no tokenizer": b"[]",
    "no JSON": b"\xff",
    "deep": b"[" * 100_000,
    "no unknown": {"model": {"type": "WordLevel", "vocab": {}, "unk_token": "[UNK]"}},
    "template": {"post_processor": {"type": "TemplateProcessing", "pair": [], "special_tokens": {},
                                    "single": [{"SpecialToken": {"id": "x", "type_id": 0}}]}},
    "regex": {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "("}, "behavior": "Removed", "invert": False}},
    "normalizer": {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"}},
    "bpe": {"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}},
    "unigram": {"model": {"type": "Unigram", "vocab": [], "unk_id": 7}},
    "unigram nan": {"model": {"type": "Unigram", "vocab": [["a", 1e400]], "unk_id": 0}},
    "wordpiece": {"model": {"type": "WordPiece", "vocab": {}, "unk_token": "", "continuing_subword_prefix": "",
                            "max_input_chars_per_word": -1}},
}  # fmt: skip


def resigned(saved, name, data):
    """Put other bytes in the place of a file of the bundled model, and make all checksums right."""
    from tests.artifacts.signing import replace, sign_file

    replace(saved / "encoder" / f"{name}.raw", data)
    sign_file(saved / "encoder" / f"{name}.raw")
    sign_above(saved / "encoder", saved)


@pytest.mark.parametrize("kind", PANICS)
def test_an_odd_tokenizer_inside_is_a_format_error(tmp_path, model, kind):
    saved = dense(ITEMS, OnnxEncoder(model)).save(tmp_path / "saved")
    odd = PANICS[kind]
    sound = json.loads((model / "tokenizer.json").read_bytes())
    data = odd if isinstance(odd, bytes) else json.dumps(sound | odd).encode()
    resigned(saved, "tokenizer.json", data)
    with pytest.raises(FormatError):
        vizsla.load(saved)("fig tree", k=3)


def graphs(model):
    """Yield odd models by name."""
    onnx = pytest.importorskip("onnx")
    helper, kinds = onnx.helper, onnx.TensorProto
    ids = helper.make_tensor_value_info("input_ids", kinds.INT64, ["b", "t"])

    def made(nodes, outputs, inputs=(ids,), initializers=()):
        graph = helper.make_graph(nodes, "odd", list(inputs), outputs, list(initializers))
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()

    flat = helper.make_tensor_value_info("out", kinds.FLOAT, None)
    scalar = onnx.numpy_helper.from_array(np.float32(1), "one")
    yield "empty", b""
    yield "garbage", b"\x0a" * 100
    yield "no outputs", made([], [])
    yield "flat", made([helper.make_node("Cast", ["input_ids"], ["out"], to=kinds.FLOAT)], [flat])
    yield "scalar", made([helper.make_node("Identity", ["one"], ["out"])], [flat], initializers=[scalar])
    yield (
        "text",
        made(
            [helper.make_node("Cast", ["input_ids"], ["out"], to=kinds.STRING)],
            [helper.make_tensor_value_info("out", kinds.STRING, None)],
        ),
    )
    yield (
        "another input",
        made(
            [helper.make_node("Identity", ["x"], ["out"])],
            [flat],
            [helper.make_tensor_value_info("x", kinds.FLOAT, ["a"])],
        ),
    )
    whole = onnx.load(model / "model.onnx")
    whole.graph.initializer[0].dims[0] = 1 << 40
    yield "wild dims", whole.SerializeToString()
    cut = (model / "model.onnx").read_bytes()
    yield "cut", cut[: len(cut) // 2]


GRAPHS = ["empty", "garbage", "no outputs", "flat", "scalar", "text", "another input", "wild dims", "cut"]


@pytest.mark.parametrize("kind", GRAPHS)
def test_an_odd_graph_inside_is_a_format_error(tmp_path, model, kind):
    saved = dense(ITEMS, OnnxEncoder(model)).save(tmp_path / "saved")
    data = dict(graphs(model))[kind]
    resigned(saved, "model.onnx", data)
    with pytest.raises(FormatError):
        vizsla.load(saved)("fig tree", k=3)


def test_odd_settings_inside_are_a_format_error(tmp_path, model):
    for number, data in enumerate([b"[" * 100_000, b"{", b'{"pooling": []}', b"\xff", b"NaN"]):
        saved = dense(ITEMS, OnnxEncoder(model)).save(tmp_path / f"saved {number}")
        resigned(saved, "encoder.json", data)
        with pytest.raises(FormatError):
            vizsla.load(saved)("fig tree", k=3)


def test_an_adapted_model_learns_without_copying(tmp_path, model, secrets):
    """PEFA-XL holds an encoder of its own, and its base another."""
    built = dense(ITEMS, OnnxEncoder(model))
    learned = pefa_xl(built, LOG, weight=0.4, neighbors=5, votes="mean", near=0.0, threshold=0.0)
    saved = learned.save(tmp_path / "saved", bundle_models=False)
    again = vizsla.load(saved).save(tmp_path / "again")
    assert not list(again.rglob("*.raw"))
    assert list(vizsla.load(saved).save(tmp_path / "named", bundle_models=model).rglob("model.onnx.raw"))
