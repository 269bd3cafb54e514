"""Damaged and hostile artifacts: FormatError, never a crash, never a silently wrong answer."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.artifacts.hostile import hostile, npy
from tests.artifacts.mutations import mutations
from tests.artifacts.signing import read_manifest, replace, sign_file, write_manifest
from tests.artifacts.tiny import Tiny
from vizsla.artifacts.artifact import load
from vizsla.artifacts.inspect import check, inspect
from vizsla.artifacts.manifest import FORMAT
from vizsla.artifacts.reader import ArtifactReader
from vizsla.errors import FormatError, InputError, MissingExtraError, VizslaError


@pytest.mark.parametrize("mmap", [True, False])
def test_every_damage_is_noticed(saved, tmp_path, mmap):
    tried = 0
    for damaged in mutations(saved, tmp_path / "damaged"):
        tried += 1
        with pytest.raises(FormatError) as error:
            load(damaged, mmap=mmap).answer()
        assert str(damaged) in str(error.value), "the message must name the file"
    assert tried > 300


def test_without_verification_damage_is_an_error_or_an_answer(saved, tmp_path):
    outcomes = {"error": 0, "answer": 0}
    for damaged in mutations(saved, tmp_path / "damaged"):
        try:
            load(damaged, verify=False).answer()
            outcomes["answer"] += 1
        except FormatError:
            outcomes["error"] += 1
    assert outcomes["error"] > outcomes["answer"] > 0


@pytest.mark.parametrize(("nested", "step"), [(False, 1), (True, 9)])
def test_hostile_files_raise_or_answer(tmp_path, nested, step):
    saved = Tiny.make(inner=nested).save(tmp_path / "saved")
    refused = answered = 0
    for prepared in hostile(saved, tmp_path / "prepared", step=step):
        _inspect_or_refuse(prepared)
        problems = check(prepared)
        try:
            load(prepared, verify=(refused + answered) % 2 == 0).answer()
            answered += 1
        except FormatError:
            refused += 1
            assert problems, "check must find what load refuses"
    assert refused > 400 // step
    assert answered, "a prepared artifact can be a valid one: another number is just another artifact"


def _inspect_or_refuse(path):
    try:
        pedigree = inspect(path)
    except FormatError:
        return
    json.dumps(pedigree.to_dict())
    str(pedigree).encode()


def test_check_reports_every_damage(saved, tmp_path):
    for damaged in mutations(saved, tmp_path / "damaged", flips=3):
        problems = check(damaged)
        assert problems and all(str(damaged) in problem for problem in problems)


@pytest.mark.parametrize("name", ["../x.npy", "/etc/passwd", "..", ".", "", "a/b.npy", "a\\..\\b", ".hidden", "é"])
def test_names_that_lead_out_of_the_folder_are_refused(saved, name):
    for part, record in [("files", {"bytes": 1, "xxh64": "0" * 16}), ("parents", {"kind": "tiny", "xxh64": "0" * 16})]:
        manifest = read_manifest(saved)
        manifest[part][name] = record
        write_manifest(saved, manifest)
        with pytest.raises(FormatError, match="not a name"):
            load(saved)


def test_a_format_of_the_past_says_to_build_again(saved):
    write_manifest(saved, {**read_manifest(saved), "format": FORMAT - 1})
    with pytest.raises(FormatError, match=r"it has format 1, written by .* Build it again from its data"):
        load(saved)


def test_a_format_of_the_future_says_to_upgrade(saved):
    write_manifest(saved, {"format": FORMAT + 1, "vizsla": "9.0", "everything": "else"})
    with pytest.raises(FormatError, match="pip install --upgrade vizsla"):
        load(saved)


def test_an_unknown_kind_says_to_upgrade(saved):
    write_manifest(saved, {**read_manifest(saved), "kind": "oracle"})
    with pytest.raises(FormatError, match=r"unknown kind 'oracle'.*upgrade"):
        load(saved)


def test_repeated_keys_are_refused(saved):
    text = (saved / "manifest.json").read_text()
    content = text[: text.rindex(',\n "xxh64"')] + "\n}"
    write_manifest(saved, content.replace('"kind"', '"kind": "x",\n "kind"', 1))
    with pytest.raises(FormatError, match="'kind' is given twice"):
        load(saved)


def test_an_edited_parameter_is_noticed_even_without_verification(saved):
    data = (saved / "manifest.json").read_bytes()
    replace(saved / "manifest.json", data.replace(b'"weight": 0.5', b'"weight": 0.6'))
    with pytest.raises(FormatError, match="edited"):
        load(saved, verify=False)


def test_a_nested_artifact_of_another_save_is_refused(saved, tiny, tmp_path):
    other = type(tiny).make(seed=7).save(tmp_path / "other")
    (saved / "inner").rename(tmp_path / "away")
    (other / "inner").rename(saved / "inner")
    with pytest.raises(FormatError, match="not the manifest that the artifact around it was saved with"):
        load(saved, verify=False)


def test_invalid_utf8_is_a_format_error_at_load_or_at_access(saved):
    file = saved / "ids.bytes.npy"
    data = np.load(file)
    data[0] = 0xFF
    replace(file, npy(data))
    sign_file(file)
    with pytest.raises(FormatError, match=r"ids\.bytes\.npy"):
        load(saved)
    ids = load(saved, verify=False).ids
    for access in [lambda: ids[0], lambda: ids[:3], lambda: list(ids), lambda: ids.take(np.zeros(1, np.int32))]:
        with pytest.raises(FormatError, match=r"ids\.bytes\.npy"):
            access()


def test_a_flag_that_is_neither_true_nor_false_is_refused(saved):
    file = saved / "flags.npy"
    replace(file, file.read_bytes()[:-1] + b"\x02")
    sign_file(file)
    with pytest.raises(FormatError, match=r"flags\.npy: a flag"):
        load(saved)


def test_a_string_that_begins_inside_a_character_is_noticed(saved):
    file = saved / "ids.offsets.npy"
    offsets = np.load(file)
    offsets[1] -= 1  # The first id ends with a letter of two bytes.
    replace(file, npy(offsets))
    sign_file(file)
    with pytest.raises(FormatError, match="inside a character"):
        load(saved)


def test_check_finds_a_hash_table_that_hides_a_string(saved):
    file = saved / "ids.slots.npy"
    slots = np.load(file)
    slots[np.flatnonzero(slots)[0]] = 0
    replace(file, npy(slots))
    sign_file(file)
    assert any("hash table" in problem for problem in check(saved))


def test_unlisted_files_are_ignored_by_load_and_named_by_check(saved, tiny):
    (saved / "inner" / "notes.txt").write_text("mine")
    assert load(saved).answer() == tiny.answer()
    assert check(saved) == [f"{saved / 'inner' / 'notes.txt'}: not a file of the artifact; move it away."]


def test_what_a_constructor_refuses_is_a_format_error_in_its_own_words(saved, monkeypatch):
    def refuse(cls, reader):
        raise InputError("`weight` must be between 0 and 1. Got 7.")

    monkeypatch.setattr(Tiny, "_read", classmethod(refuse))
    with pytest.raises(FormatError, match=r"saved: `weight` must be between 0 and 1\. Got 7\.") as error:
        Tiny.load(saved)
    assert isinstance(error.value.__cause__, InputError)


@pytest.mark.parametrize("kind", [KeyError, IndexError, ValueError, TypeError, OverflowError, RecursionError])
def test_what_a_kind_stumbles_over_is_a_format_error(saved, monkeypatch, kind):
    def stumble(cls, reader):
        raise kind("no such thing")

    monkeypatch.setattr(Tiny, "_read", classmethod(stumble))
    with pytest.raises(FormatError, match=r"manifest\.json: not a sound 'tiny'") as error:
        load(saved)
    assert isinstance(error.value.__cause__, kind)


def test_a_missing_extra_is_not_damage(saved, monkeypatch):
    def need(cls, reader):
        raise MissingExtraError("This kind", "neural")

    monkeypatch.setattr(Tiny, "_read", classmethod(need))
    with pytest.raises(MissingExtraError):
        load(saved)


def test_errors_are_vizslas_own_and_a_missing_path_is_named(tmp_path):
    for path in [tmp_path / "absent", tmp_path, __file__, tmp_path / ("x" * 300)]:
        with pytest.raises(FormatError, match=r"folder|artifact"):
            load(path)
    with pytest.raises(InputError, match="must be a path, without a zero byte"):
        load("\0")
    assert issubclass(FormatError, VizslaError)


def test_a_name_is_that_of_a_file_or_of_an_artifact(saved):
    """Otherwise it would depend on who looks first what the name stands for."""
    manifest = read_manifest(saved)
    for name in ("inner", "scores.npy"):
        both = {name: next(iter(manifest["files"].values()))}, {name: manifest["parents"]["inner"]}
        more = {"files": manifest["files"] | both[0], "parents": manifest["parents"] | both[1]}
        write_manifest(saved, manifest | more)
        with pytest.raises(FormatError, match="a file and a nested artifact have the same name"):
            load(saved)


@pytest.mark.parametrize("wrong", [True, False, "0.5", None, [0.5]])
def test_a_number_is_no_boolean(saved, wrong):
    manifest = read_manifest(saved)
    write_manifest(saved, manifest | {"parameters": manifest["parameters"] | {"weight": wrong}})
    with pytest.raises(FormatError, match="parameter 'weight' is missing or of the wrong type"):
        load(saved)
    write_manifest(saved, manifest | {"parameters": manifest["parameters"] | {"weight": 2}})
    assert load(saved).weight == 2.0


@pytest.mark.parametrize("wrong", [0, 1, "true", None])
def test_a_boolean_is_no_number(saved, wrong):
    manifest = read_manifest(saved)
    write_manifest(saved, manifest | {"parameters": manifest["parameters"] | {"nested": wrong}})
    with pytest.raises(FormatError, match="parameter 'nested' is missing or of the wrong type"):
        load(saved)
    write_manifest(saved, manifest)
    for kinds in (int, float, (int, float), (int, str)):
        with pytest.raises(FormatError, match="parameter 'nested' is missing or of the wrong type"):
            ArtifactReader(saved).parameter("nested", kinds)
    assert ArtifactReader(saved).parameter("nested", (bool, int)) is True


@pytest.mark.parametrize("named", ["elsewhere", ["elsewhere"], ["a", "b"]])
def test_a_model_that_nothing_names_is_not_passed_over(tiny, tmp_path, named):
    """The caller believes that it is stored inside."""
    with pytest.raises(InputError, match="`bundle_models` must name models of the artifact"):
        tiny.save(tmp_path / "new", bundle_models=named)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("where", ["", "inner"])
@pytest.mark.parametrize("holds", [[], ["manifest.json"]])
def test_a_stray_folder_is_named_by_check_and_never_replaced(saved, tiny, where, holds):
    stray = saved / where / "drafts"
    stray.mkdir()
    for name in holds:
        (stray / name).write_text("{}")
    assert load(saved).answer() == tiny.answer()
    assert check(saved) == [f"{stray}: not a file of the artifact; move it away."]
    if not where:
        with pytest.raises(InputError, match="drafts"):
            tiny.save(saved, overwrite=True)
        assert [entry.name for entry in stray.iterdir()] == holds


def test_the_kind_of_an_artifact_inside_is_what_was_recorded(saved):
    manifest = read_manifest(saved)
    manifest["parents"]["inner"]["kind"] = "bm25"
    write_manifest(saved, manifest)
    for verify in (True, False):
        with pytest.raises(FormatError, match="expected the kind 'bm25'. Got 'tiny'"):
            load(saved, verify=verify)
