"""Votes counted and added natively, against the same in plain Python; what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vizsla import _native
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.learning.clicks import ClickLog
from vizsla.methods.pefa.options import XlSettings
from vizsla.methods.pefa.xl import VoteCounter

WIDTH = 12


def random_log(pick: np.random.Generator, queries: int) -> ClickLog:
    ids = Strings.of([f"i{n}" for n in range(WIDTH)])
    clicks = [
        (f"q{q:02}", f"i{item}", float(pick.integers(1, 9)))
        for q in range(queries)
        for item in pick.permutation(WIDTH)[: pick.integers(1, 5)]
    ]
    return ClickLog.of(clicks, ids, lambda texts: np.eye(len(texts)))


def random_neighbors(pick: np.random.Generator, rows: int, queries: int) -> Candidates:
    lists = [pick.permutation(queries)[: pick.integers(0, queries + 1)].astype(np.int32) for _ in range(rows)]
    scores = np.concatenate([np.sort(pick.uniform(-0.5, 1, len(one)))[::-1] for one in lists]).astype(np.float32)
    return Candidates(np.cumsum([0, *map(len, lists)]), np.concatenate(lists), scores)


def votes_twin(log: ClickLog, near: Candidates, row: int, how: XlSettings) -> dict[int, float]:
    """One row's votes by item, added up in the order of the past queries' numbers."""
    items, similar = near.row(row)
    voters = sorted(zip(items.tolist(), similar.tolist(), strict=True), key=lambda pair: pair[0])
    voters = [pair for pair in voters if pair[0] in set(items[: how.neighbors].tolist()) and pair[1] > how.near]
    said: dict[int, list[float]] = {}
    for query, similarity in voters:
        clicks = slice(int(log.offsets[query]), int(log.offsets[query + 1]))
        heaviest = int(log.units[clicks].max())
        for item, units in zip(log.items[clicks].tolist(), log.units[clicks].tolist(), strict=True):
            said.setdefault(item, []).append((similarity - how.near) * (units / heaviest))
    if how.votes == "max":
        return {item: max(values) for item, values in said.items()}
    return {item: sum(values, 0.0) / how.neighbors for item, values in said.items()}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["mean", "max"]), st.integers(1, 9), st.sampled_from([0.0, 0.3, -0.4]))
def test_votes_are_those_of_the_twin_to_the_last_bit(seed, votes, neighbors, near):
    pick = np.random.default_rng(seed)
    log, how = random_log(pick, 8), XlSettings(0.5, neighbors, votes, near)
    found = random_neighbors(pick, 5, 8)
    allowed = None if seed % 2 else Filter(pick.random(WIDTH) < 0.5)
    counted = VoteCounter(log).count(found, how, allowed)
    for row in range(5):
        expected = votes_twin(log, found, row, how)
        if allowed is not None:
            expected = {item: value for item, value in expected.items() if allowed.mask[item]}
        at = slice(int(counted.offsets[row]), int(counted.offsets[row + 1]))
        got = dict(zip(counted.items[at].tolist(), counted.values[at].tolist(), strict=True))
        assert got == expected and list(got) == sorted(got)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 15))
def test_base_and_votes_joined_are_a_dictionary_of_sums(seed, k):
    pick = np.random.default_rng(seed)
    rows, clicked, base = 4, pick.random(WIDTH) < 0.6, pick.integers(-3, 4, (4, WIDTH)).astype(np.float32)
    found = [np.sort(pick.permutation(WIDTH)[: pick.integers(0, WIDTH)]).astype(np.int32) for _ in range(rows)]
    voted = [np.sort(pick.permutation(WIDTH)[: pick.integers(0, WIDTH)]).astype(np.int32) for _ in range(rows)]
    values = [pick.random(len(one)) for one in voted]
    joined = _native.VotedSum(
        (_offsets(found), np.concatenate(found), np.concatenate([base[r, one] for r, one in enumerate(found)])),
        (_offsets(voted), np.concatenate(voted), np.concatenate(values)),
        WIDTH,
    )
    missing = joined.missing()
    wanted = [np.setdiff1d(v, f) for v, f in zip(voted, found, strict=True)]
    if missing is None:
        assert not sum(map(len, wanted))
    else:
        offsets, items = np.frombuffer(missing[0], np.int64), np.frombuffer(missing[1], np.int32)
        assert items.tolist() == np.concatenate(wanted).tolist() and offsets.tolist() == _offsets(wanted).tolist()
        joined.fill(np.concatenate([base[row, one] for row, one in enumerate(wanted)]))
    offsets, items, scores = map(np.frombuffer, joined.best(2.0, 0.25, clicked, k), (np.int64, np.int32, np.float32))
    for row in range(rows):
        votes = dict(zip(voted[row].tolist(), values[row].tolist(), strict=True))
        totals = {
            int(item): np.float32(float(base[row, item]) + 2.0 * (votes.get(int(item), 0.0) - 0.25 * clicked[item]))
            for item in np.union1d(found[row], voted[row])
        }
        best = sorted(totals, key=lambda item: (-totals[item], item))[:k]
        at = slice(int(offsets[row]), int(offsets[row + 1]))
        assert items[at].tolist() == best and scores[at].tolist() == [totals[item] for item in best]


def _offsets(rows: list) -> np.ndarray:
    return np.cumsum([0, *map(len, rows)], dtype=np.int64)


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def wide(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


LOG = (wide(0, 1, 2), numbers(0, 1), wide(5, 5), 2)
NEAR = (wide(0, 1), numbers(1), np.ones(1, np.float32), 1, 0.0, False, None)
FOUND = (wide(0, 1), numbers(0), np.ones(1, np.float32))
VOTES = (wide(0, 2), numbers(0, 1), np.ones(2))


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (0, wide(0, 2, 1), "offsets"),
        (0, wide(0, 1, 3), "offsets"),
        (1, numbers(0, 2), "on an item"),
        (1, numbers(0, -1), "on an item"),
        (2, wide(5, 0), "more than 0"),
        (2, wide(5), "weight for each"),
    ],
)
def test_a_log_that_does_not_fit_is_refused(at, value, said):
    with pytest.raises(ValueError, match=said):
        _native.ClickVotes(*LOG[:at], value, *LOG[at + 1 :])


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (0, wide(0, 2), "offsets"),
        (1, numbers(2), "past query"),
        (1, numbers(-1), "past query"),
        (2, np.ones(2, np.float32), "similarity for each"),
        (3, 0, "neighbors"),
        (4, np.nan, "finite"),
        (6, np.ones(3, np.bool_), "flag for each"),
    ],
)
def test_neighbors_that_do_not_fit_are_refused(at, value, said):
    clicks = _native.ClickVotes(*LOG)
    assert clicks.count(*NEAR)
    with pytest.raises(ValueError, match=said):
        clicks.count(*NEAR[:at], value, *NEAR[at + 1 :])


@pytest.mark.parametrize(
    ("found", "votes", "said"),
    [
        ((wide(0, 2), *FOUND[1:]), VOTES, "offsets"),
        ((FOUND[0], numbers(2), FOUND[2]), VOTES, "found must be"),
        ((FOUND[0], numbers(0), np.ones(2, np.float32)), VOTES, "score for each"),
        (FOUND, (wide(0, 1), *VOTES[1:]), "offsets"),
        (FOUND, (VOTES[0], numbers(0, 2), VOTES[2]), "for an item"),
        (FOUND, (VOTES[0], numbers(1, 0), VOTES[2]), "ascending"),
        (FOUND, (VOTES[0], numbers(1, 1), VOTES[2]), "ascending"),
        (FOUND, (*VOTES[:2], np.ones(1)), "votes for each"),
        (FOUND, (wide(0, 1, 2), *VOTES[1:]), "as many rows"),
    ],
)
def test_rows_that_do_not_fit_are_refused(found, votes, said):
    with pytest.raises(ValueError, match=said):
        _native.VotedSum(found, votes, 2)
    with pytest.raises(ValueError, match=said.replace("found must be", "must be one")):
        _native.add_votes(found, votes, 1.0, 0.0, np.ones(2, np.bool_))


def test_what_is_missing_must_be_scored_first():
    joined = _native.VotedSum(FOUND, VOTES, 2)
    flags = np.ones(2, np.bool_)
    with pytest.raises(ValueError, match="scored first"):
        joined.best(1.0, 0.0, flags, 2)
    with pytest.raises(ValueError, match="score for each"):
        joined.fill(np.ones(2, np.float32))
    with pytest.raises(ValueError, match="NaN"):
        joined.fill(np.full(1, np.nan, np.float32))
    joined.fill(np.ones(1, np.float32))
    with pytest.raises(ValueError, match="flag for each"):
        joined.best(1.0, 0.0, flags[:1], 2)
    assert np.frombuffer(joined.best(1.0, 0.0, flags, 2)[1], np.int32).tolist() == [0, 1]
