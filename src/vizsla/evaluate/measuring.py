"""Measures a run query by query, in exactly the order in which the run ranks its items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from subprocess import CalledProcessError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates
from vizsla.errors import InputError
from vizsla.evaluate.judged import Qrels
from vizsla.evaluate.measures import ir_measures_module

PerQuery = dict[str, NDArray[np.float64]]


def ranked_run(run: Candidates) -> dict[str, dict[str, float]]:
    """Return `{query id: {item id: score}}` with scores that fall by one a rank.

    Evaluators sort by score and break ties by id. Scores without ties leave them nothing to break, so what is
    measured is the order that a user sees. Queries without an answer are left out.

    Examples
    --------
    >>> ranked_run(Candidates.from_dict({"q": {"b": 7.0, "a": 7.0}, "empty": {}}))
    {'q': {'b': 2.0, 'a': 1.0}}
    """
    if run.scores is None:
        raise InputError("A run must have scores. Got a match set: score it with a Scorer (`>>`).")
    rows = zip(run.query_ids, run.ids, strict=True)
    return {query: {item: float(len(row) - rank) for rank, item in enumerate(row)} for query, row in rows if row}


class Measuring:
    """Measures and judgements, ready for any number of runs.

    Parameters
    ----------
    measures : sequence
        Objects of ir-measures, as `parse_measures` returns them.
    qrels : mapping
        `{query id: {item id: relevance}}`. Each of these queries counts, answered or not.

    Examples
    --------
    >>> from vizsla.evaluate.measures import parse_measures
    >>> measuring = Measuring(parse_measures("RR@10"), {"q": {"fig": 1}})
    >>> measuring(Candidates.from_dict({"q": {"pear": 2.0, "fig": 1.0}}))[0]
    {'RR@10': 0.5}
    """

    def __init__(self, measures: Sequence[Any], qrels: Qrels):
        self._measures = list(measures)
        # Some evaluators exchange files and want numbers as query ids: a query's row number serves all of them.
        self._rows = {query: row for row, query in enumerate(qrels)}
        numbered = {str(row): dict(grades) for row, grades in enumerate(qrels.values())}
        try:
            self._evaluator = ir_measures_module().evaluator(self._measures, numbered)
        except ValueError as error:
            raise InputError(f"`measures` must be computable with what is installed. {error}") from None

    def __call__(self, run: Candidates) -> tuple[dict[str, float], PerQuery]:
        """Return each measure's mean and its value for each query, in the order of the judgements.

        A judged query without an answer gets the measure's value for an empty answer, which is 0 for all common
        ones; answers to queries without judgements are not looked at.
        """
        answers = ranked_run(run)
        numbered = {str(self._rows[query]): row for query, row in answers.items() if query in self._rows}
        per_query = {str(measure): np.full(len(self._rows), np.nan) for measure in self._measures}
        try:
            for metric in self._evaluator.iter_calc(numbered):
                per_query[str(metric.measure)][int(metric.query_id)] = metric.value
        except CalledProcessError as error:
            raise InputError(f"`measures` must be computable here. ir-measures' program failed: {error}") from None
        return self._means(per_query), per_query

    def _means(self, per_query: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
        return {str(measure): _aggregate(measure, per_query[str(measure)]) for measure in self._measures}


def _aggregate(measure: Any, values: NDArray[np.float64]) -> float:
    """Aggregate as the measure says: nearly always the mean, but a sum for counts such as NumRel."""
    aggregator = measure.aggregator()
    for value in values[~np.isnan(values)].tolist():
        aggregator.add(value)
    return float(aggregator.result())
