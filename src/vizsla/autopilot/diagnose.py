"""diagnose: what a pipeline loses to depth, budget, search and codes, each switched to its exact twin in turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from vizsla._internal.terminal import markdown_table, print_table
from vizsla.autopilot.report_page import gains_page
from vizsla.autopilot.searches import Searches
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.compose.budgeted import BudgetedRerank
from vizsla.compose.composition import Composition
from vizsla.compose.operators import Rerank, TopK, Union
from vizsla.compose.weighted_sum import Sum
from vizsla.core.candidates import Candidates, PairScores
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_choice
from vizsla.evaluation.report import json_text, write_text
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.query_mix import WARM, Mix
from vizsla.methods.dense import Dense, dense

MAX_QUERIES = 200
"""Exact twins score every item, so more queries take long."""
MORE = 10
"""How many times deeper a list is made, and larger a budget; the whole catalog at most."""


class ExhaustiveRetriever(Retriever):
    """Answers as its part does, but after scoring every item: no beam, graph, list or bound leaves any out.

    Parameters
    ----------
    part : Retriever
        The retriever to diagnose.
    """

    def __init__(self, part: Retriever):
        self.part, self.scale, self.max_score = part, part.scale, part.max_score

    @property
    def items(self) -> Strings:
        """The part's items."""
        return self.part.items

    @property
    def nbytes(self) -> int:
        """The part's bytes."""
        return self.part.nbytes

    def _search(self, queries: Queries, k: int, filter: Filter | None, threads: int) -> Candidates:
        return self.part.exact(queries, k, where=filter, threads=threads)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        return self.part._score(queries, candidates, filter, threads)

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return self.part._explain(queries, item, filter)

    def _write(self, writer: Any) -> NoReturn:
        raise InputError("An exhaustive twin must not be saved. Got `save`: save its part.")

    @classmethod
    def _read(cls, reader: Any) -> NoReturn:
        raise InputError("An exhaustive twin cannot be loaded.")


class LossStep(NamedTuple):
    """One switch.

    Attributes
    ----------
    name : str
        What was switched to its exact twin, beside all that came before.
    quality : float
        nDCG@10 after it.
    gain, low, high : float
        What the switch gives over the step before, and the 95 % interval.
    """

    name: str
    quality: float
    gain: float
    low: float
    high: float


@dataclass(frozen=True)
class Diagnosis:
    """Where a pipeline loses.

    Parameters
    ----------
    system : str
        The pipeline.
    queries : int
        How many were asked.
    steps : list of LossStep
        "as it is", and every switch that this pipeline has.
    """

    system: str
    queries: int
    steps: list[LossStep]

    @property
    def model_loss(self) -> float:
        """What is missing from a perfect answer once everything is exact: the scores themselves lose it."""
        return 1 - self.steps[-1].quality

    @property
    def advice(self) -> str:
        """What to change first, in a sentence."""
        sure = [step for step in self.steps[1:] if step.low > 0]
        if not sure:
            return f"Nothing is surely lost on the way: the {self.model_loss:.3f} that are missing are the model's."
        worst = max(sure, key=lambda step: step.gain)
        if worst.gain < 0.1 * self.model_loss:
            return f"{worst.name} costs {worst.gain:.3f}, little beside the {self.model_loss:.3f} that the model loses."
        return f"Change {worst.name} first: its exact twin gives {worst.gain:.3f} more."

    def show(self) -> None:
        """Print the table and the advice."""
        print_table(*self._table())
        print(self.advice)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return a Markdown table; with `path`, also write it there."""
        return write_text(f"{markdown_table(*self._table())}\n\n{self.advice}\n", path)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return everything as JSON; with `path`, also write it there."""
        steps = [step._asdict() for step in self.steps]
        known = {**asdict(self), "steps": steps, "model_loss": self.model_loss, "advice": self.advice}
        return write_text(json_text(known), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return a page with a chart; with `path`, also write it there."""
        rows = [(step.name, step.gain, step.low, step.high) for step in self.steps[1:]]
        return write_text(gains_page("Where it loses", self.system, self.advice, self._table(), rows), path)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [step.name, f"{step.quality:.3f}", f"{step.gain:+.3f} ({step.low:+.3f} to {step.high:+.3f})" if at else ""]
            for at, step in enumerate(self.steps)
        ]
        return ["switched to its exact twin", "nDCG@10", "gain"], [
            *rows,
            ["the model itself", "1", f"{self.model_loss:+.3f}"],
        ]


@validate_args
def diagnose(
    retriever: Retriever, dataset: Dataset, split: str = "test", *, seed: int = 0, threads: int = 1
) -> Diagnosis:
    """Switch the approximations of a pipeline to their exact twins, one after another, and measure each.

    The switches are: the depth of sums, unions and lists that are re-ranked; the budget of calls; search that leaves
    items out (beams, graphs, lists, pruning); and codes in place of vectors. A switch that the pipeline does not have
    is left out.

    Parameters
    ----------
    retriever : Retriever
        A method or a composition.
    dataset : Dataset
        Judged queries, and the texts of the items.
    split : str
        Which queries; at most 200, drawn at random.
    seed : int
        Draws the queries.
    threads : int
        How many to use.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> fruit = Dataset.of({"f": "a fig", "p": "a pear"}, queries={"q": "fig"}, qrels={"q": {"f": 1}})
    >>> [step.name for step in diagnose(bm25(fruit), fruit).steps]
    ['as it is', 'search']
    """
    searches = _judged(retriever, dataset, split).sample(MAX_QUERIES, seed)
    switches: list[tuple[str, Callable[[Any], Any]]] = [
        ("depth", _deeper),
        ("budget", _larger_budget),
        ("codes", lambda part: _full_vectors(part, dataset)),
        ("search", _exhaustive),
    ]
    system, values = retriever, searches.measure(searches.answers(retriever, threads=threads))
    steps = [LossStep("as it is", searches.quality(values), 0.0, 0.0, 0.0)]
    for name, switch in switches:
        changed = _switched(system, switch)
        if changed is system:
            continue
        after = searches.measure(searches.answers(changed, threads=threads))
        gain = searches.interval(after - values)
        steps.append(LossStep(name, searches.quality(after), gain.mean, gain.low, gain.high))
        system, values = changed, after
    return Diagnosis(str(retriever), len(searches), steps)


def _judged(retriever: Retriever, dataset: Dataset, split: str) -> Searches:
    """Return the judged queries of a split, with wanted items numbered as the retriever's."""
    from scipy.sparse import csr_array

    check_choice("split", split, list(dataset.splits))
    grades = dataset.qrels(split)
    _, texts = dataset.query_texts()
    numbers = retriever.items.find_all(dataset.item_ids.take(np.arange(len(dataset.item_ids), dtype=np.int32)))
    entries = grades.tocoo()
    kept = (entries.data > 0) & (numbers[entries.col] >= 0)
    rows, at = np.unique(entries.row[kept], return_inverse=True)
    if not len(rows):
        raise InputError(f"`split` must have queries about the retriever's items. Got none in {split!r}.")
    shape = (len(rows), len(retriever.items))
    wanted = csr_array((np.ones(len(at), np.float32), (at, numbers[entries.col[kept]])), shape=shape)
    asked = [texts[row] for row in rows.tolist()]
    return Searches(asked, wanted, np.full(len(rows), WARM), Mix(0.0, 1.0, 0.0))


def _switched(part: Any, switch: Callable[[Any], Any]) -> Any:
    """Return a pipeline with a switch applied to all of its parts, or itself where it changes nothing."""
    if isinstance(part, Composition):
        parts = [_switched(each, switch) for each in part.children()]
        if any(new is not old for new, old in zip(parts, part.children(), strict=True)):
            part = part._rebuild(parts, part._options())
    return switch(part)


def _deeper(part: Any) -> Any:
    if isinstance(part, BudgetedRerank) or not isinstance(part, Sum | Union | Rerank | TopK):
        return part
    options = part._options()
    name = "k" if isinstance(part, TopK) else "depth"
    most = min(MORE * options[name], len(part.items)) if options.get(name) else 0
    return part._rebuild(part.children(), {**options, name: most}) if most > (options.get(name) or 0) else part


def _larger_budget(part: Any) -> Any:
    if not isinstance(part, BudgetedRerank):
        return part
    options = part._options()
    most = min(MORE * options["budget"], len(part.items))
    return part._rebuild(part.children(), {**options, "budget": most}) if most > options["budget"] else part


def _full_vectors(part: Any, dataset: Dataset) -> Any:
    if type(part) is not Dense or not isinstance(part.index, PqIndex):
        return part
    texts = {id: dataset.text(id) for id in part.items}
    return dense(texts, part.encoder)


def _exhaustive(part: Any) -> Any:
    simple = isinstance(part, Retriever) and not isinstance(part, Composition | ExhaustiveRetriever)
    return ExhaustiveRetriever(part) if simple and part.generates_candidates else part
