"""What everything that can be saved promises."""

from __future__ import annotations

import pytest

import vizsla
from tests.contract.catalogue import QUERIES
from tests.contract.registry import ENCODERS, INDEXES, RETRIEVERS, item_vectors, statistics
from tests.formats.mutations import mutations
from vizsla.artifact import KINDS
from vizsla.errors import FormatError, InputError

ARTIFACTS = {
    **{name: (lambda make=case.make: (make(), lambda r: r(QUERIES, k=9))) for name, case in RETRIEVERS.items()},
    **{name: (lambda make=make: _index_artifact(*make())) for name, make in INDEXES.items()},
    **{name: (lambda make=make: (make(), lambda e: e.queries(QUERIES).tolist())) for name, make in ENCODERS.items()},
    "statistics": lambda: (statistics(), lambda s: s),
    "vectors": lambda: (item_vectors(), lambda v: (list(v.ids), v.rows.tolist(), v.fingerprint)),
}


def _index_artifact(index, queries):
    return index, lambda loaded: loaded.search(queries, 9)


@pytest.fixture(scope="module", params=ARTIFACTS, ids=list(ARTIFACTS))
def made(request):
    return ARTIFACTS[request.param]()


def test_every_kind_is_registered_and_every_registered_kind_is_tested(made):
    assert made[0].kind in KINDS
    assert {make()[0].kind for make in ARTIFACTS.values()} == set(KINDS)


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_save_load_search_is_identical(made, tmp_path, mmap, verify):
    artifact, answer = made
    loaded = vizsla.load(artifact.save(tmp_path / "saved"), mmap=mmap, verify=verify)
    assert type(loaded) is type(artifact)
    assert answer(loaded) == answer(artifact)


def test_same_object_same_bytes(made, tmp_path):
    artifact, _ = made
    first, second = artifact.save(tmp_path / "one"), artifact.save(tmp_path / "two")
    files = sorted(file.relative_to(first) for file in first.rglob("*") if file.is_file())
    assert files == sorted(file.relative_to(second) for file in second.rglob("*") if file.is_file())
    assert all((first / file).read_bytes() == (second / file).read_bytes() for file in files)


def test_saved_again_after_loading_gives_the_same_bytes(made, tmp_path):
    artifact, _ = made
    first = artifact.save(tmp_path / "one")
    second = vizsla.load(first).save(tmp_path / "two")
    assert (first / "manifest.json").read_bytes() == (second / "manifest.json").read_bytes()


def test_existing_folder_is_not_overwritten_unless_asked(made, tmp_path):
    artifact, _ = made
    artifact.save(tmp_path / "saved")
    with pytest.raises(InputError, match="overwrite=True"):
        artifact.save(tmp_path / "saved")
    artifact.save(tmp_path / "saved", overwrite=True)


def test_damage_is_a_format_error_or_harmless(made, tmp_path):
    artifact, answer = made
    expected = answer(artifact)
    saved = artifact.save(tmp_path / "saved")
    tried = 0
    for damaged in mutations(saved, tmp_path / "damaged"):
        tried += 1
        try:
            found = answer(vizsla.load(damaged))
        except FormatError:
            continue
        assert found == expected, f"{damaged}: a silently wrong answer"
    assert tried > 20
