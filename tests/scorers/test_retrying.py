"""A scorer that fails is asked again, and every attempt is counted."""

from __future__ import annotations

import pytest

from vizsla.core.candidates import Candidates
from vizsla.errors import BudgetError, InputError, ScorerError
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.text import FunctionScorer
from vizsla.scorers.wrappers import Budget, Retrying

ITEMS = {"a": "fig", "b": "pear"}
WANTED = Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}})


class Flaky:
    """Fails so many times, then answers."""

    def __init__(self, failures, kind=ScorerError):
        self.failures, self.kind, self.calls = failures, kind, 0

    def __call__(self, query, texts):
        self.calls += 1
        if self.calls <= self.failures:
            raise self.kind("busy")
        return [len(text) for text in texts]


def retrying(function, **options):
    scorer = Retrying(FunctionScorer(function, ITEMS, name="lengths"), **options)
    scorer.pauses = []
    scorer._sleep = scorer.pauses.append
    return scorer


def test_pauses_double_with_jitter_by_seed_and_every_attempt_is_billed():
    scorer = retrying(Flaky(3), pause_s=1.0)
    found = scorer.score("fruit", WANTED)
    assert found.to_dict() == {"0": {"b": 4.0, "a": 3.0}} and found.stats.model_calls == 8
    assert all(0.5 * 2**at <= pause <= 2**at for at, pause in enumerate(scorer.pauses)) and len(scorer.pauses) == 3
    again, other = retrying(Flaky(3), pause_s=1.0), retrying(Flaky(3), pause_s=1.0, seed=1)
    again.score("fruit", WANTED)
    other.score("fruit", WANTED)
    assert again.pauses == scorer.pauses != other.pauses


def test_the_last_failure_is_the_callers():
    flaky = Flaky(9)
    with pytest.raises(ScorerError, match="busy"):
        retrying(flaky, attempts=2).score("fruit", WANTED)
    assert flaky.calls == 2


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, BudgetError])
def test_other_failures_are_not_tried_again(kind):
    flaky = Flaky(1, kind)
    with pytest.raises(kind):
        retrying(flaky).score("fruit", WANTED)
    assert flaky.calls == 1


def test_a_service_may_ask_for_a_longer_pause():
    def busy(query, texts):
        raise ScorerError("busy", wait_s=40.0)

    scorer = retrying(busy, attempts=2, most_pause_s=1.0)
    with pytest.raises(ScorerError):
        scorer.score("fruit", WANTED)
    assert scorer.pauses == [40.0]


@pytest.mark.parametrize("outside", [True, False])
def test_a_budget_is_charged_for_every_attempt(outside):
    inner = FunctionScorer(Flaky(1), ITEMS)
    budget = Budget(Retrying(inner, pause_s=0.0), calls=4) if outside else Budget(inner, calls=4)
    scorer = budget if outside else Retrying(budget, pause_s=0.0)
    scorer.score("fruit", WANTED)
    assert budget.spent == 4
    with pytest.raises(BudgetError):
        scorer.score("fruit", WANTED)


def test_a_cache_outside_keeps_what_was_answered(tmp_path):
    cache = ScoreCache(retrying(Flaky(1)), tmp_path / "scores.db")
    assert [cache.score("fruit", WANTED).stats.model_calls for _ in range(2)] == [4, 0]


def test_wrong_options_are_said():
    for options in ({"attempts": 0}, {"pause_s": -1.0}, {"failures": ()}, {"failures": (int,)}):
        with pytest.raises(InputError):
            Retrying(FunctionScorer(Flaky(0), ITEMS), **options)
