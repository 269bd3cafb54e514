"""When a sum takes the place of the best part: thresholds, kinds of queries, and what the choice has not seen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.learning.steps import gains
from tests.support.table_retriever import TableRetriever
from vizsla.data.dataset import Dataset
from vizsla.learning.selection import Judge
from vizsla.methods.fusion import learn_fusion
from vizsla.methods.fusion.rules import (
    CROSS_VALIDATION_ROUNDS,
    SignificanceRule,
    cross_fitted,
    is_sound,
    protected,
    select,
)
from vizsla.methods.fusion.scaling import FusionTrial, alone

KINDS = np.repeat(["repeated", "warm", "cold"], 200)
SUM = FusionTrial("minmax", (0.5, 0.5))
TRIALS = [alone(0, 2), alone(1, 2), SUM]


def judge(repeated: float, warm: float, cold: float) -> Judge:
    return Judge(KINDS, {"repeated": repeated, "warm": warm, "cold": cold})


@pytest.mark.parametrize(("errors", "sound"), [(1.97, False), (2.03, True)])
def test_the_gain_over_all_must_be_two_standard_errors(errors, sound):
    each = Judge(np.repeat(["warm"], 600), {"warm": 1.0})
    assert is_sound(each, gains(600, errors), np.zeros(600)) == sound


@pytest.mark.parametrize("kind", ["repeated", "warm", "cold"])
@pytest.mark.parametrize(("errors", "share", "sound"), [(-0.97, 0.1, True), (-1.03, 0.1, False), (-1.03, 0.09, True)])
def test_a_kind_of_a_tenth_or_more_may_lose_less_than_a_standard_error(kind, errors, share, sound):
    other = {"repeated": "warm", "warm": "cold", "cold": "repeated"}[kind]
    shares = dict.fromkeys(("repeated", "warm", "cold"), 0.0) | {kind: share, other: 1 - share}
    values = np.where(kind == KINDS, np.tile(gains(200, errors), 3), 0.1 + np.tile(gains(200, 0.0), 3))
    assert is_sound(Judge(KINDS, shares), values, np.zeros(600)) == sound


@pytest.mark.parametrize(("errors", "replaces"), [(1.97, False), (2.03, True)])
def test_more_parts_must_be_better_by_two_standard_errors(errors, replaces):
    standing = SignificanceRule.of(Judge(np.repeat(["warm"], 600), {"warm": 1.0}), [np.zeros(600)])
    assert standing.replaces(gains(600, errors), np.zeros(600)) == replaces


@pytest.mark.parametrize(("errors", "lost"), [(-0.97, 0), (-1.03, 1)])
def test_a_loss_is_a_standard_error_behind_the_best_part_of_the_kind(errors, lost):
    best, other = np.where(KINDS == "cold", 0.5, 0.0), np.where(KINDS == "warm", 0.5, 0.0)
    standing = SignificanceRule.of(judge(0.2, 0.4, 0.4), [best, other])
    sum_of_both = 0.5 + np.where(KINDS == "cold", np.tile(gains(200, errors), 3), 0.1)
    assert len(standing.losses(sum_of_both)) == lost
    assert standing.ranks(sum_of_both[None]) == [standing.rank(sum_of_both)]


def chosen(judge: Judge, *measured: np.ndarray) -> FusionTrial:
    return TRIALS[select(judge, TRIALS, [values + np.tile([-0.01, 0.01], 300) for values in measured]).best]


def by_kind(repeated: float, warm: float, cold: float) -> np.ndarray:
    return np.repeat([repeated, warm, cold], 200)


def test_the_best_part_is_that_of_the_mix():
    words, tree, worse = by_kind(0.4, 0.1, 0.8), by_kind(0.9, 0.5, 0.1), by_kind(0.0, 0.0, 0.0)
    assert chosen(judge(0.1, 0.1, 0.8), words, tree, worse) == TRIALS[0]
    assert chosen(judge(0.1, 0.8, 0.1), words, tree, worse) == TRIALS[1]
    assert chosen(judge(0.8, 0.1, 0.1), words, tree, worse) == TRIALS[1]


def test_a_gain_on_rare_queries_pays_for_no_loss_on_common_ones():
    words, tree = by_kind(0.5, 0.05, 0.9), by_kind(0.5, 0.3, 0.1)
    lopsided = by_kind(0.5, 0.3, 0.85)
    assert chosen(judge(0.0, 0.05, 0.95), words, tree, lopsided) == TRIALS[0]
    assert chosen(judge(0.0, 0.5, 0.5), words, tree, by_kind(0.5, 0.3, 0.95)) == SUM
    # Over all it gains, but a fifth of the queries pays.
    assert chosen(judge(0.0, 0.8, 0.2), by_kind(0.5, 0.5, 0.9), tree, by_kind(0.5, 0.9, 0.8)) == TRIALS[0]


def test_repeated_queries_count_where_they_are_common():
    assert protected(judge(0.1, 0.5, 0.4)) == ("repeated", "warm", "cold")
    assert protected(judge(0.09, 0.5, 0.41)) == ("warm", "cold")
    words, memory = by_kind(0.5, 0.5, 0.5), by_kind(0.9, 0.1, 0.1)
    forgets = by_kind(0.3, 0.6, 0.6)
    assert chosen(judge(0.3, 0.4, 0.3), words, memory, forgets) == TRIALS[0]
    assert chosen(judge(0.05, 0.5, 0.45), words, memory, forgets) == SUM


def test_a_trial_is_never_selected_by_the_queries_that_judge_it():
    """Whatever the left-out queries say, the trial that is selected for them is the same."""
    pick = np.random.default_rng(2)
    trials = [alone(0, 2), alone(1, 2), *(FusionTrial("minmax", (share, 1 - share)) for share in (0.2, 0.4, 0.6, 0.8))]
    measured = pick.random((6, 600)) + np.arange(6)[:, None] / 100
    own = judge(0.2, 0.4, 0.4)
    kinds = protected(own)
    rounds = np.concatenate([np.arange(200) % CROSS_VALIDATION_ROUNDS] * 3)
    for number in range(CROSS_VALIDATION_ROUNDS):
        out = rounds == number
        told = measured.copy()
        told[:, out] = np.arange(6)[:, None]  # the number of the trial: here the last one is far the best
        without = np.delete(measured, np.flatnonzero(out), axis=1)
        selected = cross_fitted(own, trials, told, kinds)[out]
        assert len(set(selected.tolist())) == 1
        again = told.copy()
        again[:, out] = np.arange(6)[::-1, None]
        assert (cross_fitted(own, trials, again, kinds)[out] == 5 - selected).all()
        assert without.shape[1] == 480


def test_the_best_of_many_that_know_nothing_is_not_taken():
    pick = np.random.default_rng(0)
    trials = [alone(0, 2), alone(1, 2), *(FusionTrial("minmax", (at / 1000, 1 - at / 1000)) for at in range(1, 400))]
    hits = 0
    for _ in range(10):
        measured = pick.random((len(trials), 600))
        hits += len(trials[select(judge(0.2, 0.4, 0.4), trials, list(measured)).best].used) > 1
    assert hits <= 1


ITEMS = [f"i{n}" for n in range(700)]


def table(rows: dict[str, dict[str, float]], scale: str) -> TableRetriever:
    return TableRetriever(rows, ITEMS, scale=scale)


def one_click() -> tuple[Dataset, dict[str, TableRetriever], list[tuple[str, str]]]:
    """Nearly every item has one click; later queries ask for other items. Words find them, what learned does not."""
    pick = np.random.default_rng(1)
    clicks = [(f"query {n}", ITEMS[n]) for n in range(500)] + [(f"again {n}", ITEMS[n]) for n in range(25)]
    later = [(f"later {n}", ITEMS[n]) for n in range(500, 700)]
    words: dict[str, dict[str, float]] = {}
    learned: dict[str, dict[str, float]] = {}
    for text, item in [*clicks, *later]:
        warm = int(item[1:]) < 25
        others = dict(zip(pick.choice(ITEMS, 20).tolist(), pick.random(20).tolist(), strict=True))
        words[text] = others | {item: 1.2 if pick.random() < (0.05 if warm else 0.9) else 0.0}
        wrong = dict(zip(pick.choice(ITEMS[:500], 20).tolist(), (2 * pick.random(20)).tolist(), strict=True))
        learned[text] = wrong | {item: 2.5 if warm else 0.0}
    data = Dataset.of({item: item for item in ITEMS}, clicks=clicks)
    return data, {"words": table(words, "words"), "learned": table(learned, "learned")}, later


def found(search, pairs: list[tuple[str, str]]) -> float:
    return float(
        np.mean([item in row for (_, item), row in zip(pairs, search([text for text, _ in pairs], 1).ids, strict=True)])
    )


def test_a_log_of_one_click_per_item_does_not_fuse_for_the_few_warm_queries():
    data, parts, later = one_click()
    fusion = learn_fusion(parts, data)
    assert found(fusion.retriever, later) >= found(parts["words"], later)
    assert found(learn_fusion(parts, data, cold=0.0).retriever, later) < found(parts["words"], later)  # another mix


def many_labels() -> tuple[Dataset, dict[str, TableRetriever], list[tuple[str, str]]]:
    """Few items, all of which have many clicks: what learned from clicks is best, and nothing is cold."""
    pick, few = np.random.default_rng(3), ITEMS[:30]
    clicks = [(f"query {n}", few[n % 30]) for n in range(900)]
    later = [(f"later {n}", few[n % 30]) for n in range(300)]
    parts: list[dict[str, dict[str, float]]] = [{}, {}]
    for at, right in enumerate((0.85, 0.3)):
        for text, item in [*clicks, *later]:
            scores = dict(zip(few, pick.random(30).tolist(), strict=True))
            parts[at][text] = scores | ({item: 1.1} if pick.random() < right else {})
    data = Dataset.of({item: item for item in ITEMS}, clicks=clicks)
    return data, {"tree": table(parts[0], "a"), "words": table(parts[1], "b")}, later


def test_a_log_of_few_labels_keeps_the_best_part_or_betters_it():
    data, parts, later = many_labels()
    search = learn_fusion(parts, data).retriever
    assert found(search, later) >= found(parts["tree"], later) - 0.02
