"""Quality measures per query, on judged queries."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from subprocess import CalledProcessError
from types import ModuleType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vizsla.artifacts.manifest import digest
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError, MissingExtraError, check_choice
from vizsla.evaluation.propensity import PropensityPrecision, inverse_propensities

Qrels = Mapping[str, Mapping[str, int]]


class JudgedSplits(Protocol):
    """The interface that evaluation needs of a dataset."""

    @property
    def splits(self) -> Iterable[str]:
        """The names of the splits."""

    def query_texts(self, split: str) -> tuple[Sequence[str], Sequence[str]]:
        """Return query ids and query texts."""

    def qrels_dict(self, split: str) -> Qrels:
        """Return `{query id: {item id: relevance}}`."""


@dataclass(frozen=True)
class JudgedQueries:
    """Queries with judgments, and how many of the split had none.

    Parameters
    ----------
    ids, texts : list of str
        The judged queries, in the split's order.
    qrels : dict
        `{query id: {item id: relevance}}` for exactly these queries.
    unjudged : int
        Queries of the split that have no judgment and are left out.
    items : container of str, optional
        The ids of the catalog, where the dataset has one.
    source : JudgedSplits, optional
        The splits that they were taken from.
    """

    ids: list[str]
    texts: list[str]
    qrels: dict[str, dict[str, int]]
    unjudged: int
    items: Container[str] | None = None
    source: JudgedSplits | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, given: Any, split: str) -> JudgedQueries:
        """Take a split's judged queries, of a dataset or of judgments alone; a judged query without a text raises."""
        from vizsla.evaluation.judgments import judged_splits

        dataset = judged_splits(given, split)
        splits = list(getattr(dataset, "splits", ()))
        if not splits:
            raise InputError("`dataset` must have judgments (qrels) to be evaluated on. Got none.")
        check_choice("split", split, splits)
        ids, texts = dataset.query_texts(split)
        text_of = dict(zip(ids, texts, strict=True))
        judged = {query: row for query, row in dataset.qrels_dict(split).items() if row}
        unknown = next((query for query in judged if query not in text_of), None)
        if unknown is not None:
            raise InputError(f"Every judged query must have a text. Got {unknown!r} in split {split!r}.")
        if not judged:
            raise InputError(f"`split` must have judged queries. Got {split!r}, which has none.")
        kept = [query for query in text_of if query in judged]
        qrels = {query: {item: int(grade) for item, grade in judged[query].items()} for query in kept}
        items = getattr(dataset, "item_ids", None)
        return cls(kept, [text_of[query] for query in kept], qrels, len(text_of) - len(kept), items, dataset)

    @property
    def digest(self) -> str:
        """A checksum of the judged queries' ids, texts and grades, and of the catalog's ids."""
        items = getattr(self.items, "data", None)
        catalog = "" if items is None else digest(items)
        content = json.dumps([self.ids, self.texts, self.qrels, catalog], sort_keys=True, ensure_ascii=True)
        return digest(content.encode())


DEFAULT_MEASURES = ("nDCG@10", "R@10", "R@100", "RR@10")
UNLIMITED_DEPTH = 1000
"""How deep a run goes for a measure without a cutoff, such as AP; the customary depth of TREC runs."""
MAX_CUTOFF = 1_000_000
_USUAL_MEASURES = "nDCG@10, R@100, RR@10, AP, P@5, Success@10"


def ir_measures_module() -> ModuleType:
    """Import ir-measures, or say how to install it."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("Evaluation", "eval") from error
    module: ModuleType = ir_measures
    return module


def parse_measure(measure: Any) -> Any:
    """Return the ir-measures object for a name such as "nDCG@10"; such an object is checked and passed on.

    Examples
    --------
    >>> parse_measure("AP(rel=2)@100")
    AP(rel=2)@100
    >>> parse_measure("ndcg@10")
    Traceback (most recent call last):
    vizsla.errors.InputError: `measures` must be names of ir-measures. Got 'ndcg@10': did you mean nDCG@10?
    """
    library = ir_measures_module()
    if (own := PropensityPrecision.parse(measure)) is not None:
        return own
    if not isinstance(measure, str | library.Measure):
        raise InputError(f"`measures` must be names of ir-measures, such as {_USUAL_MEASURES}. Got {measure!r}.")
    try:
        parsed = library.parse_measure(measure)
    except NameError:
        raise InputError(f"`measures` must be names of ir-measures. Got {measure!r}: {_suggestion(measure)}") from None
    except ValueError:
        raise InputError(f"`measures` must be written like {_USUAL_MEASURES}. Got {measure!r}.") from None
    _check_parameters(parsed, measure)
    return parsed


def parse_measures(measures: str | Iterable[Any]) -> list[Any]:
    """Return the measures, each once, in the given order.

    Examples
    --------
    >>> parse_measures(["R@10", "MRR@10", "RR@10"])
    [R@10, RR@10]
    """
    library = ir_measures_module()
    if isinstance(measures, PropensityPrecision):
        return [measures]
    if not isinstance(measures, str | library.Measure | Iterable) or getattr(measures, "ndim", 1) == 0:
        raise InputError(f"`measures` must name measures, such as {_USUAL_MEASURES}. Got {type(measures).__name__}.")
    single = isinstance(measures, str | library.Measure)
    parsed = list(dict.fromkeys(map(parse_measure, [measures] if single else measures)))
    if not parsed:
        raise InputError(f"`measures` must name at least one measure, such as {_USUAL_MEASURES}. Got none.")
    return parsed


def depth_needed(measures: Iterable[Any]) -> int:
    """Return the depth of the deepest measure: its cutoff, or 1000 without one.

    Examples
    --------
    >>> depth_needed(parse_measures(["R@100", "RR@10"])), depth_needed(parse_measures(["AP"]))
    (100, 1000)
    """
    return max(int(measure.params.get("cutoff", UNLIMITED_DEPTH)) for measure in measures)


def _check_parameters(measure: Any, asked: object) -> None:
    """Reject cutoffs that would crash the native code below ir-measures, which does not check them."""
    known = measure.SUPPORTED_PARAMS
    unknown = next((name for name in measure.params if name not in known), None)
    if unknown is not None:
        raise InputError(f"{measure.NAME} must have parameters of {', '.join(known)}. Got {unknown!r} in {asked!r}.")
    missing = next((name for name, info in known.items() if info.required and name not in measure.params), None)
    if missing is not None:
        raise InputError(f"{measure.NAME} must have a {missing}, as in {measure.NAME}@10. Got {asked!r}.")
    wrong = next((name for name, value in measure.params.items() if not known[name].validate(value)), None)
    if wrong is not None:
        raise InputError(f"{measure.NAME} must have another {wrong}. Got {asked!r}: see the documents of ir-measures.")
    cutoff = measure.params.get("cutoff", 1)
    if isinstance(cutoff, bool) or not 1 <= cutoff <= MAX_CUTOFF:
        raise InputError(f"A measure's cutoff must be between 1 and {MAX_CUTOFF}. Got {asked!r}.")


def _suggestion(text: str) -> str:
    """Propose the nearest known names, with the rest of the text kept."""
    known = {name.lower(): measure.NAME for name, measure in ir_measures_module().measures.registry.items()}
    length = next((at for at, letter in enumerate(text) if letter in "@("), len(text))
    asked = text[:length].lower()
    close = [asked] if asked in known else get_close_matches(asked, known, n=3, cutoff=0.5)
    if not close:
        return f"use one such as {_USUAL_MEASURES}."
    return f"did you mean {' or '.join(dict.fromkeys(known[name] + text[length:] for name in close))}?"


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


def _remedy(measures: Sequence[Any]) -> str:
    """Return what would have to be installed for measures that no installed provider computes."""
    providers = list(ir_measures_module().providers.registry.values())
    ready = [each for each in providers if each.is_available()]
    for measure in measures:
        if not any(each.supports(measure) for each in ready):
            others = (each.install_instructions() for each in providers if each.supports(measure))
            return next((f" For {measure}: {command}" for command in others if command), "")
    return ""


class Measuring:
    """Measures and judgments, ready for any number of runs.

    Parameters
    ----------
    measures : sequence
        Objects of ir-measures, as `parse_measures` returns them.
    qrels : mapping
        `{query id: {item id: relevance}}`. Each of these queries counts, answered or not.
    source : Dataset, optional
        Gives the clicks that PSP@k needs.

    Examples
    --------
    >>> measuring = Measuring(parse_measures("RR@10"), {"q": {"fig": 1}})
    >>> measuring(Candidates.from_dict({"q": {"pear": 2.0, "fig": 1.0}}))[0]
    {'RR@10': 0.5}
    """

    def __init__(self, measures: Sequence[Any], qrels: Qrels, source: Any = None):
        self._measures, self._qrels = list(measures), qrels
        self._own = [measure for measure in self._measures if isinstance(measure, PropensityPrecision)]
        self._weights = inverse_propensities(source) if self._own else None
        others = [measure for measure in self._measures if measure not in self._own]
        # Some evaluators exchange files and want numbers as query ids: a query's row number serves all of them.
        self._rows = {query: row for row, query in enumerate(qrels)}
        numbered = {str(row): dict(grades) for row, grades in enumerate(qrels.values())}
        try:
            self._evaluator = ir_measures_module().evaluator(others, numbered) if others else None
        except ValueError as error:
            raise InputError(
                f"`measures` must be computable with what is installed. {error}{_remedy(others)}"
            ) from None

    def __call__(self, run: Candidates) -> tuple[dict[str, float], PerQuery]:
        """Return each measure's mean and its value for each query, in the order of the judgments.

        A judged query without an answer gets the measure's value for an empty answer, which is 0 for all common
        ones; answers to queries without judgments are not looked at.
        """
        answers = ranked_run(run)
        numbered = {str(self._rows[query]): row for query, row in answers.items() if query in self._rows}
        per_query = {str(measure): np.full(len(self._rows), np.nan) for measure in self._measures}
        try:
            for metric in () if self._evaluator is None else self._evaluator.iter_calc(numbered):
                per_query[str(metric.measure)][int(metric.query_id)] = metric.value
        except CalledProcessError as error:
            raise InputError(f"`measures` must be computable here. ir-measures' program failed: {error}") from None
        per_query |= {str(own): own.per_query(run, self._qrels, self._weights) for own in self._own}
        return self._means(per_query), per_query

    def _means(self, per_query: Mapping[str, NDArray[np.float64]]) -> dict[str, float]:
        return {str(measure): _aggregate(measure, per_query[str(measure)]) for measure in self._measures}


def _aggregate(measure: Any, values: NDArray[np.float64]) -> float:
    """Aggregate as the measure says: nearly always the mean, but a sum for counts such as NumRel."""
    if isinstance(measure, PropensityPrecision):
        return float(values.mean())
    aggregator = measure.aggregator()
    for value in values[~np.isnan(values)].tolist():
        aggregator.add(value)
    return float(aggregator.result())
