"""Artifacts that an earlier build wrote: they are opened, searched and checked, of every kind."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.contract.catalog import QUERIES
from vizsla.artifacts.artifact import load
from vizsla.artifacts.inspect import check
from vizsla.artifacts.kinds import BUILT_IN
from vizsla.artifacts.manifest import FORMAT, MANIFEST, Manifest

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.zip"))
ANSWERS = json.loads((GOLDEN / "answers.json").read_text(encoding="utf-8"))
MAX_BYTES = 1_000_000


def unpacked(name: str, folder: Path) -> Path:
    with zipfile.ZipFile(GOLDEN / f"{name}.zip") as packed:
        packed.extractall(folder / name)
    return folder / name


def manifests() -> list[Manifest]:
    found = []
    for name in NAMES:
        with zipfile.ZipFile(GOLDEN / f"{name}.zip") as packed:
            inside = [entry for entry in packed.namelist() if Path(entry).name == MANIFEST]
            found += [Manifest.parse(packed.read(entry)) for entry in inside]
    return found


def test_there_is_one_of_every_kind_and_all_are_small():
    assert {manifest.kind for manifest in manifests()} == set(BUILT_IN)
    assert {manifest.format for manifest in manifests()} == {FORMAT}
    assert sum(path.stat().st_size for path in GOLDEN.iterdir()) < MAX_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_it_is_sound(name, tmp_path):
    assert check(unpacked(name, tmp_path)) == []


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_it_answers_as_it_did_when_it_was_written(name, tmp_path):
    search = load(unpacked(name, tmp_path))
    for query, hits, expected in zip(QUERIES, search(QUERIES, k=5), ANSWERS[name], strict=True):
        found = {hit.id: hit.score for hit in hits}
        assert sorted(found.values()) == pytest.approx(sorted(expected.values()), rel=1e-4, abs=1e-5), query
        clear = [
            id for id, score in expected.items() if sum(abs(score - other) < 1e-4 for other in expected.values()) == 1
        ]
        last = min(expected.values(), default=0.0)  # an item as good as the last may have taken its place
        assert all(id in found for id in clear if expected[id] > last + 1e-4), query


@pytest.mark.parametrize("name", sorted(set(NAMES) - ANSWERS.keys()))
def test_what_is_not_searched_is_loaded(name, tmp_path):
    folder = unpacked(name, tmp_path)
    assert load(folder).kind == Manifest.parse((folder / MANIFEST).read_bytes()).kind
