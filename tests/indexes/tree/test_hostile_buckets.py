"""What adding and removing items reads from a tree is bounded as what searching reads: it corrupted SciPy's heap."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from tests.artifacts.hostile import npy
from tests.artifacts.signing import replace
from tests.contract.registry import RETRIEVERS
from tests.fuzz.resigning import resign
from vizsla.errors import VizslaError
from vizsla.indexes.tree import SLOTS_PER_BUCKET, all_matchers

FEATURES = (2**31 - 2, 2**30, 2**20)


@pytest.fixture(scope="module")
def model():
    return RETRIEVERS["xrlinear"].make()


def hostile(model, folder, change):
    """Save the model, let `change` do something to the buckets of its last layer, and load it again."""
    saved = model.save(folder / "saved")
    file = sorted((saved / "tree").glob("layer*.buckets.npy"))[-1]
    buckets = np.load(file)
    change(buckets.reshape(-1, 2, SLOTS_PER_BUCKET))
    replace(file, npy(buckets))
    resign(saved)
    return vizsla.load(saved)


@pytest.mark.parametrize("feature", FEATURES)
def test_features_above_the_bias_are_left_out(model, tmp_path, feature):
    def change(words):
        words[:, 0, 0] = feature

    loaded = hostile(model, tmp_path, change)
    for layer in all_matchers(loaded.index):
        assert layer.features.max(initial=0) <= loaded.index.dim
    for use in (lambda: loaded.with_items({"new": "fig tree"})("fig"), lambda: loaded.without_items([loaded.items[0]])):
        try:
            use()
        except VizslaError:
            continue


def test_rows_that_claim_more_than_their_chunk_has_are_left_out(model, tmp_path):
    def change(words):
        words[:, 0] = np.arange(words[:, 0].size).reshape(-1, SLOTS_PER_BUCKET) % 50
        words[:, 1] = 0xFF  # from the first entry on, 256 of them

    loaded = hostile(model, tmp_path, change)
    sound, claimed = all_matchers(model.index)[-1], all_matchers(loaded.index)[-1]
    assert len(claimed.features) <= len(sound.features)


def test_matchers_of_a_sound_tree_are_all_read(model):
    index = model.index
    rebuilt = index.with_matchers(all_matchers(index))
    for one, other in zip(index.layers, rebuilt.layers, strict=True):
        assert np.array_equal(one.buckets, other.buckets) and np.array_equal(one.entries, other.entries)
