"""Compare retrievers and runs, with significance and cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from vizsla._internal.lazy import cached_property, import_extra
from vizsla._internal.terminal import abbreviate, escape_control, markdown_table, print_table
from vizsla.core.validation import validate_args
from vizsla.errors import InputError, check_choice, check_positive, check_range
from vizsla.evaluation.evaluate import Evaluation, evaluate, report_dict
from vizsla.evaluation.judgments import judged_splits
from vizsla.evaluation.measures import DEFAULT_MEASURES
from vizsla.evaluation.overlap import OverlapMatrix
from vizsla.evaluation.report import (
    COST_HEADER,
    cost_cells,
    file_stem,
    html_table,
    json_text,
    latex_table,
    measure_cell,
    print_report,
    write_text,
)
from vizsla.evaluation.runs import System, rows_of
from vizsla.evaluation.significance import TESTS, effect_size, holm, mean_interval, p_values, share_bounds
from vizsla.typing import Float64Array

LETTERS = dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))
"""Systems' letters and their superscripts. Unicode has no superscript q that fonts know, so no system is called q."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """One comparison of two systems by one measure.

    Parameters
    ----------
    measure, a, b : str
        The measure and the two systems.
    difference : float
        Mean over the queries of a's value minus b's.
    p : float
        Two-sided p-value of this comparison alone.
    p_holm : float
        The same, corrected for all comparisons that were made with it.
    low, high : float
        The 95 % confidence interval of the difference, by Student's t distribution; within -1 and 1 for measures
        from 0 to 1.
    effect : float
        Cohen's d of the paired differences: their mean over their standard deviation.
    """

    measure: str
    a: str
    b: str
    difference: float
    p: float
    p_holm: float
    low: float
    high: float
    effect: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict."""
        return asdict(self)


def paired_tests(
    evaluations: Mapping[str, Evaluation],
    *,
    baseline: str | None = None,
    test: str = "randomization",
    samples: int = 10_000,
    seed: int = 0,
) -> list[PairedTest]:
    """Test all pairs of systems, or each against the baseline, by every measure; correct for all of them at once."""
    pairs = _pairs(list(evaluations), baseline)
    if not pairs:
        return []
    compared = [(measure, a, b) for measure in evaluations[pairs[0][0]].measures for a, b in pairs]
    columns = [evaluations[a].per_query[m] - evaluations[b].per_query[m] for m, a, b in compared]
    p = p_values(np.column_stack(columns), test=test, samples=samples, seed=seed)
    bounds = [_difference_bounds(evaluations[a], evaluations[b], measure) for measure, a, b in compared]
    intervals = [mean_interval(column, bounds=ends) for column, ends in zip(columns, bounds, strict=True)]
    found = zip(compared, columns, p.tolist(), holm(p).tolist(), intervals, strict=True)
    return [
        PairedTest(*names, _mean(column), raw, corrected, *ends, effect_size(column))
        for names, column, raw, corrected, ends in found
    ]


def letters_of(names: Sequence[str]) -> dict[str, str]:
    """Give each system a letter; none when there are more systems than letters.

    Examples
    --------
    >>> letters_of(["bm25", "xrlinear"])
    {'bm25': 'a', 'xrlinear': 'b'}
    """
    return dict(zip(names, LETTERS, strict=False)) if len(names) <= len(LETTERS) else dict.fromkeys(names, "")


def better_than(tests: Sequence[PairedTest], measure: str, name: str, *, alpha: float = 0.05) -> list[str]:
    """Return the systems that `name` is significantly better than."""
    mine = [test for test in tests if test.measure == measure and name in (test.a, test.b) and test.p_holm < alpha]
    return [test.b if name == test.a else test.a for test in mine if (test.difference > 0) == (name == test.a)]


def _pairs(names: list[str], baseline: str | None) -> list[tuple[str, str]]:
    if baseline is None:
        return list(combinations(names, 2))
    return [(name, baseline) for name in names if name != baseline]


def _difference_bounds(a: Evaluation, b: Evaluation, measure: str) -> tuple[float, float]:
    """Return the least and the greatest difference that a measure from 0 to 1 allows."""
    ends = [share_bounds(one.per_query[measure])[1] for one in (a, b)]
    return -max(ends), max(ends)


def _mean(differences: Float64Array) -> float:
    kept = differences[~np.isnan(differences)]
    return float(kept.mean()) if len(kept) else 0.0


RELEVANT = "✓"


@dataclass(frozen=True)
class Difference:
    """One query, and what two systems answered to it.

    Parameters
    ----------
    query, text : str
        The query's id and its text.
    measure : str
        What the systems differ by.
    names : pair of str
        The systems.
    values : pair of float
        The measure of each one's answer.
    answers : pair of lists
        The best item ids of each, best first.
    grades : dict
        The query's judged items.
    """

    query: str
    text: str
    measure: str
    names: tuple[str, str]
    values: tuple[float, float]
    answers: tuple[list[str], list[str]]
    grades: dict[str, int]

    def show(self) -> None:
        """Print both answers; relevant items are ticked."""
        values = ", ".join(f"{name} {measure_cell(value)}" for name, value in zip(self.names, self.values, strict=True))
        ticked = ([self._ticked(item) for item in answer] for answer in self.answers)
        rows = [[str(rank), a, b] for rank, (a, b) in enumerate(zip_longest(*ticked, fillvalue=""), 1)]
        print(escape_control(f"{self.query}: {abbreviate(self.text)}  ({self.measure}: {values})"))
        print_table(["rank", *self.names], rows or [["–", "", ""]])

    def _ticked(self, item: str) -> str:
        return f"{RELEVANT} {item}" if self.grades.get(item, 0) > 0 else f"  {item}"


def largest_differences(a: Evaluation, b: Evaluation, measure: str, count: int, *, depth: int = 5) -> list[Difference]:
    """Return the queries on which two systems differ most by a measure, the largest difference first.

    Parameters
    ----------
    a, b : Evaluation
        Evaluations over the same queries.
    measure : str
        What they differ by.
    count : int
        How many queries at most; those on which both are equal are left out.
    depth : int
        How many items of each answer are shown.
    """
    gaps = np.abs(np.nan_to_num(a.per_query[measure] - b.per_query[measure]))
    chosen = [int(row) for row in np.argsort(-gaps, kind="stable")[:count] if gaps[row] > 0]
    answers = [rows_of(one.run, one.queries, depth) for one in (a, b)]
    return [
        Difference(
            a.queries.ids[row],
            a.queries.texts[row],
            measure,
            (a.name, b.name),
            (float(a.per_query[measure][row]), float(b.per_query[measure][row])),
            (answers[0][row], answers[1][row]),
            a.queries.qrels[a.queries.ids[row]],
        )
        for row in chosen
    ]


class Comparison:
    """Evaluations of several systems on the same queries by the same measures.

    Parameters
    ----------
    evaluations : mapping
        Evaluations by name.
    baseline : str, optional
        Test each system against this one only. Without it all pairs are tested.
    test : {"randomization", "t"}
        The paired test.
    alpha : float
        A corrected p-value below this is called significant.
    samples : int
        Sign flips of the randomization test.
    seed : int
        Draws the flips.
    """

    def __init__(
        self,
        evaluations: Mapping[str, Evaluation],
        *,
        baseline: str | None = None,
        test: str = "randomization",
        alpha: float = 0.05,
        samples: int = 10_000,
        seed: int = 0,
    ):
        self.evaluations = dict(evaluations)
        _check_alike(self.evaluations)
        if baseline is not None:
            check_choice("baseline", baseline, list(self.evaluations))
        check_choice("test", test, TESTS)
        self.baseline, self.test, self.alpha = baseline, test, check_range("alpha", alpha, 0, 1)
        self._samples, self._seed = samples, seed

    @property
    def names(self) -> list[str]:
        """The systems, in the order given."""
        return list(self.evaluations)

    @property
    def measures(self) -> list[str]:
        """The measures' names."""
        return list(next(iter(self.evaluations.values())).measures)

    @cached_property
    def tests(self) -> list[PairedTest]:
        """All paired tests, Holm-corrected together."""
        return paired_tests(
            self.evaluations, baseline=self.baseline, test=self.test, samples=self._samples, seed=self._seed
        )

    def better_than(self, name: str, measure: str) -> list[str]:
        """Return the systems that `name` is significantly better than by this measure."""
        check_choice("name", name, self.names)
        check_choice("measure", measure, self.measures)
        return better_than(self.tests, measure, name, alpha=self.alpha)

    def to_dict(self) -> dict[str, Any]:
        """Return `{name: {"measures": …, "cost": …}}`."""
        return {name: evaluation.to_dict() for name, evaluation in self.evaluations.items()}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return measures, cost, tests and provenance by name as JSON; with `path`, also write it there."""
        made, report = self._tests_dict(), report_dict(self.evaluations)
        for name, row in report.items():
            own = [test for test in made["tests"] if name in (test["a"], test["b"])]
            row["significance"] = {**made, "tests": own}
        return write_text(json_text(report), path)

    def tests_to_json(self, path: str | Path | None = None) -> str:
        """Return how the tests were made, and every one of them, as JSON; with `path`, also write it there."""
        return write_text(json_text(self._tests_dict()), path)

    def _tests_dict(self) -> dict[str, Any]:
        made = {"test": self.test, "samples": self._samples, "seed": self._seed, "alpha": self.alpha}
        return {**made, "baseline": self.baseline, "tests": [test.to_dict() for test in self.tests]}

    def to_latex(self, path: str | Path | None = None) -> str:
        """Return a LaTeX table (booktabs) with its footnote as a comment; with `path`, also write it there."""
        return write_text(latex_table(*self._table(), self.footnote), path)

    def to_pandas(self) -> Any:
        """Return a row per system and judged query with a column per measure, as a pandas frame."""
        return import_extra("pandas", "`to_pandas`", "pandas").DataFrame(self._columns())

    def to_polars(self) -> Any:
        """Return a row per system and judged query with a column per measure, as a polars frame."""
        return import_extra("polars", "`to_polars`", "polars").DataFrame(self._columns())

    def _columns(self) -> dict[str, Any]:
        every = list(self.evaluations.values())
        queries = [query for one in every for query in one.query_ids]
        names = [name for name, one in self.evaluations.items() for _ in one.query_ids]
        values = {measure: np.concatenate([one.per_query[measure] for one in every]) for measure in self.measures}
        return {"system": names, "query": queries, **values}

    def _repr_html_(self) -> str:
        return html_table(*self._table(), self.footnote)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return a Markdown table with its footnote; with `path`, also write it there."""
        return write_text(f"{markdown_table(*self._table())}\n\n{self.footnote}\n", path)

    def per_query(self, path: str | Path | None = None) -> str:
        """Return every measure of every query as tab-separated lines, a column a system; with `path`, also write it."""
        queries = next(iter(self.evaluations.values())).queries
        lines = ["\t".join(["measure", "query", "text", *map(_column, self.names)])]
        for measure in self.measures:
            columns = [self.evaluations[name].per_query[measure].tolist() for name in self.names]
            for query, text, *values in zip(queries.ids, queries.texts, *columns, strict=True):
                lines.append("\t".join([measure, _column(query), _column(text), *(f"{value:.6g}" for value in values)]))
        return write_text("\n".join(lines) + "\n", path)

    def differences(
        self, count: int = 5, *, a: str | None = None, b: str | None = None, measure: str | None = None
    ) -> list[Difference]:
        """Return the queries on which two systems differ most, with both answers.

        Parameters
        ----------
        count : int
            How many queries.
        a, b : str, optional
            The systems; by default the baseline, or the first, and the best of the others.
        measure : str, optional
            What they differ by; by default the first one.
        """
        by = measure or self.measures[0]
        check_choice("measure", by, self.measures)
        if len(self.names) < 2:
            raise InputError(f"Differences need two systems. Got {len(self.names)}.")
        one = a or self.baseline or next(name for name in self.names if name != b)
        others = sorted((name for name in self.names if name != one), key=lambda n: -self.evaluations[n].measures[by])
        for argument, name in (("a", one), ("b", b or others[0])):
            check_choice(argument, name, self.names)
        pair = self.evaluations[one], self.evaluations[b or others[0]]
        return largest_differences(*pair, by, check_positive("count", count))

    def overlaps(self, k: int = 100) -> OverlapMatrix:
        """Count which relevant items each system finds that each other one misses, at a depth of `k`.

        Answers that were measured less deep than `k` are taken as deep as they are.
        """
        queries = next(iter(self.evaluations.values())).queries
        depth = check_positive("k", k)
        found = {name: rows_of(one.run, queries, depth) for name, one in self.evaluations.items()}
        return OverlapMatrix.of(found, queries, depth)

    def to_trec(self, folder: str | Path, *, by_rank: bool = False) -> dict[str, Path]:
        """Write each system's TREC run into a folder, and return the files by name."""
        files: dict[str, Path] = {}
        for number, (name, evaluation) in enumerate(self.evaluations.items(), 1):
            file = Path(folder) / f"{file_stem(name)}.run"
            if file in files.values():
                file = file.with_name(f"{file_stem(name)}-{number}.run")
            evaluation.to_trec(file, by_rank=by_rank)
            files[name] = file
        return files

    def show(self) -> None:
        """Print the table and its footnote."""
        print_report(*self._table())
        print(self.footnote)

    def plot(self, path: str | Path, *, x: str = "ms_p50", y: str | None = None, title: str | None = None) -> Path:
        """Draw quality against cost, and return the file.

        Parameters
        ----------
        path : path
            A .png, .svg or .pdf file.
        x : {"ms_p50", "ms_p99", "bytes", "bytes_per_item", "scored", "model_calls"}
            The cost.
        y : str, optional
            The measure; by default the first one.
        title : str, optional
            By default what is drawn, and over how many queries.
        """
        from vizsla.evaluation.plots import plot_comparison

        return plot_comparison(self, path, x=x, y=y, title=title)

    @property
    def footnote(self) -> str:
        """Say what was measured and what the letters mean."""
        first = next(iter(self.evaluations.values()))
        notes = [f"{first.cost.queries:,} queries."]
        if first.unjudged:
            notes.append(f"{first.unjudged:,} queries without judgments are left out.")
        for name, one in self.evaluations.items():
            if one.unanswered:
                notes.append(f"{name} answers {len(one.query_ids) - one.unanswered:,} of them; the others count as 0.")
            notes += [f"{name}: {note}" for note in one.notes[bool(one.unanswered) :]]
        if self.tests:
            kind = "paired randomization test" if self.test == "randomization" else "paired t-test"
            count = f"{len(self.tests)} comparison{'s' * (len(self.tests) > 1)}"
            notes.append(f"A raised letter: better than that system ({kind}, Holm over {count}, p < {self.alpha:g}).")
        return " ".join(notes)

    def __repr__(self) -> str:
        return f"Comparison({self.names}, {self.measures})"

    def _table(self) -> tuple[list[str], list[list[str]]]:
        letters = letters_of(self.names)
        rows = []
        for name, evaluation in self.evaluations.items():
            values = [self._cell(name, measure, letters) for measure in self.measures]
            rows.append([letters[name], name, *values, *cost_cells(evaluation.cost)])
        return ["", "system", *self.measures, *COST_HEADER], rows

    def _cell(self, name: str, measure: str, letters: Mapping[str, str]) -> str:
        raised = sorted(letters[other] for other in self.better_than(name, measure))
        return measure_cell(self.evaluations[name].measures[measure]) + "".join(LETTERS.get(one, "") for one in raised)


def _column(text: str) -> str:
    """Return a text that can stand between tabs."""
    return " ".join(text.split())


def _check_alike(evaluations: Mapping[str, Evaluation]) -> None:
    """Raise unless all evaluations speak of the same queries and measures."""
    if not evaluations:
        raise InputError("A comparison must have at least one system. Got none.")
    first, *_ = evaluations.values()
    for name, other in evaluations.items():
        if list(other.measures) != list(first.measures):
            raise InputError(f"All systems must be measured alike. Got {list(other.measures)} for {name!r}.")
        if list(other.query_ids) != list(first.query_ids):
            raise InputError(f"All systems must answer the same queries. Got others for {name!r}.")


@validate_args
def compare(
    systems: Mapping[str, System],
    dataset: Any,
    split: str = "test",
    measures: str | Iterable[Any] = DEFAULT_MEASURES,
    *,
    baseline: str | None = None,
    test: str = "randomization",
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
        Retrievers by name; a run (Candidates, a dict of dicts, a data frame, the path of a TREC file) is a system too.
    dataset : Dataset, mapping, data frame or path
        Gives query texts and judgments; as for `evaluate`, runs need judgments only.
    split : str
        Which queries.
    measures : str or iterable
        Names of ir-measures, or its objects.
    baseline : str, optional
        Test each system against this one only. Without it all pairs are tested.
    test : {"randomization", "t"}
        The paired test.
    alpha : float
        A corrected p-value below this is called significant.
    k, threads, latency_queries : int
        As for `evaluate`.
    samples : int
        Sign flips of the randomization test.
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
    judged = judged_splits(dataset, split)
    asked = measures if isinstance(measures, str) else tuple(measures) if isinstance(measures, Iterable) else measures
    evaluations = {
        name: evaluate(
            system,
            judged,
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
