"""A training step of SiDR against its twin: loss, gradients and weights, on a log with several clicks per query."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.methods.sidr.step_twin import StepTwin
from tests.methods.sidr.tiny import ITEMS, model_folder, tiny_base, tokens
from vizsla import dense
from vizsla.base.queries import Queries
from vizsla.core.sparse import SparseRows
from vizsla.encoders import FunctionEncoder
from vizsla.errors import InputError
from vizsla.learning.distillation import Teacher
from vizsla.learning.torch_vocabulary import VocabularyModel
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.trainer import SidrTraining
from vizsla.methods.sidr.training_data import SidrTrainingData

torch = pytest.importorskip("torch", reason="the extra neural is not installed")
pytest.importorskip("transformers", reason="the extra neural is not installed")

NAMES = list(ITEMS)
LOG = {
    "fig auto please": ["fig-car", "fig-tart", "pear-car"],
    "pear cake": ["pear-tart", "fig-tart"],
    "shop 3": ["lemon-market"],
    "plum orchard": ["plum-garden", "plum-tree", "fig-car"],
}
SETTINGS = {"tokens": 9, "max_tokens": 12, "batch": 4, "epochs": 2, "vectors": 3, "negatives": 99, "retrieved": 4}
SETTINGS |= {"rate": 3e-3, "head_rate": 1e-2, "bias_rate": 2e-2, "warm_up": 0.5, "teacher_share": 0.7}
STEPS = 6  # two epochs over nine clicks, four at a time
SCALE = 0.3


def token_ids(text):
    return np.array([2, *(tokens().index(word) for word in text.split()), 3])


def held(text):
    row = np.zeros(len(tokens()), np.float32)
    row[token_ids(text)[1:-1]] = 1
    return row


def problem(answers):
    """Return what the library trains on, and the same for the twin, made from the texts alone."""
    base, texts = tiny_base().with_b(0.4), list(ITEMS.values())
    bags = np.array([held(text) for text in texts])
    lengths = bags.sum(axis=1)
    norms = (1 / (1.2 + 1 - 0.4 + 0.4 * lengths / lengths.mean())).astype(np.float32)
    clicks = np.zeros((len(LOG), len(ITEMS)), np.float32)
    for row, items in enumerate(LOG.values()):
        clicks[row, [NAMES.index(item) for item in items]] = 1
    right = [set(np.flatnonzero(row).tolist()) for row in clicks]
    for query, answer in enumerate(answers or []):
        right[query] |= {item for item, text in enumerate(texts) if any(each in text for each in answer)}
    tables = np.array([held(text) for text in LOG]) * np.random.default_rng(1).random((4, len(tokens())), np.float32)
    queries, items = [token_ids(text) for text in LOG], [token_ids(text) for text in texts]
    asked = np.array([held(text) for text in LOG])
    training_data = SidrTrainingData(
        queries, items, SparseRows.of(asked), SparseRows.of(tables), SparseRows.of(clicks).to_scipy(), base.index,
        answers, texts,
    )  # fmt: skip
    case = {"queries": queries, "items": items, "asked": asked, "bags": bags, "norms": norms, "tables": tables}
    return training_data, case | {"right": right}


def random_teacher():
    """Return a teacher of random scores, and these as a matrix, divided by how far they typically lie apart."""
    vectors = {text: np.random.default_rng(n).normal(size=3) for n, text in enumerate([*LOG, *ITEMS.values()])}
    encoder = FunctionEncoder(lambda texts: [vectors[text] for text in texts], dim=3, name="random")
    teacher = Teacher(dense(ITEMS, encoder), Queries(list(LOG)), depth=4)
    scores = np.array([[np.float32(vectors[q]) @ np.float32(vectors[i]) for i in ITEMS.values()] for q in LOG])
    spread = np.median([np.sort(row)[-4:].std() for row in scores])
    return teacher, (scores / spread).astype(np.float32)


def same_weights(training, twin):
    """Compare weights and AdamW's moments; where a gradient is only rounding, weights say nothing."""
    state = training.optimizer.state()
    for number, weight in enumerate(twin.parameters):
        moments = twin.optimizer.state.get(weight)
        if moments is None:
            continue
        mean, square = (moments[name].numpy().reshape(-1) for name in ("exp_avg", "exp_avg_sq"))
        assert np.allclose(state[f"exp_avg_{number}"], mean, rtol=2e-3, atol=2e-6), number
        assert np.allclose(state[f"exp_avg_sq_{number}"], square, rtol=5e-3, atol=1e-9), number
        clear = np.abs(mean) > 1e-5
        found, wanted = state[f"w{number}"], weight.detach().numpy().reshape(-1)
        assert np.allclose(found[clear], wanted[clear], rtol=1e-4, atol=3e-5), number


@pytest.mark.parametrize(
    ("changes", "answers", "taught"),
    [
        ({}, None, False),
        ({"tokens": 1000, "vectors": 99}, None, False),
        ({"whole_head": True}, None, False),
        ({"item_tokens": False}, None, False),
        ({"semi_parametric": False}, None, False),
        ({"retrieved": 0}, None, False),
        ({"expand_items": False, "item_tokens": False, "whole_head": True}, None, False),
        ({}, [["tree", "market"], [], ["old town"], ["plum"]], False),
        ({}, None, True),
    ],
)
def test_two_steps_are_the_twins(changes, answers, taught):
    training_data, case = problem(answers)
    settings = SidrSettings(**{**SETTINGS, **changes})
    teacher, wanted = random_teacher() if taught else (None, None)
    training = SidrTraining(VocabularyModel(model_folder(), item_scale=SCALE), training_data, settings, teacher=teacher)
    twin = StepTwin(torch, model_folder(), case, settings, item_scale=SCALE, teacher=wanted)
    assert training.steps == STEPS
    # In the first step two clicks of one query, and two queries with one item; in the second others.
    queries, items = (side.tolist() for side in training_data.pairs)
    pairs = list(zip(queries, items, strict=True))
    for number, factor in enumerate([1 / 3, 2 / 3]):  # the rates rise over the first three of six steps
        clicks = [[0, 1, 3, 8], [6, 5, 2, 7]][number]
        loss = training.step(np.array(clicks))
        assert loss == pytest.approx(twin.step([pairs[click] for click in clicks], factor=factor), rel=1e-4)
        same_weights(training, twin)


def test_two_steps_of_the_papers_preset_are_the_twins():
    training_data, case = problem([["tree", "market"], [], ["old town"], ["plum"]])
    whole = {"paper": True, "item_tokens": False, "whole_head": True, "vectors": 4}
    settings = SidrSettings.of({**SETTINGS, **whole})
    index = training_data.index.with_norms(np.ones(len(ITEMS), np.float32))
    training_data = replace(training_data, index=index, whole_vocabulary=True, tables=SparseRows.of(0 * case["tables"]))
    case |= {"norms": np.ones(len(ITEMS), np.float32), "tables": 0 * case["tables"]}
    training = SidrTraining(VocabularyModel(model_folder(), learns_scales=False), training_data, settings)
    twin = StepTwin(torch, model_folder(), case, settings, item_scale=1.0)
    queries, items = (side.tolist() for side in training_data.pairs)
    pairs = list(zip(queries, items, strict=True))
    for number, factor in enumerate([1 / 3, 2 / 3]):
        clicks = [[0, 1, 3, 8], [6, 5, 2, 7]][number]
        loss = training.step(np.array(clicks))
        assert loss == pytest.approx(twin.step([pairs[click] for click in clicks], factor=factor), rel=1e-4)
        same_weights(training, twin)
    assert float(training.model.query_scale) == float(training.model.item_scale) == 1.0


def test_the_papers_preset_has_its_numbers_and_refuses_what_is_not_its():
    paper = SidrSettings.of({"paper": True, "epochs": 40})
    assert (paper.epochs, paper.batch, paper.vectors, paper.negatives, paper.rate) == (40, 128, 128, 1, 2e-5)
    assert (paper.tokens, paper.retrieved, paper.max_tokens, paper.table_epochs) == (768, 20, 256, 0)
    with pytest.raises(InputError, match="`paper` must go with"):
        SidrSettings.of({"paper": True, "vectors": 16})


def test_rates_fall_after_they_rose():
    training_data, case = problem(None)
    settings = SidrSettings(**{**SETTINGS, "max_steps": 4, "warm_up": 0.25, "retrieved": 0, "semi_parametric": False})
    training = SidrTraining(VocabularyModel(model_folder(), item_scale=SCALE), training_data, settings)
    twin = StepTwin(torch, model_folder(), case, settings, item_scale=SCALE)
    pairs = list(zip(*(side.tolist() for side in training_data.pairs), strict=True))
    for factor in (1.0, 1.0, 2 / 3, 1 / 3):
        training.step(np.array([0, 3, 5]))
        twin.step([pairs[click] for click in (0, 3, 5)], factor=factor)
    same_weights(training, twin)


def test_every_step_drops_other_activations_which_the_seed_and_its_number_fix():
    training_data, _ = problem(None)
    still = {"rate": 0.0, "head_rate": 0.0, "bias_rate": 0.0, "negatives": 99, "retrieved": 0}

    def losses(dropout, seed, first=0):
        settings = SidrSettings(**{**SETTINGS, **still, "dropout": dropout, "seed": seed})
        model = VocabularyModel(model_folder(), seed=seed, dropout=dropout, item_scale=SCALE)
        training = SidrTraining(model, training_data, settings)
        training.steps_done = first
        return [training.step(np.array([0, 3, 5])) for _ in range(4 - first)]

    assert np.ptp(losses(0.0, 0)) < 1e-4, "nothing else differs from step to step"
    for seed in (0, 5):
        drawn = losses(0.4, seed)
        assert len({round(loss, 3) for loss in drawn}) == 4
        assert losses(0.4, seed, first=2) == pytest.approx(drawn[2:], rel=1e-6), "as after a break"
    assert losses(0.4, 0)[0] != pytest.approx(losses(0.4, 5)[0], rel=1e-3)


def test_every_step_draws_other_negatives_which_the_seed_and_its_number_fix():
    training_data, _ = problem(None)
    still = {"rate": 0.0, "head_rate": 0.0, "bias_rate": 0.0, "dropout": 0.0, "negatives": 1, "retrieved": 4}

    def losses(first=0):
        model = VocabularyModel(model_folder(), dropout=0.0, item_scale=SCALE)
        training = SidrTraining(model, training_data, SidrSettings(**{**SETTINGS, **still}))
        training.steps_done = first
        return [training.step(np.array([0, 3, 5])) for _ in range(8 - first)]

    drawn = losses()
    assert len({round(loss, 3) for loss in drawn}) > 2, "one wrong item in four is drawn for each query"
    assert losses(first=5) == pytest.approx(drawn[5:], rel=1e-6), "as after a break"
