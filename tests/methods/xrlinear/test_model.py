"""The model as a thing to use: beams, reasons, the tree, files, processes."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import vizsla
from tests.artifacts.hostile import hostile
from tests.methods.xrlinear.conftest import SMALL
from tests.methods.xrlinear.test_training import letters
from tests.methods.xrlinear.toy import toy
from tests.support.stuck import finished
from vizsla.base.encoder import FunctionEncoder
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import FormatError, InputError, VizslaError
from vizsla.indexes.tree import all_matchers
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.methods.xrlinear.model import prune, quantize

QUERIES = [f"nick{n} garden" for n in range(12)]


def test_beam_is_an_argument_and_a_default(model):
    narrow = model.with_effort(1)
    assert model.with_effort(1)(QUERIES, k=3) == narrow(QUERIES, k=3) != model.with_effort(50)(QUERIES, k=3)
    assert model.exhaustive()(QUERIES, k=9) == model.with_effort(48)(QUERIES, k=9)
    with pytest.raises(InputError, match="`effort` must be"):
        model.with_effort(0)("nick1")


def test_a_wider_beam_never_finds_worse(model):
    scores = [model.with_effort(beam)(QUERIES, k=5).scores.sum() for beam in (1, 2, 4, 8, 48)]
    assert scores == sorted(scores)


def test_reasons_add_up_and_name_ngrams_and_queries(model):
    why = model.explain("nick7 kitchen", "i7")
    score = model.score("nick7 kitchen", model("nick7 kitchen", k=48)).to_dict()["0"]["i7"]
    steps, chosen = why.parts[:-1], why.parts[-1]
    assert why.score == pytest.approx(score) == pytest.approx(sum(step.score for step in steps), abs=1e-4)
    assert len(steps) == len(model.index.layers)
    assert any(part.reason == "'nick7'" for part in steps[-1].parts)
    assert chosen.reason.startswith("chosen for 3 training queries")
    assert {part.reason for part in chosen.parts} == {"'nick7'", "'kitchen thing7'", "'nick7 kitchen'"}


def test_the_tree_can_be_read(model):
    mates = model.leaf_mates("i7")
    assert "i7" not in mates and all("i7" in model.leaf_mates(mate) for mate in mates)
    assert sum(len(model.tree.items_under(1, node)) for node in range(model.tree.widths[0])) == 48
    last = len(model.index.layers) - 1
    name, weight = model.top_features(last, model.tree.path(7)[-1], most=1)[0]
    assert name in {"'nick7'", "'nick7#kitchen'", "'#ni'", "'kitchen#thing7'", "'thing7'"} and weight > 0
    assert len(model.top_features(0, 0, most=4)) == 4


@pytest.mark.parametrize(
    ("layer", "node", "name"), [(9, 0, "layer"), (-1, 0, "layer"), (0, 999, "node"), (0, -1, "node")]
)
def test_a_node_that_is_not_there_is_named(model, layer, node, name):
    with pytest.raises(InputError, match=f"`{name}` must be from 0 to"):
        model.top_features(layer, node)


def test_bytes_are_those_that_answering_needs(model, tmp_path):
    """All that a saved model holds, but item ids and what only explanations and new items need; headers left out.

    Besides, the way from each item to the root: its place among the leaves, and of each node the one above it.
    """
    saved = model.save(tmp_path / "saved")
    unneeded = ("training_queries.", "texts.")
    files = [f for f in saved.rglob("*.npy") if not (f.parent == saved and f.name.startswith(unneeded))]
    files = [file for file in files if file.parent.name != "items"]
    assert {file.parent.name for file in files} == {"encoder", "tree"}
    assert model.nbytes == sum(np.load(file, allow_pickle=False).nbytes for file in files) + way_bytes(model)


def test_bytes_count_an_encoder_that_is_an_artifact(train, tmp_path):
    log = toy(cold=2)
    model = train(log, encoder=LsaEncoder.fit([item.text for item in log.items], dim=12))
    saved = model.save(tmp_path / "saved")
    parts = [file for folder in ("tree", "encoder") for file in (saved / folder).rglob("*.npy")]
    assert model.nbytes == sum(np.load(file, allow_pickle=False).nbytes for file in parts) + way_bytes(model)


def way_bytes(model):
    """Of every item its leaf and the leaf's parent, of every node its parent."""
    return 4 * (2 * len(model.items) + sum(int(layer.child_offsets[-1]) for layer in model.index.layers))


def test_a_model_says_what_it_is(model):
    assert repr(model) == "XrLinear(48 items, beam 10)"
    assert repr(model.with_effort(3).with_items({f"n{n}": "" for n in range(952)})) == "XrLinear(1,000 items, beam 3)"


def test_two_processes_share_one_saved_model(model, tmp_path):
    saved = model.save(tmp_path / "saved")
    code = "import sys, json, vizsla; m = vizsla.load(sys.argv[1]); print(json.dumps(m(sys.argv[2:], k=5).ids))"
    arguments = [sys.executable, "-c", code, str(saved), *QUERIES]
    running = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    answers = [json.loads(finished(process)[0]) for process in running]
    assert answers == [model(QUERIES, k=5).ids] * 2


def test_an_encoder_of_code_must_be_brought_again(train, tmp_path):
    encoder = FunctionEncoder(letters, dim=36, name="letters")
    model = train(toy(cold=2), encoder=encoder)
    loaded = vizsla.load(model.save(tmp_path / "saved"))
    with pytest.raises(VizslaError):
        loaded("nick1")
    brought = loaded.with_encoder(encoder)
    assert brought(QUERIES) == model(QUERIES)
    assert brought.with_items({"new": "garden"})(QUERIES) == model.with_items({"new": "garden"})(QUERIES)
    with pytest.raises(InputError, match="must be the one that .* was built with"):
        loaded.with_encoder(FunctionEncoder(letters, dim=36, name="others"))


def test_an_encoder_that_is_an_artifact_is_saved_along(train, tmp_path):
    log = toy(cold=2)
    model = train(log, encoder=LsaEncoder.fit([item.text for item in log.items], dim=12))
    assert vizsla.load(model.save(tmp_path / "saved"))(QUERIES) == model(QUERIES)


def test_pruning_is_training_with_the_threshold(train, warm):
    full, pruned = (train(warm, threshold=t, cold_start=False) for t in (0.0, 0.3))
    later = prune(full, 0.3)
    for a, b in zip(later.index.layers, pruned.index.layers, strict=True):
        assert all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    assert later(QUERIES) == pruned(QUERIES)
    with pytest.raises(InputError, match="`threshold` must be 0 or more. Got -1"):
        prune(full, -1)


@pytest.mark.parametrize(("weights", "largest"), [("int16", 32767), ("int8", 127)])
def test_compact_weights_are_the_nearest_steps(model, weights, largest):
    small = quantize(model, weights)
    exact, rounded = all_matchers(model.index), all_matchers(small.index)
    for layer, before, after in zip(model.index.layers, exact, rounded, strict=True):
        parents = np.searchsorted(layer.child_offsets, np.arange(len(before.offsets) - 1), side="right") - 1
        chunk_of = np.repeat(parents, np.diff(before.offsets))
        sizes = [np.abs(before.values[chunk_of == chunk]).max(initial=0) for chunk in range(parents.max() + 1)]
        steps = 2 ** np.ceil(np.log2(np.array(sizes) / largest))  # at most: a power of two keeps products exact
        assert np.array_equal(before.features, after.features)
        assert np.all(np.abs(before.values - after.values) <= 0.5 * steps[chunk_of])
    assert small.index.nbytes < model.index.nbytes
    assert small(QUERIES, k=3).ids == xrlinear(toy(cold=6), **SMALL, weights=weights)(QUERIES, k=3).ids


def test_prepared_files_never_crash(model, tmp_path):
    saved = model.save(tmp_path / "saved")
    tried = 0
    for prepared in hostile(saved, tmp_path / "prepared", step=7):
        tried += 1
        try:
            loaded = vizsla.load(prepared)
            loaded(QUERIES[:2], k=5)
            loaded.with_items({"x": "garden"}).without_items(["x"])
            loaded.explain("nick1", loaded.items[0])
        except (FormatError, VizslaError):
            continue
    assert tried > 100
