"""Training learns what a log teaches, and every option does what it says."""

from __future__ import annotations

import warnings
from time import process_time

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.methods.xrlinear.toy import toy
from tests.support.folders import contents
from tests.support.interrupts import seconds_until_stopped
from vizsla.base.encoder import FunctionEncoder
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.indexes.tree import layer_matchers
from vizsla.methods.xrlinear.layer import train_layer
from vizsla.methods.xrlinear.tree import LabelTree
from vizsla.methods.xrlinear.tuning import default_encoder

NICKNAMES = [f"nick{number}" for number in range(42)]
CLICKED = [f"i{number}" for number in range(42)]


def weights_of(model):
    return [layer_matchers(model.index, number) for number in range(len(model.index.layers))]


def best(model, texts):
    return [row[0] for row in model(texts, k=1).ids]


def test_learns_words_that_only_queries_use(model):
    assert best(model, NICKNAMES) == CLICKED
    assert best(model, [f"nick{n} {t}" for n, t in [(3, "railway"), (40, "library")]]) == ["i3", "i40"]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_every_loss_learns_the_log_in_its_own_way(train, log, model, loss):
    trained = train(log, loss=loss, threshold=0.01)
    assert best(trained, NICKNAMES) == CLICKED
    same = np.array_equal(weights_of(trained)[0].values, weights_of(train(log, threshold=0.01))[0].values)
    assert same == (loss == "squared_hinge")


@pytest.mark.parametrize("negatives", ["man", "tfn+man"])
def test_matcher_aware_negatives_learn_the_log(train, log, negatives):
    assert best(train(log, negatives=negatives), NICKNAMES) == CLICKED


def test_negatives_may_be_a_function_or_a_matrix(train, warm, log):
    plain = weights_of(train(warm))
    calls = []
    called = train(warm, negatives=lambda layer, trained: calls.append((layer, len(trained))))
    assert calls == [(1, 1), (2, 2)]
    assert all(np.array_equal(a.values, b.values) for a, b in zip(weights_of(called), plain, strict=True))
    shown = csr_array((len(warm.queries), len(warm.items)), dtype=np.float32).tolil()
    shown[:, 5] = 1  # everybody saw item 5
    seen = train(warm, negatives=shown.tocsr())
    assert not np.array_equal(weights_of(seen)[-1].values, plain[-1].values)
    leaf = seen.tree.leaf_of(5)
    other = next(n for n in range(48) if seen.tree.leaf_of(n) != leaf)
    query = f"nick{other}"
    assert seen.explain(query, "i5").parts[-2].score < train(warm).explain(query, "i5").parts[-2].score


def test_threshold_drops_small_weights_and_zero_stores_none(train, warm):
    everything, some = weights_of(train(warm, threshold=0.0)), weights_of(train(warm, threshold=0.2))
    for all_of_layer, kept in zip(everything, some, strict=True):
        assert (all_of_layer.values != 0).all() and (np.abs(kept.values) > 0.2).all()
        assert 0 < len(kept.values) < len(all_of_layer.values)


def test_max_nonzeros_limits_every_matcher(train, warm):
    for layer in weights_of(train(warm, max_nonzeros=4)):
        assert np.diff(layer.offsets).max() == 4


def test_bias_can_be_left_out(train, warm, model):
    without = train(warm, bias=0.0)
    assert all((layer.features < without.index.dim).all() for layer in weights_of(without))
    assert any((layer.features == model.index.dim).any() for layer in weights_of(model))
    assert best(without, NICKNAMES) == CLICKED


def test_larger_cost_fits_the_log_more_closely(train, warm):
    def loss(C):
        return -train(warm, C=C, threshold=0.0).score(NICKNAMES, _pairs(warm)).scores.sum()

    assert loss(10.0) < loss(1.0) < loss(0.1)


def _pairs(dataset):
    from vizsla.core.candidates import Candidates

    return Candidates.from_rows([np.array([n], np.int32) for n in range(42)], catalog=dataset.item_ids)


def test_without_item_texts_only_queries_teach(train, warm):
    assert "shelf3" not in train(warm, item_texts=False).encoder.names[0]
    assert "shelf3" in train(warm).encoder.names[0]


def test_representation_decides_who_lives_together(train):
    # By text 0 and 1 belong together, by clicks 0 and 2.
    items = {"0": "oak bark", "1": "oak leaf", "2": "salt water", "3": "salt wind"}
    clicks = [(q, i) for q, pair in {"ruby red": "02", "jade green": "13"}.items() for i in pair]
    log = Dataset.of(items, clicks=clicks)
    options = {"branching": 2, "max_leaf": 2, "item_texts": False, "cold_start": False}
    mates = {how: train(log, representation=how, **options).leaf_mates("0") for how in ("pifa", "text")}
    assert mates == {"pifa": ["2"], "text": ["1"]}
    mine = np.array([[1, 0], [0, 1], [0, 1], [1, 0]], np.float32)
    assert train(log, representation=mine, **options).leaf_mates("0") == ["3"]
    assert train(log, representation=csr_array(mine), **options).leaf_mates("0") == ["3"]
    for how in ("concat", "blend"):  # the larger share decides
        knowing = {**options, "encoder": default_encoder([*items.values(), "ruby red", "jade green"])}
        by_share = [train(log, representation=how, share=share, **knowing).leaf_mates("0") for share in (0.9, 0.1)]
        assert by_share == [["2"], ["1"]]


def test_a_tree_of_ones_own_is_kept(train, log):
    tree = LabelTree([[0, 2], [0, 24, 48]], np.arange(48)[::-1].copy())
    model = train(log, tree=tree)
    assert np.array_equal(model.tree.items, tree.items) and model.tree.depth == 2
    assert best(model, NICKNAMES) == CLICKED


def test_compact_weights_are_smaller_and_rank_alike(train, log, model):
    sizes = [model.index.nbytes]
    for weights in ("int16", "int8"):
        quantize = train(log, weights=weights)
        assert best(quantize, NICKNAMES) == CLICKED
        sizes.append(quantize.index.nbytes)
    assert sizes == sorted(sizes, reverse=True)


def letters(texts):
    return [[text.count(c) / (1 + len(text)) for c in "abcdefghijklmnopqrstuvwxyz0123456789"] for text in texts]


def test_any_encoder_will_do(train):
    log = toy(cold=2)
    dense = FunctionEncoder(letters, dim=36, name="letters")
    model = train(log, encoder=dense, C=100.0, threshold=0.0)
    found = model.with_effort(50)([f"nick{n}" for n in range(46)], k=10)
    assert np.mean([f"i{n}" in row for n, row in enumerate(found.ids)]) > 0.9
    assert model.index.dim == 36 and "feature" in str(model.explain("nick7", "i7"))


@pytest.mark.parametrize("threads", [1, 2])
def test_same_data_same_bytes(train, log, model, tmp_path, threads):
    one, two = model.save(tmp_path / "one"), train(log, threads=threads).save(tmp_path / "two")
    assert contents(one) == contents(two)


def test_items_need_no_texts(train):
    with warnings.catch_warnings(action="ignore"):
        bare = toy(cold=3, text=False)
    model = train(bare)
    assert best(model, NICKNAMES) == CLICKED
    assert model.texts is None and model.calibration is None
    with pytest.raises(InputError, match="must know its items' texts"):
        model.with_items({"new": "a garden"})
    with pytest.raises(InputError, match="must have item texts"):
        train(bare, representation="text")


def test_a_few_items_without_anything_do_no_harm(train):
    items = {"a": "oak", "b": "salt", "c": "", "d": ""}
    with warnings.catch_warnings(action="ignore"):
        log = Dataset.of(items, clicks=[("ruby", "a"), ("jade", "b"), ("opal", "c")])
    model = train(log, max_leaf=2)
    assert best(model, ["ruby", "jade", "opal"]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_leaf": 257}, "`max_leaf` must be at most 256. Got 257."),
        ({"branching": 300}, "`branching` must be at most 256. Got 300."),
        ({"loss": "l7"}, "`loss` must be one of"),
        ({"transform": "tanh"}, "`transform` must be one of"),
        ({"weights": "int4"}, "`weights` must be one of"),
        ({"click_weights": "sqrt"}, "`click_weights` must be one of"),
        ({"negatives": "random"}, "`negatives` must be one of"),
        ({"negatives": 3}, "`negatives` must be a scheme, a matrix or a function"),
        ({"negatives": csr_array((3, 3))}, "`negatives` must have the shape of the dataset's clicks"),
        ({"representation": "names"}, "`representation` must be one of"),
        ({"representation": np.zeros((3, 2), np.float32)}, "must have 48 rows"),
        ({"tree": LabelTree([[0, 2]], [0, 1])}, "`tree` must hold the dataset's 48 items. Got one of 2."),
        ({"C": -1.0}, "cost must be above 0"),
        ({"neighbors": 0}, "`neighbors` must be"),
        ({"beam": 0}, "`beam` must be"),
    ],
)
def test_wrong_options_are_refused(train, log, options, message):
    with pytest.raises(InputError, match=message):
        train(log, **options)


def test_a_wide_tree_of_ones_own_is_refused(train):
    wide = toy(300)
    with pytest.raises(InputError, match="more than 256 children. Got one with 300"):
        train(wide, tree=LabelTree([[0, 300]], np.arange(300)))


def test_a_dataset_must_teach_something(train):
    with pytest.raises(InputError, match="must have clicks"):
        train(Dataset.of(["a fig"]))


def test_an_interrupt_stops_training_early():
    pick = np.random.default_rng(0)
    X = csr_array((pick.random((3000, 300)) < 0.2).astype(np.float32))
    labels = csr_array(np.eye(250, dtype=np.float32)[pick.integers(0, 250, 3000)])

    def work():
        train_layer(X, labels, np.ones((3000, 1), np.float32), np.array([0, 250]), tolerance=1e-9, epochs=150)

    start = process_time()
    work()
    whole = process_time() - start
    assert seconds_until_stopped(work, whole / 8) < 0.6 * whole
