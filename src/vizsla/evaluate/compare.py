"""Measure several systems on the same queries and put them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vizsla.checked import checked
from vizsla.errors import InputError, check_choice, check_range
from vizsla.evaluate.comparison import Comparison
from vizsla.evaluate.evaluate import evaluate
from vizsla.evaluate.judged import JudgedSplits
from vizsla.evaluate.measures import DEFAULT_MEASURES
from vizsla.evaluate.significance import TESTS
from vizsla.evaluate.system import System


@checked
def compare(
    systems: Mapping[str, System],
    dataset: JudgedSplits,
    split: str = "test",
    measures: str | Iterable[Any] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    test: str = "randomisation",
    alpha: float = 0.05,
    k: int | None = None,
    threads: int = 1,
    latency_queries: int | None = None,
    samples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Evaluate every system, then test the differences between them.

    Parameters
    ----------
    systems : mapping
        Retrievers by name; a run (Candidates, a dict of dicts, the path of a TREC file) is a system too.
    dataset : Dataset
        Gives query texts and judgements.
    split : str
        Which queries.
    measures : str or iterable
        Names of ir-measures, or its objects.
    baseline : str, optional
        Test each system against this one only. Without it all pairs are tested.
    test : {"randomisation", "t"}
        The paired test.
    alpha : float
        A corrected p-value below this is called significant.
    k, threads, latency_queries : int
        As for `evaluate`.
    samples : int
        Sign flips of the randomisation test.
    seed : int
        Draws the flips and the queries that are timed: the same ones for every system.
    """
    if not systems:
        raise InputError("`systems` must name at least one system. Got none.")
    # What can be refused is refused before the first search, not after the last.
    check_choice("test", test, TESTS)
    check_range("alpha", alpha, 0, 1)
    if baseline is not None:
        check_choice("baseline", baseline, list(systems))
    asked = measures if isinstance(measures, str) else tuple(measures) if isinstance(measures, Iterable) else measures
    evaluations = {
        name: evaluate(
            system,
            dataset,
            split,
            asked,
            k=k,
            threads=threads,
            latency_queries=latency_queries,
            name=name,
            seed=seed,
        )
        for name, system in systems.items()
    }
    return Comparison(evaluations, baseline=baseline, test=test, alpha=alpha, samples=samples, seed=seed)
