"""Whether items without clicks are lifted, by hand and on a log whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.fusion.logs import ITEMS, log_of, noise, text
from tests.methods.fusion.test_standing import COLD, SINGLES, SUM, values
from tests.support.table_retriever import TableRetriever
from vizsla.data.dataset import Dataset
from vizsla.learning.selection import FUSION_ERRORS, Judge
from vizsla.methods.cold_items import ColdItemBoost
from vizsla.methods.fusion import learn_fusion
from vizsla.methods.fusion.rules import ColdBoostRule, SignificanceRule, is_sound
from vizsla.methods.fusion.scaling import FusionTrial, alone

QUERIES = 1200
LIFTED = FusionTrial("exp", (0.5, 0.5), 1.0)


def chosen(*measured: np.ndarray, share: float = 0.5) -> FusionTrial:
    trials = [*SINGLES, SUM, LIFTED]
    judge = Judge.of_cold(COLD, share)
    stands = SignificanceRule.of(judge, measured[:2]).chosen(trials, measured)
    return trials[ColdBoostRule.of(judge, measured[:2], measured[stands]).chosen(trials, measured, stands)]


def test_a_lift_that_ends_a_loss_stands():
    assert chosen(values(0.6, 0.1), values(0.1, 0.6), values(0.4, 0.6), values(0.61, 0.61)) == LIFTED


def test_a_lift_that_warm_queries_pay_for_does_not_stand():
    """It is far better on average, and warm queries would have less than their best part gives them."""
    assert chosen(values(0.6, 0.1), values(0.1, 0.6), values(0.4, 0.6), values(0.9, 0.55)) == SUM


def test_a_lift_that_gains_nothing_sure_does_not_stand():
    nearly = values(0.7, 0.7)
    nearly[[0, 150]] += 0.1
    assert chosen(values(0.6, 0.1), values(0.1, 0.6), values(0.7, 0.7), nearly) == SUM


@pytest.mark.parametrize(("warm", "stands"), [(0.62, LIFTED), (0.6, SUM)])
def test_a_lift_that_ends_a_loss_on_rare_queries_must_be_soundly_better_than_the_best_part(warm, stands):
    """No cold query is expected. The sum is best on warm ones and loses on cold ones; the lift ends that."""
    measured = values(0.6, 0.1), values(0.1, 0.6), values(0.3, 0.65), values(0.61, warm)
    assert chosen(*measured, share=0.0) == stands


def test_a_lift_is_as_good_as_the_worse_kind():
    singles = [values(0.5, 0.1), values(0.1, 0.5)]
    lifting = ColdBoostRule.of(Judge.of_cold(COLD, 0.5), singles, values(0.4, 0.52))
    assert lifting.rank(values(0.9, 0.6)) == pytest.approx((0.0, 0.1))
    assert lifting.rank(values(0.45, 0.6)) == pytest.approx((0.0, -0.05))
    assert lifting.rank(values(0.38, 0.6)) == pytest.approx((-0.02, -0.12))
    assert lifting.rank(values(0.9, 0.49)) == pytest.approx((-0.01, -0.01))


class Clicked(TableRetriever):
    """Ranks the right item first if it has clicks, and any item with clicks before all that have none."""

    kind = "clicked"

    @classmethod
    def of(cls, dataset: Dataset) -> Clicked:
        known, pick = set(dataset.clicks.indices.tolist()), np.random.default_rng(5)
        table = {}
        for query in range(QUERIES):
            scores = {item: 1 + pick.random() if at in known else 0.0 for at, item in enumerate(ITEMS)}
            if query % len(ITEMS) in known:
                scores[ITEMS[query % len(ITEMS)]] = 1.7
            table[text(query)] = scores
        return cls(table, ITEMS, scale="clicked")

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> Clicked:
        return Clicked.of(dataset)


def words() -> TableRetriever:
    part = noise(QUERIES, seed=3, scale="words")
    for query in range(QUERIES):
        part.table[text(query)][ITEMS[query % len(ITEMS)]] = 0.95
    return part


def test_items_that_a_part_ranks_down_for_want_of_clicks_are_lifted():
    log = log_of(QUERIES)
    fusion = learn_fusion({"words": words(), "clicked": Clicked.of(log)}, log, cold=0.5)
    assert fusion.lift > 0
    assert f"+ {fusion.lift:g} for items without clicks" in fusion.summary
    assert "Without the lift, " in fusion.summary
    assert isinstance(fusion.retriever.parts[-1], ColdItemBoost)
    assert fusion.retriever.weights[-1] == fusion.lift
    assert all(gain["gain"] >= 0 for gain in fusion.gains)
    level = max((trial for trial in fusion.choice.trials if not trial["lift"]), key=lambda trial: trial["all"])
    assert fusion.choice.chosen["all"] > level["all"]


@pytest.mark.parametrize("cold", [0.0, 1.0])
def test_nothing_is_lifted_where_one_kind_of_query_is_missing(cold):
    fusion = learn_fusion({"words": words(), "clicked": Clicked.of}, log_of(QUERIES), cold=cold)
    assert not any(trial["lift"] for trial in fusion.choice.trials)


def test_nothing_is_lifted_where_no_part_learns_from_clicks():
    """That half of the held-out queries are about items without clicks is our own doing."""
    fusion = learn_fusion({"words": words(), "noise": noise(QUERIES, seed=8)}, log_of(QUERIES))
    assert not any(trial["lift"] for trial in fusion.choice.trials)


def test_what_stands_follows_the_rule_as_written_in_every_case():
    """Drawn qualities of a sum and a lifted one; the rule is written out below, and each of its ways is met."""
    cold, met = np.arange(80) < 40, set()
    judge = Judge.of_cold(cold, 0.5)
    for seed in range(600):
        rng = np.random.default_rng(seed)

        def drawn(rng=rng):
            warm, other = rng.choice([0.3, 0.33, 0.36, 0.4], 2)
            return np.where(cold, other, warm) + rng.choice([0.02, 0.1]) * rng.standard_normal(80)

        singles, level, lifted = [drawn(), drawn()], drawn(), drawn()
        kinds = {"cold": cold, "warm": ~cold}
        best = {kind: max(singles, key=lambda each, rows=rows: each[rows].mean()) for kind, rows in kinds.items()}
        part = max(singles, key=lambda each: each.mean())

        def lost(values, kinds=kinds, best=best):
            gaps = [(values - best[kind])[rows] for kind, rows in kinds.items()]
            return sum(gap.mean() <= -gap.std(ddof=1) / np.sqrt(len(gap)) for gap in gaps)

        harmless = all(
            (lifted - best[kind])[rows].mean() >= min(0, (level - best[kind])[rows].mean())
            for kind, rows in kinds.items()
        )
        fewer = lost(level) - lost(lifted)
        gain = judge.gain(lifted, level)
        surely = gain.errors > FUSION_ERRORS if fewer == 0 else fewer > 0 and gain.mean >= 0
        ends_a_loss = fewer > 0 and is_sound(judge, lifted, part)
        wanted = harmless and (surely or ends_a_loss)
        trials = [alone(0, 2), alone(1, 2), FusionTrial("none", (0.5, 0.5)), FusionTrial("none", (0.5, 0.5), 1.0)]
        rule = ColdBoostRule.of(judge, singles, level)
        assert rule.chosen(trials, [*singles, level, lifted], 2) == (3 if wanted else 2), seed
        met.add((harmless, bool(surely), ends_a_loss))
    assert met >= {(True, True, True), (True, True, False), (True, False, True), (True, False, False)}
    assert met >= {(False, True, False), (False, False, False)}
