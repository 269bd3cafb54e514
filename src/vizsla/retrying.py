"""Retrying: a scorer that fails now and then is asked again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import numpy as np

from vizsla.candidates import Candidates, Scores
from vizsla.checked import checked
from vizsla.chosen_pairs import chosen_pairs
from vizsla.errors import InputError, ScorerError, check_positive
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.scored import Scored
from vizsla.scorer import Scorer
from vizsla.spending import sent_pairs
from vizsla.stats import Stats
from vizsla.wrapped_scorer import WrappedScorer


class Retrying(WrappedScorer):
    """Asks the scorer inside again when it fails, after a pause that doubles each time.

    Every attempt counts: `stats` hold what was sent, failed or not, and a `Budget` inside, `Retrying(Budget(…))`, is
    charged for each. A ScoreCache goes outside, `ScoreCache(Retrying(…), …)`, so that what was answered is kept. Only
    failures of the declared kinds are tried again; any other, and the last, goes to the caller. A scorer that tells
    what it has answered before it failed, as an HttpReranker does, is asked for the rest only, with all attempts anew.

    Parameters
    ----------
    scorer : Scorer
        What makes the scores.
    attempts : int
        How often a call is made at most before it brings anything.
    pause_s : float
        Seconds before the second attempt.
    most_pause_s : float
        No pause is longer, except one that the scorer itself asks for.
    failures : tuple of exception types
        What may pass: `ScorerError`, and connections that break or take too long, unless given.
    seed : int
        Fixes the jitter: a pause is drawn between half of it and all of it, so that many callers do not return at once.

    Examples
    --------
    >>> from vizsla import FunctionScorer
    >>> tried = []
    >>> def sometimes(query, texts):
    ...     tried.append(query)
    ...     if len(tried) == 1:
    ...         raise ScorerError("busy")
    ...     return [len(text) for text in texts]
    >>> scorer = Retrying(FunctionScorer(sometimes, {"a": "fig"}), pause_s=0.0)
    >>> found = scorer.score("fruit", Candidates.from_dict({"0": {"a": 0.0}}))
    >>> found.to_dict(), found.stats.model_calls
    ({'0': {'a': 3.0}}, 2)
    """

    @checked
    def __init__(
        self,
        scorer: Scorer,
        *,
        attempts: int = 4,
        pause_s: float = 0.5,
        most_pause_s: float = 30.0,
        failures: tuple[type[Exception], ...] = (ScorerError, ConnectionError, TimeoutError),
        seed: int = 0,
    ):
        super().__init__(scorer)
        self.attempts = check_positive("attempts", attempts)
        if not 0 <= pause_s <= most_pause_s:
            raise InputError(f"`pause_s` must be between 0 and `most_pause_s`. Got {pause_s!r} and {most_pause_s!r}.")
        if not failures or not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in failures):
            raise InputError(f"`failures` must be types of exceptions. Got {failures!r}.")
        self.pause_s, self.most_pause_s, self.failures = pause_s, most_pause_s, tuple(failures)
        self._random = random.Random(seed)
        self._sleep: Callable[[float], None] = time.sleep

    def __repr__(self) -> str:
        return f"Retrying({self.wrapped}, attempts={self.attempts})"

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        scores, stats, left, failed = np.zeros(0, np.float32), Stats(), candidates, 0
        while True:
            try:
                last = self.wrapped._score(queries, left, filter, threads)
                return Scored(np.concatenate([scores, last.scores]), stats + last.stats)
            except self.failures as failure:
                known = np.array(getattr(failure, "answered", ()), np.float32)
                scores, stats = np.concatenate([scores, known]), stats + self._bill(failure, left)
                failed = 1 if len(known) else failed + 1
                if failed >= self.attempts:
                    _tell(failure, scores)
                    raise
                left = chosen_pairs(left, np.arange(len(known), len(left.items)))
                self._sleep(self._pause(failed - 1, failure))

    def _bill(self, failure: Exception, asked: Candidates) -> Stats:
        """Return what a failed attempt sent."""
        sent = sent_pairs(failure, len(asked.items))
        return Stats(model_calls=sent) if self.model_calls else Stats(scored=sent)

    def _pause(self, attempt: int, failure: Exception) -> float:
        pause = min(self.most_pause_s, self.pause_s * 2.0**attempt)
        asked = failure.wait_s if isinstance(failure, ScorerError) else None
        return max(pause * self._random.uniform(0.5, 1.0), asked or 0.0)


def _tell(failure: Exception, scores: Scores) -> None:
    """Let the last failure tell all that was answered: a cache outside keeps it."""
    if isinstance(failure, ScorerError):
        failure.answered, failure.sent = scores.tolist(), None
