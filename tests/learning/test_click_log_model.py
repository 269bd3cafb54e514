"""The click log against a dict of (text, item) pairs: what every method keeps, and what no log may hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.learning.clicks import WEIGHT_UNITS, ClickLog

ITEMS = Strings.of([f"i{number}" for number in range(5)])
TEXTS = ["fig", "pear", "plum tree", "oil", "mute"]
WEIGHTS = st.sampled_from([0.5, 1.0, 2.0, 0.25, 3.0])
CLICKS = st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 4), WEIGHTS), min_size=1, max_size=14)


def encode(texts):
    """Return a vector for each text; nothing is made of "mute"."""
    rows = np.array([[len(text), text.count("e") + 1, ord(text[0]) % 7] for text in texts], np.float32).reshape(-1, 3)
    rows[[text == "mute" for text in texts]] = 0
    return rows


def model(clicks):
    """Return the weight of every pair, of texts that the encoder hears."""
    found = {}
    for text, item, weight in clicks:
        if text != "mute":
            found[text, item] = found.get((text, item), 0.0) + weight
    return found


def pairs(log):
    rows = zip(log.rows.tolist(), log.items.tolist(), (log.units / WEIGHT_UNITS).tolist(), strict=True)
    return {(log.texts[row], item): weight for row, item, weight in rows}


def build(clicks, encoder=encode):
    return ClickLog.of([(text, f"i{item}", weight) for text, item, weight in clicks], ITEMS, encoder)


@given(CLICKS, st.integers(0, 10**6))
def test_a_log_is_its_pairs_whatever_is_taken_of_it(clicks, seed):
    wanted, rng = model(clicks), np.random.default_rng(seed)
    log = build(clicks)
    texts = sorted({text for text, _ in wanted})
    assert pairs(log) == wanted and log.texts == texts and len(log) == len(texts)
    assert log.silent == len({text for text, *_ in clicks} & {"mute"})
    units = encode(texts) / np.maximum(np.linalg.norm(encode(texts), axis=1, keepdims=True), 1e-9)
    assert np.allclose(log.vectors, units, atol=1e-6) and log.width == 5
    assert log.clicked.tolist() == [any(item == number for _, item in wanted) for number in range(5)]
    heaviest = {text: max(weight for (own, _), weight in wanted.items() if own == text) for text in texts}
    assert log.shares.tolist() == pytest.approx([weight / heaviest[text] for (text, _), weight in pairs(log).items()])
    assert pairs(log.binary) == dict.fromkeys(wanted, 1.0) and (log.binary.vectors == log.vectors).all()
    dense = np.zeros((len(texts), 5))
    for (text, item), weight in wanted.items():
        dense[texts.index(text), item] = weight
    assert (log.clicks.toarray() == dense).all() and (log.matrix.toarray() == dense * WEIGHT_UNITS).all()
    order = rng.permutation(len(texts))[: max(1, len(texts) // 2)] if texts else np.zeros(0, np.int64)
    some = log.take(order)
    assert some.texts == [texts[at] for at in order] and (some.clicks.toarray() == dense[order]).all()
    assert (some.vectors == log.vectors[order]).all()
    kept = rng.random(len(log.items)) < 0.5
    left = log.only(kept)
    assert pairs(left) == {pair: weight for (pair, weight), keep in zip(pairs(log).items(), kept, strict=True) if keep}
    assert left.texts == [text for text in texts if any(own == text for own, _ in pairs(left))]
    numbers = np.where(rng.random(5) < 0.3, -1, np.cumsum(np.ones(5, np.int64)) + 1)
    moved = log.renumbered(numbers, 7)
    assert pairs(moved) == {(text, int(numbers[i])): w for (text, i), w in wanted.items() if numbers[i] >= 0}
    assert moved.width == 7
    other = log.encoded_by(lambda texts: np.array([[0.0, "f" not in text] for text in texts], float).reshape(-1, 2))
    assert pairs(other) == {pair: weight for pair, weight in wanted.items() if "f" not in pair[0]}


@given(CLICKS, CLICKS)
def test_clicks_that_are_added_and_taken_away_leave_what_was(first, second):
    log, more = build(first), [(text, f"i{item}", weight) for text, item, weight in second]
    grown, _ = log.changed(more, ITEMS, encode)
    assert pairs(grown) == model([*first, *second])
    back, _ = grown.changed(more, ITEMS, encode, sign=-1)
    assert pairs(back) == pairs(log) and back.texts == log.texts and np.allclose(back.vectors, log.vectors)


def test_reciprocal_ranks_of_the_first_clicked_item():
    log = build([("fig", 3, 1.0), ("fig", 1, 1.0), ("oil", 4, 1.0), ("pear", 0, 1.0)])
    found = Candidates.from_dict(
        {"fig": {"i0": 5.0, "i1": 4.0, "i3": 3.0}, "oil": {"i1": 1.0}, "pear": {"i0": 2.0, "i2": 1.0}}, catalog=ITEMS
    )
    assert log.reciprocal_ranks(found).tolist() == [0.5, 0.0, 1.0]
    assert log.reciprocal_ranks(found, np.array([1, 2, 3, 1, 1, 2], np.float32)).tolist() == [1.0, 0.0, 0.5]


SOUND = {
    "queries": Strings.of(["fig", "oil"]), "vectors": np.array([[1, 0], [0.6, 0.8]], np.float32),
    "offsets": np.array([0, 1, 3]), "items": np.array([2, 0, 4], np.int32), "units": np.array([1, 1024, 5]),
}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"items": np.array([-1, 0, 4], np.int32)},
        {"items": np.array([2, 0, 5], np.int32)},
        {"units": np.array([0, 1024, 5])},
        {"units": np.array([1, 1024])},
        {"offsets": np.array([0, 0, 3])},
        {"offsets": np.array([0, 1, 2])},
        {"offsets": np.array([0, 3])},
        {"queries": Strings.of(["fig"])},
        {"vectors": np.array([[2, 0], [0.6, 0.8]], np.float32)},
        {"vectors": np.array([[np.nan, 0], [0.6, 0.8]], np.float32)},
    ],
)
def test_what_no_log_may_hold(wrong):
    names = ("queries", "vectors", "offsets", "items", "units")
    assert len(ClickLog(*(SOUND[name] for name in names), width=5)) == 2
    with pytest.raises(InputError):
        ClickLog(*({**SOUND, **wrong}[name] for name in names), width=5)
