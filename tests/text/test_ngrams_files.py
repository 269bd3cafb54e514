"""N-gram features in artifacts, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from tests.artifacts.hostile import hostile
from tests.artifacts.mutations import mutations
from tests.support.interrupts import seconds_until_stopped
from vizsla.artifacts.artifact import load
from vizsla.core.strings import Strings
from vizsla.errors import FormatError, InputError
from vizsla.text.ngrams import NgramTfidf

QUERIES = ["Artistic iphone 7", "é", "never seen", ""]


HASHED = {"unseen": "hash", "bins": 3, "norm": "kinds", "bigrams": 0, "min_texts": 2, "shares": [1, 1, 0.5]}


@pytest.fixture(params=[{}, HASHED], ids=str)
def model(request):
    return NgramTfidf.fit(["artistic iphone 6s case", "iphone case é"], **request.param)


@pytest.mark.parametrize("mmap", [True, False])
def test_round_trip(model, tmp_path, mmap):
    model.save(tmp_path / "saved")
    again = load(tmp_path / "saved", mmap=mmap)
    assert again.fingerprint == model.fingerprint and again.dim == model.dim
    assert again.queries(QUERIES) == model.queries(QUERIES)


def test_every_damage_is_noticed(model, tmp_path):
    model.save(tmp_path / "saved")
    for damaged in mutations(tmp_path / "saved", tmp_path / "damaged", flips=2):
        with pytest.raises(FormatError):
            load(damaged)


def test_hostile_files_are_refused_or_answer(model, tmp_path):
    model.save(tmp_path / "saved")
    refused = 0
    for prepared in hostile(tmp_path / "saved", tmp_path / "prepared"):
        try:
            again = load(prepared)
            rows = again.queries(QUERIES)
        except FormatError:
            refused += 1
            continue
        assert np.isfinite(rows.values).all() and (rows.columns < again.dim).all() and (rows.columns >= 0).all()
        [again.feature_name(feature) for feature in range(min(again.dim, 50))]
    assert refused > 300


def names():
    return [Strings.of(["a", "b"]), Strings.of(["a#b"]), Strings.of(["#a#"])]


@pytest.mark.parametrize(
    "wrong",
    [
        {"bins": (1, 1)},
        {"bins": (1, 1, 2)},
        {"bins": (1, 1, -1)},
        {"bins": (1, 1, True)},
        {"bins": (1, 1, 2**31)},
        {"bins": (2**31 - 1,) * 3},
        {"weights": np.ones(6, np.float32)},
        {"weights": np.full(7, np.nan, np.float32)},
        {"weights": np.full(7, np.inf, np.float32)},
        {"weights": np.full(7, -1, np.float32)},
        {"weights": np.ones((7, 1), np.float32)},
        {"norm": "l1"},
        {"lower": 1},
        {"sublinear": None},
    ],
    ids=lambda wrong: f"{next(iter(wrong))}",
)
def test_parts_that_do_not_fit(wrong):
    sound = {"names": names(), "weights": np.ones(7, np.float32), "bins": (1, 1, 1)}
    assert NgramTfidf(**sound).queries(["a b"]).columns.tolist() == [0, 1, 3, 5, 6]
    with pytest.raises(InputError):
        NgramTfidf(**(sound | wrong))


def test_vocabularies_that_do_not_fit():
    unigrams, bigrams, trigrams = names()
    without_slots = Strings(trigrams.data, trigrams.offsets, np.zeros(0, np.uint32))
    for wrong in ([unigrams, bigrams], [unigrams, bigrams, without_slots]):
        with pytest.raises(InputError):
            NgramTfidf(wrong, np.ones(7, np.float32), bins=(1, 1, 1))


def test_weights_of_another_type_become_float32(tmp_path):
    model = NgramTfidf(names(), np.ones(14)[::2], bins=(1, 1, 1))
    model.save(tmp_path / "saved")
    assert load(tmp_path / "saved").fingerprint == model.fingerprint


@pytest.mark.parametrize(
    "wrong",
    [
        {"unigrams": -1},
        {"bigrams": 1.5},
        {"trigrams": 2**31},
        {"unigrams": 0, "bigrams": 0, "trigrams": 0},
        {"min_texts": 0},
        {"unseen": "keep"},
        {"unseen": "hash", "bins": 0},
        {"room": 0},
        {"norm": "l1"},
        {"idf_power": -1},
        {"idf_power": float("nan")},
        {"lower": "yes"},
    ],
    ids=str,
)
def test_options_that_cannot_be(wrong):
    with pytest.raises(InputError, match="must be"):
        NgramTfidf.fit(["a b"], **wrong)


def test_texts_must_be_texts():
    model = NgramTfidf.fit(["a b"])
    for call in (NgramTfidf.fit, model.queries):
        with pytest.raises(InputError, match="put it into a list"):
            call("a b")
        with pytest.raises(InputError, match="Got int at position 1"):
            call(["a", 1])
    with pytest.raises(InputError, match="`threads` must be a whole number above 0"):
        model.queries(["a"], threads=0)


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_is_prompt(threads):
    model = NgramTfidf.fit(["a b"])
    long = ["word " * 200_000] * 400
    work = (lambda: model.queries(long, threads=2)) if threads == 2 else lambda: NgramTfidf.fit(long)
    assert seconds_until_stopped(work, 0.2) < 1.8  # the whole takes 5


@pytest.mark.parametrize("shares", [None, 1, [1, 1], ["1", 1, 1], [1, 1, 0], [True, 1, 1]])
def test_forged_shares_are_refused(model, tmp_path, shares):
    forged = NgramTfidf(model.names, model.weights, **model._rules())
    forged._rules = lambda: {**model._rules(), "shares": shares}
    forged.save(tmp_path / "saved")
    with pytest.raises(FormatError, match="shares"):
        load(tmp_path / "saved")
