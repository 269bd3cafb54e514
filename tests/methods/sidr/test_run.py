"""What stands around the steps of SiDR's training: what is held out, the tables, the best epoch, the items' scale."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.methods.sidr.tiny import ITEMS, dataset, model_folder, tiny_base
from vizsla.learning.clicks import ClickLog
from vizsla.learning.selection import Choice
from vizsla.learning.splits import table_split
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.train_sidr import (
    ITEM_SCALE_ALONE,
    ITEM_SCALE_BESIDE_TOKENS,
    ITEM_SCALE_FACTORS,
    MAX_HELD_OUT_QUERIES,
    RERANKED_DEPTH,
    _items,
    initialized_model,
    tune_item_scale,
)
from vizsla.methods.sidr.trainer import SidrTraining, sidr_loop
from vizsla.methods.sidr.training_data import learned_table, prepared, unseen_rows

pytest.importorskip("torch", reason="the extra neural is not installed")
pytest.importorskip("transformers", reason="the extra neural is not installed")

SETTINGS = {"batch": 16, "vectors": 2, "tokens": 20, "max_tokens": 12, "retrieved": 3, "center_bias": False}
TEXTS = list(ITEMS.values())


@pytest.fixture(scope="module")
def ready():
    base, settings = tiny_base(), SidrSettings(**SETTINGS, table_epochs=2, folds=3, seed=4)
    clicked = ClickLog.of(dataset(), base.items)
    return base, clicked, settings, prepared(base, clicked, TEXTS, settings)


def test_nothing_is_learned_from_what_is_held_out(ready):
    base, clicked, settings, (training_data, held) = ready
    out = table_split(clicked.clicks, settings.seed)
    wanted = out.left(clicked.clicks)
    assert (training_data.clicks != wanted).nnz == 0 and 0 < training_data.clicks.nnz < clicked.clicks.nnz
    rows = np.concatenate([out.cold, out.warm])
    assert not np.diff(training_data.clicks.indptr)[rows].any()
    assert held.clicked.texts == [clicked.texts[row] for row in rows]
    assert held.cold.tolist() == [True] * len(out.cold) + [False] * len(out.warm)
    table = learned_table(base, clicked, wanted, epochs=2, seed=4)
    rows_of_table = table.weighted(base.encoder.words.queries(held.clicked.texts)).toarray()
    assert (held.tables.toarray() == rows_of_table).all()


def test_every_query_meets_the_table_of_other_folds(ready):
    base, clicked, _, (training_data, _) = ready
    clicks = training_data.clicks
    found = training_data.tables.toarray()
    assert (unseen_rows(base, clicked, clicks, folds=3, epochs=2, seed=4).toarray() == found).all()
    # The fold of a query is that of the first item that was clicked for it, drawn by the seed.
    drawn = np.random.default_rng(4).integers(0, 3, clicks.shape[1])
    has = np.flatnonzero(np.diff(clicks.indptr))
    fold = {row: drawn[clicks.indices[clicks.indptr[row]]] for row in has}
    assert len(set(fold.values())) == 3
    for number in range(3):
        others = clicks.copy().tolil()
        for row in (row for row in has if fold[row] == number):
            others[row] = 0
        table = learned_table(base, clicked, others.tocsr(), epochs=2, seed=4)
        rows = [row for row in has if fold[row] == number]
        wanted = table.weighted(base.encoder.words.queries([clicked.texts[row] for row in rows])).toarray()
        assert np.allclose(found[rows], wanted, atol=1e-6)


def test_what_is_asked_of_held_out_queries_is_table_and_transformer(ready):
    base, _, settings, (training_data, held) = ready
    model = initialized_model(base, training_data, model_folder(), settings)
    with model.no_gradients():
        values = np.array(
            [model.fixed_values(model.encode([text]), training_data.held, scale=2.0)[0] for text in held.queries]
        )
    model.query_scale.data.fill_(2.0)
    wanted = held.tables.toarray()
    for row, strengths in enumerate(values):
        best = np.argsort(-strengths, kind="stable")[:5]
        wanted[row, training_data.held[best]] += strengths[best]
    assert np.allclose(held.weighted(model, training_data.held, 5).toarray(), wanted, rtol=1e-5)


def test_the_items_scale_begins_beside_bags_or_alone(ready):
    base, _, _, (training_data, _) = ready
    for item_tokens, wanted in ((True, ITEM_SCALE_BESIDE_TOKENS), (False, ITEM_SCALE_ALONE)):
        model = initialized_model(
            base, training_data, model_folder(), SidrSettings(**SETTINGS, item_tokens=item_tokens)
        )
        assert float(model.item_scale.detach()) == pytest.approx(wanted)


def test_the_items_scale_is_measured_by_brute_force(ready):
    """At each scale, what beta search finds is ranked by its score plus the scale times the vectors' product."""
    base, _, settings, (training_data, held) = ready
    model = initialized_model(base, training_data, model_folder(), settings)
    choice = tune_item_scale(model, training_data, held, tokens=6, seed=0)
    asked = held.some(MAX_HELD_OUT_QUERIES, 0)
    rows = asked.weighted(model, training_data.held, 6)
    found = training_data.index.search(rows, RERANKED_DEPTH)
    with model.no_gradients():
        said = np.array(
            [model.fixed_values(model.encode([text]), training_data.held)[0] for text in training_data.items]
        )
    kept = np.where(said >= -np.sort(-said, axis=1)[:, 5:6], said, 0)
    vectors = np.zeros((len(said), rows.width))
    vectors[:, training_data.held] = kept
    own, queries = float(model.item_scale.detach()), rows.toarray()
    for factor, trial in zip(ITEM_SCALE_FACTORS, choice.trials, strict=True):
        assert trial["item_scale"] == pytest.approx(factor * own)
        ranks = []
        for row, (start, end) in enumerate(pairwise(found.offsets)):
            items, scores = found.items[start:end], found.scores[start:end]
            total = scores + factor * own * (vectors[items] @ queries[row])
            order = items[np.argsort(-total, kind="stable")][:10]
            right = np.flatnonzero([asked.clicked.clicks[row, item] > 0 for item in order])
            ranks.append(1 / (1 + right[0]) if len(right) else 0.0)
        assert trial["all"] == pytest.approx(np.mean(ranks), abs=1e-6)


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_scale_that_was_chosen_is_what_serves(ready, best):
    """Without held-out queries, or without bags, it is the one that was learned."""
    base, _, settings, made = ready
    model = initialized_model(base, made.training_data, model_folder(), settings)
    trials = [{"item_scale": scale, "all": 0.5} for scale in (0.0, 0.125, 2.0)]
    choice = Choice("MRR@10", 2, 2, trials, best)
    assert _items(base, model, choice, settings)["item_scale"] == trials[best]["item_scale"]
    own = float(model.item_scale.detach())
    assert _items(base, model, None, settings)["item_scale"] == own
    vectors = SidrSettings(**SETTINGS, item_tokens=False)
    assert _items(base, model, choice, vectors) == {"item_scale": own, "item_form": "full"}


class Measured:
    """Held-out queries of which each look finds the next of some qualities."""

    def __init__(self, values):
        self.values, self.looks = list(values), 0

    def measured(self, *_):
        self.looks += 1
        return np.full(3, self.values[self.looks - 1])

    def quality(self, measured):
        return float(measured.mean())


@pytest.mark.parametrize(
    ("qualities", "best", "looks"),
    [
        ([0.5, 0.6, 0.7, 0.8], 3, 4),
        ([0.5, 0.6, 0.4, 0.9], 1, 3),
        ([0.5, 0.4, 0.9, 0.9], 0, 2),
        ([0.5, 0.5, 0.6, 0.2], 2, 4),
    ],
)
def test_the_best_epoch_is_kept_and_a_worse_one_ends_it(ready, qualities, best, looks):
    base, _, _, (training_data, _) = ready
    settings = SidrSettings(**SETTINGS, epochs=3, max_steps=None, rate=1e-3, head_rate=1e-2, bias_rate=1e-2)
    training = SidrTraining(initialized_model(base, training_data, model_folder(), settings), training_data, settings)
    held, biases = Measured(qualities), []
    look = held.measured

    def measured(*given):
        biases.append(training.model.bias.detach().numpy().copy())
        return look(*given)

    held.measured = measured
    sidr_loop(training, held, key="").run()
    assert held.looks == looks
    assert (training.model.bias.detach().numpy() == biases[best]).all()
    assert len({bias.tobytes() for bias in biases}) == looks


def test_the_encoder_weighs_bags_as_the_bag_does():
    from vizsla.methods.sidr.train_sidr import train_sidr

    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    pytest.importorskip("onnx", reason="the extra onnx is not installed")
    base = tiny_base().with_b(0.3)
    found = train_sidr(base, dataset(), model_folder(), **SETTINGS, max_steps=1, table_epochs=0)
    assert found.encoder.settings["b"] == 0.3
    assert found.encoder.settings["mean_length"] == pytest.approx(np.mean([len(set(t.split())) for t in TEXTS]))


def test_answers_are_looked_for_whatever_the_case(ready):
    base, clicked, settings, _ = ready
    texts = [text.title() for text in TEXTS]
    training_data = prepared(base, clicked, texts, settings, {clicked.texts[0]: ["PLUM"]}).training_data
    right = training_data.are_right(np.array([0, 1]), np.arange(len(texts)))
    assert right[0][[n for n, text in enumerate(texts) if "Plum" in text]].all()
    assert right[1].sum() <= 1
