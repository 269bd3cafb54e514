"""What every Encoder promises."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import vizsla
from tests.contract.encoders import ABSENT, ENCODERS, TEXTS, EncoderCase, absent
from vizsla.artifacts.artifact import Artifact
from vizsla.autopilot.refinements import RememberedVectors
from vizsla.base.encoder import Encoder
from vizsla.encoders.http import HttpEncoder
from vizsla.engine.objects import ItemCache
from vizsla.errors import InputError, VizslaError

KNOWN = ("bag-of-words:", "mixed:", "ngrams:", "lsa:", "precomputed:", "onnx:", "sentence:", "sidr:")
"""What keeps its own arrays, or has a model."""

SIDES = ["queries", "items"]


@pytest.fixture(scope="module", params=ENCODERS, ids=list(ENCODERS))
def made(request) -> tuple[Encoder, EncoderCase]:
    case = ENCODERS[request.param]
    return case.make(), case


def dense(rows: Any) -> np.ndarray:
    """Return rows of any kind as a plain array."""
    if hasattr(rows, "to_scipy"):
        rows = rows.to_scipy()
    return rows.toarray() if hasattr(rows, "toarray") else rows


def values(rows: Any) -> np.ndarray:
    """Return the numbers that are stored, as they are stored."""
    if isinstance(rows, np.ndarray):
        return rows
    return rows.values if hasattr(rows, "to_scipy") else rows.data


def same(one: Any, other: Any, away: float) -> bool:
    """Whether rows are equal: bit for bit, unless the encoder may be away a little."""
    one, other = dense(one), dense(other)
    return one.shape == other.shape and bool(np.abs(one - other).max(initial=0) <= away)


@pytest.mark.parametrize("side", SIDES)
def test_a_row_a_text_of_finite_float32(made, side):
    encoder, _ = made
    rows = getattr(encoder, side)(TEXTS)
    assert rows.shape == dense(rows).shape == (len(TEXTS), encoder.dim)
    assert values(rows).dtype == np.float32 and np.isfinite(values(rows)).all()
    assert dense(rows).any(), "some text has a row that is not empty"


@pytest.mark.parametrize("side", SIDES)
def test_sparse_tells_the_truth(made, side):
    encoder, _ = made
    for texts in (TEXTS, TEXTS[:1], []):
        assert encoder.sparse is not isinstance(getattr(encoder, side)(texts), np.ndarray)


def test_columns_of_sparse_rows_ascend(made):
    encoder, _ = made
    if not encoder.sparse:
        return
    rows = encoder.queries(TEXTS)
    flat = rows.to_scipy() if hasattr(rows, "to_scipy") else rows
    for first, last in zip(flat.indptr[:-1], flat.indptr[1:], strict=True):
        assert (np.diff(flat.indices[first:last]) > 0).all()


@pytest.mark.parametrize("side", SIDES)
def test_no_texts_no_rows(made, side):
    encoder, _ = made
    rows = getattr(encoder, side)([])
    assert rows.shape == dense(rows).shape == (0, encoder.dim) and values(rows).dtype == np.float32


@pytest.mark.parametrize("side", SIDES)
def test_a_text_alone_is_encoded_as_among_others(made, side):
    encoder, case = made
    encode = getattr(encoder, side)
    together = dense(encode(TEXTS))
    for number, text in enumerate(TEXTS):
        assert same(encode([text]), together[number : number + 1], case.away), text
    assert same(encode(TEXTS * 4), np.tile(together, (4, 1)), case.away)


@pytest.mark.parametrize("side", SIDES)
def test_rows_come_in_the_order_of_the_texts(made, side):
    encoder, case = made
    encode = getattr(encoder, side)
    order = np.random.default_rng(1).permutation(len(TEXTS))
    assert same(encode([TEXTS[number] for number in order]), dense(encode(TEXTS))[order], case.away)


@pytest.mark.parametrize("side", SIDES)
def test_any_sequence_of_texts_will_do(made, side):
    encoder, _ = made
    encode = getattr(encoder, side)
    expected = encode(TEXTS)
    for texts in (tuple(TEXTS), np.array(TEXTS, object)):
        rows = encode(texts)
        assert type(rows) is type(expected) and same(rows, expected, 0)


def test_the_texts_are_left_as_they_are(made):
    encoder, _ = made
    given = list(TEXTS)
    encoder.queries(given), encoder.items(given)
    assert given == TEXTS


def test_rows_belong_to_the_caller(made):
    """What is done to an answer changes no later one."""
    encoder, _ = made
    rows = encoder.queries(TEXTS)
    before = dense(rows).copy()
    stored = values(rows)
    if stored.flags.writeable:
        stored[...] = 7
    assert same(encoder.queries(TEXTS), before, 0)


def test_the_fingerprint_stays(made):
    encoder, case = made
    before = encoder.fingerprint
    encoder.queries(TEXTS)
    assert isinstance(before, str) and before == encoder.fingerprint == case.make().fingerprint


def test_other_settings_have_another_fingerprint(made):
    encoder, case = made
    prints = [encoder.fingerprint, *(make().fingerprint for make in case.others)]
    assert len(set(prints)) == len(prints) > 1


def test_saved_and_loaded_it_is_the_same(made, tmp_path):
    encoder, case = made
    again = encoder if case.reload is None else case.reload(encoder, tmp_path / "saved")
    assert (again.fingerprint, again.dim, again.sparse) == (encoder.fingerprint, encoder.dim, encoder.sparse)
    for side in SIDES:
        assert same(getattr(again, side)(TEXTS), getattr(encoder, side)(TEXTS), 0)
    assert getattr(again, "nbytes", None) == getattr(encoder, "nbytes", None)


@pytest.mark.parametrize("side", SIDES)
def test_one_text_is_not_a_list_of_texts(made, side):
    encoder, _ = made
    with pytest.raises(InputError, match="put it into a list"):
        getattr(encoder, side)(TEXTS[0])


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("odd", [None, 3, b"fig", ["fig"]], ids=str)
def test_what_is_no_text_is_refused(made, side, odd):
    encoder, _ = made
    with pytest.raises(InputError, match=f"Got {type(odd).__name__} at position 1"):
        getattr(encoder, side)([TEXTS[0], odd])


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("half", ["\ud800", "fig \udfff pear"], ids=ascii)
def test_half_a_surrogate_pair_is_refused_or_separates(made, side, half):
    encoder, case = made
    encode = getattr(encoder, side)
    if case.half_pairs:
        assert same(encode([half]), encode([" ".join(half.encode(errors="replace").decode().split("?"))]), 0)
        return
    with pytest.raises(VizslaError, match="position 1"):
        encode([TEXTS[0], half])


def test_threads_of_python_may_encode_at_once(made):
    encoder, case = made
    shares = [TEXTS, TEXTS[::-1]]
    expected = [dense(encoder.queries(texts)) for texts in shares]
    together = Barrier(len(shares))

    def encode(number: int) -> bool:
        together.wait()
        return all(same(encoder.queries(shares[number]), expected[number], case.away) for _ in range(5))

    with ThreadPoolExecutor(len(shares)) as pool:
        assert list(pool.map(encode, range(len(shares)))) == [True, True]


def test_nbytes_is_a_number_of_bytes(made):
    encoder, _ = made
    assert type(encoder.nbytes) is int
    # Code has no size that could be known.
    assert encoder.nbytes > 0 if encoder.fingerprint.startswith(KNOWN) else encoder.nbytes >= 0
    held = encoder._byte_counts().values()
    assert sum(held) == encoder.nbytes and min(held) >= 0


def test_nbytes_are_those_of_the_arrays_that_are_saved(made, tmp_path):
    encoder, _ = made
    if isinstance(encoder, Artifact):
        saved = encoder.save(tmp_path / "saved")
        arrays = sum(np.load(file).nbytes for file in saved.rglob("*.npy"))
        models = [file.stat().st_size for file in saved.rglob("model*.raw")]
        assert encoder.nbytes == arrays + sum(models)


ELSEWHERE = {
    HttpEncoder: "needs a service: tests/encoders/test_http_encoder.py holds it to the same promises",
    ItemCache: "an EmbeddingCache, which is in the registry, but for queries",
    RememberedVectors: "an EmbeddingCache of one encoder, which is in the registry",
}


def test_no_encoder_is_left_out():
    """Every kind is in the registry; what a load leaves in a model's place is made by loading."""
    kinds, waiting = set(), [Encoder]
    for module in pkgutil.walk_packages(vizsla.__path__, "vizsla."):
        if module.name.startswith(("vizsla.encoders.", "vizsla.text.", "vizsla.methods.")):
            importlib.import_module(module.name)
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("vizsla.") and not inspect.isabstract(kind):
            kinds.add(kind)
    tried = {type(case.make()) for case in ENCODERS.values()} | {type(absent(name)[1]) for name in ABSENT}
    assert kinds - ELSEWHERE.keys() == tried


@pytest.mark.parametrize("name", ABSENT)
def test_an_absent_encoder_knows_what_it_was(name):
    encoder, remembered = absent(name)
    known = (remembered.fingerprint, remembered.dim, remembered.sparse)
    assert known == (encoder.fingerprint, encoder.dim, encoder.sparse)
    for side in SIDES:
        with pytest.raises(InputError, match="with_encoder"):
            getattr(remembered, side)(TEXTS)
