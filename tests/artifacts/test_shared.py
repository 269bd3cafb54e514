"""What several parts of an artifact hold is stored once and is one object after loading; pointers are not trusted."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import pytest

from tests.artifacts.box import Box
from tests.artifacts.hostile import hostile
from tests.artifacts.mutations import mutations
from tests.artifacts.signing import manifest_digest, read_manifest, sign_above, write_manifest
from tests.artifacts.tiny import Tiny, names
from vizsla.artifacts import writer as artifact_writer
from vizsla.artifacts.artifact import load
from vizsla.artifacts.inspect import check, inspect
from vizsla.artifacts.manifest import MAX_NESTING
from vizsla.core.strings import Strings
from vizsla.errors import FormatError, InputError


@pytest.fixture
def boxes():
    """Boxes in a box: a tiny artifact and a box are held twice, and an equal tiny artifact is another object."""
    tiny, ids = Tiny.make(inner=False), Strings.of(["a", "b"])
    inner = Box(tiny, Tiny.make(inner=False), ids=ids)
    return Box(inner, Box(tiny, inner, ids=Strings.of(["a", "b"])), tiny)


@pytest.fixture
def saved(boxes, tmp_path):
    return boxes.save(tmp_path / "saved")


def test_each_thing_is_stored_once_and_is_one_object(boxes, saved):
    assert sorted(str(file.parent.relative_to(saved)) for file in saved.rglob("manifest.json")) == [
        ".", "part0", "part0/ids", "part0/part0", "part1",
    ]  # fmt: skip
    loaded = load(saved)
    assert loaded.answer() == boxes.answer()
    inner, other, tiny = loaded.parts
    assert inner.parts[0] is inner.parts[1] is other.parts[0] is tiny
    assert other.parts[1] is inner and other.ids is inner.ids
    assert check(saved) == []


def test_records_say_kind_digest_and_the_way(saved):
    records = read_manifest(saved / "part1")["parents"]
    inner = {"kind": "box", "xxh64": manifest_digest(saved / "part0")}
    assert records["part1"] == {**inner, "at": "part0"} and read_manifest(saved)["parents"]["part0"] == inner
    tiny = {"kind": "tiny", "xxh64": manifest_digest(saved / "part0" / "part0")}
    assert records["part0"] == {**tiny, "at": "part0/part0"}


def test_equal_content_is_found_whatever_of_it_lies_elsewhere(tmp_path):
    def pair():
        return Box(Tiny.make(inner=False), Tiny.make(1, inner=False), ids=Strings.of(["x"]))

    path = Box(Tiny.make(1, inner=False), pair(), Box(pair())).save(tmp_path / "saved")
    assert names(path / "part1") == ["ids", "manifest.json", "part0"] and names(path / "part2") == ["manifest.json"]
    loaded = load(path)
    assert loaded.parts[2].parts[0] is loaded.parts[1] and loaded.parts[1].parts[1] is loaded.parts[0]


def test_inspect_tells_what_is_shared_and_counts_it_once(saved):
    pedigree = inspect(saved)
    shared = pedigree.parents["part1"].parents["part1"]
    assert (shared.kind, shared.at, shared.bytes, shared.files, shared.parents) == ("box", "part0", 0, {}, {})
    content = [file for file in saved.rglob("*") if file.is_file() and file.name != "provenance.json"]
    assert pedigree.bytes == sum(file.stat().st_size for file in content)
    assert "part1: box, the one at part0" in str(pedigree)
    assert json.loads(json.dumps(pedigree.to_dict()))["parents"]["part2"]["at"] == "part0/part0"


def test_a_part_that_needs_another_cannot_be_loaded_alone(saved):
    assert load(saved / "part0" / "part0").answer()
    with pytest.raises(FormatError, match="load the outermost"):
        load(saved / "part1")


def test_nesting_counts_what_lies_elsewhere_too(tmp_path, monkeypatch):
    def deep(start, depth):
        for _ in range(depth):
            start = Box(start)
        return start

    low = deep(Tiny.make(inner=False), MAX_NESTING // 2)
    fits = Box(low, deep(low, MAX_NESTING - MAX_NESTING // 2 - 1))
    assert load(fits.save(tmp_path / "fits")).answer() == fits.answer()
    with pytest.raises(InputError, match="nested at most"):
        Box(fits).save(tmp_path / "deeper")
    monkeypatch.setattr(artifact_writer, "MAX_NESTING", 1000)
    with pytest.raises(FormatError, match="nested more than"):
        load(Box(fits).save(tmp_path / "deeper"))


WAYS = [
    "..", ".", "", "/", "part0/..", "../saved/part0", "/etc", "part0//part0", "part0/", "part0\\part0", "manifest.json",
    "part9", "part0/part9", "part1", "part1/part1", "part2", "part0/part0", "part0/part1", "part0/ids", "x" * 300,
    "/".join(["part0"] * 40), None, 3, True, [], ["part0"], {"x": 1}, 1e300,
]  # fmt: skip


@pytest.mark.parametrize("at", WAYS, ids=str)
@pytest.mark.parametrize("verify", [True, False])
def test_a_way_that_leads_elsewhere_is_refused(saved, at, verify):
    """`part1/part1` is a box that lies at part0: no other way is right, though checksums are."""
    manifest = read_manifest(saved / "part1")
    manifest["parents"]["part1"]["at"] = at
    write_manifest(saved / "part1", manifest)
    sign_above(saved / "part1", saved)
    for read in (inspect, lambda path: load(path, verify=verify)):
        with pytest.raises(FormatError):
            read(saved)
    assert check(saved)


@pytest.mark.parametrize(("name", "value"), [("kind", "tiny"), ("kind", "oracle"), ("xxh64", "0" * 16)])
def test_a_record_of_another_kind_or_digest_is_refused(saved, name, value):
    manifest = read_manifest(saved / "part1")
    manifest["parents"]["part1"][name] = value
    write_manifest(saved / "part1", manifest)
    sign_above(saved / "part1", saved)
    with pytest.raises(FormatError):
        load(saved, verify=False)
    assert check(saved)


def test_a_shared_artifact_of_another_save_is_refused(saved, tmp_path):
    other = Box(Box(Tiny.make(5, inner=False))).save(tmp_path / "other")
    shutil.rmtree(saved / "part0")
    shutil.copytree(other / "part0", saved / "part0")
    with pytest.raises(FormatError, match="not the manifest"):
        load(saved, verify=False)


@pytest.mark.parametrize("ways", [("part1", "part0"), ("part0", "part0")])
def test_circles_end(tmp_path, monkeypatch, ways):
    """Digests that a forger made agree by brute force are stood in for by a digest that is the same for all."""
    saved = Box(Box(Tiny.make(inner=False)), Box(Tiny.make(1, inner=False))).save(tmp_path / "saved")
    monkeypatch.setattr("vizsla.artifacts.manifest.digest", lambda data: "0" * 16)
    for folder, way in zip(["part0", "part1"], ways, strict=True):
        shutil.rmtree(saved / folder / "part0")
        record = {"kind": "box", "xxh64": "0" * 16, "at": way}
        write_manifest(saved / folder, {**read_manifest(saved / folder), "parents": {"part0": record}})
    manifest = read_manifest(saved)
    for record in manifest["parents"].values():
        record["xxh64"] = "0" * 16
    write_manifest(saved, manifest)
    monkeypatch.setattr("vizsla.artifacts.manifest._check_seal", lambda data: None)
    with pytest.raises(FormatError, match="inside itself"):
        load(saved, verify=False)
    assert any("inside itself" in problem for problem in check(saved))
    inspect(saved)


def test_every_damage_is_noticed(saved, tmp_path):
    for damaged in mutations(saved, tmp_path / "damaged", flips=4):
        with pytest.raises(FormatError):
            load(damaged)


def test_hostile_files_raise_or_answer(boxes, saved, tmp_path):
    refused = 0
    for prepared in hostile(saved, tmp_path / "prepared", step=5):
        problems = check(prepared)
        try:
            load(prepared, verify=refused % 2 == 0).answer()
        except FormatError:
            refused += 1
            assert problems, "check must find what load refuses"
    assert refused > 100


def test_a_folder_where_a_pointer_is_is_named_by_check(saved):
    shutil.copytree(saved / "part0", saved / "part1" / "part1")
    assert load(saved).answer()
    assert check(saved) == [f"{saved / 'part1' / 'part1'}: not a file of the artifact; move it away."]


def test_saved_again_after_loading_gives_the_same_bytes(saved, tmp_path):
    again = load(saved).save(tmp_path / "again")
    files = sorted(file.relative_to(saved) for file in saved.rglob("*") if file.is_file())
    assert files == sorted(file.relative_to(again) for file in again.rglob("*") if file.is_file())
    files.remove(Path("provenance.json"))
    assert all((saved / file).read_bytes() == (again / file).read_bytes() for file in files)


def test_strings_are_copied_as_themselves():
    ids = Strings.of(["fig", "pear"])
    assert copy.copy(ids) is ids and copy.deepcopy([ids])[0] is ids


def test_a_folder_of_somebody_at_a_pointers_name_is_not_replaced(boxes, saved):
    (saved / "part2").mkdir()
    (saved / "part2" / "thesis.tex").write_text("mine")
    with pytest.raises(InputError, match="part2"):
        boxes.save(saved, overwrite=True)
    assert (saved / "part2" / "thesis.tex").read_text() == "mine"
