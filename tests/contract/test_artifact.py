"""What everything that can be saved promises."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import vizsla
from tests.artifacts.mutations import mutations
from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import (
    ENCODERS,
    INDEXES,
    RETRIEVERS,
    anchors,
    bundled_model,
    catalog_details,
    cross_encoder,
    item_vectors,
    statistics,
    token_vectors,
    training_state,
)
from vizsla.artifacts.inspect import check
from vizsla.artifacts.kinds import BUILT_IN
from vizsla.artifacts.string_table import StringTable
from vizsla.base.queries import Queries
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.errors import FormatError, InputError
from vizsla.text.completion import Completer

ARTIFACTS = {
    **{name: (lambda make=case.make: (make(), lambda r: r(QUERIES, k=9))) for name, case in RETRIEVERS.items()},
    **{name: (lambda make=make: _index_artifact(*make())) for name, make in INDEXES.items()},
    **{name: (lambda make=make: (make(), _encoded)) for name, make in ENCODERS.items()},
    "anchor scores": lambda: (anchors(), _anchors_of),
    "cur factors": lambda: (anchors("float16").factors, lambda f: (f.values.tolist(), f.steps.tolist())),
    "training state": lambda: (training_state(), _state_of),
    "item metadata": lambda: (
        catalog_details(),
        lambda d: [(d.of(number), d.text(number)) for number in range(d.count)],
    ),
    "completer": lambda: (
        Completer.from_weights({text: number % 7 for number, text in enumerate(ITEMS.values())}),
        lambda complete: [complete(query, 20) for query in ("", "a", *QUERIES)],
    ),
    "statistics": lambda: (statistics(), lambda s: s),
    "vectors": lambda: (item_vectors(), lambda v: (list(v.ids), v.rows.tolist(), v.fingerprint)),
    "token vectors": lambda: (token_vectors(), lambda v: (list(v.ids), v.offsets.tolist(), v.item(3).tolist())),
    "cross-encoder": lambda: (cross_encoder(), _pairs_of),
    "strings": lambda: (StringTable(Strings.of(ITEMS)), lambda table: (list(table.strings), table.strings.find("b"))),
    "model": lambda: (bundled_model(), lambda m: (m.description, {p: d.tobytes() for p, d in m.files.items()})),
}


def _encoded(encoder):
    rows = encoder.queries(QUERIES)
    return rows.toarray().tolist() if encoder.sparse else rows.tolist()


def _pairs_of(scorer):
    everything = Candidates.from_rows([np.arange(len(ITEMS), dtype=np.int32)], catalog=scorer.items)
    files = {path: data.tobytes() for path, data in scorer.model.files.items()}
    return scorer.pairs(Queries(["fig"]), everything), scorer.model.reference, scorer.fingerprint, files


def _state_of(state):
    arrays = {name: values.tolist() for name, values in state.arrays.items()}
    return state.key, state.steps, arrays, state.measured.tolist()


def _index_artifact(index, queries):
    return index, lambda loaded: loaded.search(queries, 9)


def _anchors_of(anchors):
    return list(anchors.items), list(anchors.queries), anchors.scores().tolist()


@pytest.fixture(scope="module", params=ARTIFACTS, ids=list(ARTIFACTS))
def made(request):
    return ARTIFACTS[request.param]()


def test_every_kind_is_registered_and_every_registered_kind_is_tested(made):
    assert made[0].kind in BUILT_IN
    assert {make()[0].kind for make in ARTIFACTS.values()} == set(BUILT_IN)


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("verify", [True, False])
def test_save_load_search_is_identical(made, tmp_path, mmap, verify):
    artifact, answer = made
    saved = artifact.save(tmp_path / "saved")
    loaded = vizsla.load(saved, mmap=mmap, verify=verify)
    assert type(loaded) is type(artifact)
    assert answer(loaded) == answer(artifact)
    assert not (mmap and verify and check(saved))


def test_same_object_same_bytes(made, tmp_path):
    artifact, _ = made
    first, second = artifact.save(tmp_path / "one"), artifact.save(tmp_path / "two")
    files = sorted(file.relative_to(first) for file in first.rglob("*") if file.is_file())
    assert files == sorted(file.relative_to(second) for file in second.rglob("*") if file.is_file())
    files.remove(Path("provenance.json"))  # has the time; part of no digest
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


def test_repr_is_one_line_that_names_the_class(made):
    shown = repr(made[0])
    assert shown.startswith(f"{type(made[0]).__name__}(") and len(shown) < 200 and "\n" not in shown


def test_pickled_by_its_files_or_by_its_folder(made, tmp_path):
    artifact, answer = made
    twin = copy.copy(artifact)  # it lives in no folder
    assert answer(pickle.loads(pickle.dumps(twin))) == answer(artifact)
    artifact.save(tmp_path / "saved")
    for one in (artifact, vizsla.load(tmp_path / "saved")):
        pickled = pickle.dumps(one)
        assert len(pickled) < 500 and answer(pickle.loads(pickled)) == answer(artifact)
    shutil.rmtree(tmp_path / "saved")
    with pytest.raises(FormatError):
        pickle.loads(pickled)
    assert answer(pickle.loads(pickle.dumps(artifact))) == answer(artifact)


def test_copies_are_as_good_and_a_deep_one_is_the_thing_itself(made):
    artifact, answer = made
    assert copy.deepcopy(artifact) is artifact and copy.deepcopy([artifact])[0] is artifact
    assert answer(copy.copy(artifact)) == answer(artifact)


def test_other_processes_get_it(made, tmp_path):
    artifact, answer = made
    folder = artifact.save(tmp_path / "saved")
    expected = answer(vizsla.load(folder))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        there = pool.apply(_itself, (artifact,))
    assert type(there) is type(artifact) and answer(there) == expected


def test_spawned_processes_get_every_kind(tmp_path):
    made = {name: make()[0] for name, make in ARTIFACTS.items()}
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        shown = pool.apply(_shown, (made,))
        for number, artifact in enumerate(made.values()):
            artifact.save(tmp_path / str(number))
        assert pool.apply(_shown, (made,)) == shown == {name: repr(artifact) for name, artifact in made.items()}


def _itself(artifact):
    return artifact


def _shown(made):
    return {name: repr(artifact) for name, artifact in made.items()}
