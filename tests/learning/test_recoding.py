"""Recoding: the choice of a twin that tries every centroid, and what must stay as it is."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.learning.recoding import CodeGradients, recoded

PARTS, COUNT, WIDTH, ITEMS, QUERIES = 3, 5, 2, 90, 40


def problem(seed=0, pairs=300):
    pick = np.random.default_rng(seed)
    centroids = pick.standard_normal((PARTS, COUNT, WIDTH)).astype(np.float32)
    codes = pick.integers(0, COUNT, (ITEMS, PARTS)).astype(np.uint8)
    rotated = pick.standard_normal((QUERIES, PARTS * WIDTH)).astype(np.float32)
    queries, items = pick.integers(0, QUERIES, pairs), pick.integers(0, ITEMS - 10, pairs)
    slopes, curvatures = pick.standard_normal(pairs), pick.random(pairs)
    return (
        centroids,
        codes,
        CodeGradients(rotated, queries, items, slopes.astype(np.float32), curvatures.astype(np.float32)),
    )


def decoded(centroids, codes):
    return np.concatenate([centroids[part, code] for part, code in enumerate(codes)]).astype(np.float64)


def change(seen, item, step, damping):
    """Return by how much the loss changes, as the formula says, where what an item stands for moves by a step."""
    mine = seen.items == item
    moves = seen.rotated[seen.queries[mine]].astype(np.float64) @ step
    moment = np.mean([(row @ step) ** 2 for row in seen.rotated.astype(np.float64)])
    weight = damping * seen.curvatures.sum(dtype=np.float64) / len(np.unique(seen.items))
    return seen.slopes[mine] @ moves + 0.5 * seen.curvatures[mine] @ moves**2 + 0.5 * weight * moment


def twin(centroids, codes, seen, damping, allowed):
    found = codes.copy()
    for item in np.unique(seen.items):
        start = decoded(centroids, codes[item])
        for part in range(PARTS):
            tried = [found[item].copy() for _ in range(COUNT)]
            for code in range(COUNT):
                tried[code][part] = code
            losses = [change(seen, item, decoded(centroids, each) - start, damping) for each in tried]
            found[item, part] = np.where(allowed[part], losses, np.inf).argmin()
    return found


@pytest.mark.parametrize(("damping", "barred"), [(1.0, 0), (0.1, 0), (1.0, 2)])
def test_it_chooses_as_a_twin_that_tries_every_centroid(damping, barred):
    centroids, codes, seen = problem()
    allowed = np.ones((PARTS, COUNT), bool)
    allowed[1, :barred] = False
    found = recoded(centroids, codes, seen, damping=damping, allowed=allowed)
    assert np.array_equal(found, twin(centroids, codes, seen, damping, allowed))
    assert (found != codes).any()


def test_who_was_not_seen_keeps_its_codes_and_nothing_is_changed_in_place():
    centroids, codes, seen = problem()
    before = codes.copy()
    found = recoded(centroids, codes, seen)
    assert np.array_equal(codes, before)
    assert np.array_equal(found[ITEMS - 10 :], codes[ITEMS - 10 :])


def test_nobody_moves_who_is_damped_or_pleased():
    centroids, codes, seen = problem()
    assert np.array_equal(recoded(centroids, codes, seen, damping=1e6), codes)
    pleased = seen._replace(slopes=np.zeros_like(seen.slopes))
    assert np.array_equal(recoded(centroids, codes, pleased), codes)


def test_blocks_change_nothing(monkeypatch):
    centroids, codes, seen = problem(pairs=900)
    found = recoded(centroids, codes, seen)
    monkeypatch.setattr("vizsla.learning.recoding.PAIRS_PER_BLOCK", 25)
    assert np.array_equal(recoded(centroids, codes, seen), found)


def test_batches_are_put_together():
    _, _, seen = problem()
    first = seen.queries < 15
    arrays = [(seen.items, seen.slopes, seen.curvatures)] * 2
    picked = [[array[chosen] for array in three] for three, chosen in zip(arrays, (first, ~first), strict=True)]
    head = CodeGradients(seen.rotated[:15], seen.queries[first], *picked[0])
    tail = CodeGradients(seen.rotated[15:], seen.queries[~first] - 15, *picked[1])
    both = CodeGradients.joined([head, tail])
    order = np.concatenate([np.flatnonzero(first), np.flatnonzero(~first)])
    assert np.array_equal(both.rotated, seen.rotated) and np.array_equal(both.queries, seen.queries[order])
    assert np.array_equal(both.slopes, seen.slopes[order]) and np.array_equal(both.items, seen.items[order])


def test_nothing_seen_changes_nothing():
    centroids, codes, seen = problem(pairs=0)
    assert np.array_equal(recoded(centroids, codes, seen), codes)
