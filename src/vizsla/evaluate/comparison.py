"""Comparison: several systems side by side, with what they cost and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vizsla.cached_property import cached_property
from vizsla.errors import InputError, check_choice, check_positive, check_range
from vizsla.evaluate.differences import Difference, largest_differences
from vizsla.evaluate.evaluation import Evaluation
from vizsla.evaluate.overlap_matrix import OverlapMatrix
from vizsla.evaluate.paired import LETTERS, PairedTest, better_than, letters_of, paired_tests
from vizsla.evaluate.report import COST_HEADER, cost_cells, file_stem, json_text, measure_cell, print_report
from vizsla.evaluate.significance import TESTS
from vizsla.evaluate.system import rows_of
from vizsla.evaluate.write import write_text
from vizsla.tables import markdown_table


class Comparison:
    """Evaluations of several systems on the same queries by the same measures.

    Parameters
    ----------
    evaluations : mapping
        Evaluations by name.
    baseline : str, optional
        Test each system against this one only. Without it all pairs are tested.
    test : {"randomisation", "t"}
        The paired test.
    alpha : float
        A corrected p-value below this is called significant.
    samples : int
        Sign flips of the randomisation test.
    seed : int
        Draws the flips.
    """

    def __init__(
        self,
        evaluations: Mapping[str, Evaluation],
        *,
        baseline: str | None = None,
        test: str = "randomisation",
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
        """Return `to_dict` as JSON; with `path`, also write it there."""
        return write_text(json_text(self.to_dict()), path)

    def tests_to_json(self, path: str | Path | None = None) -> str:
        """Return how the tests were made, and every one of them, as JSON; with `path`, also write it there."""
        made = {"test": self.test, "samples": self._samples, "seed": self._seed, "alpha": self.alpha}
        detail = {**made, "baseline": self.baseline, "tests": [test.to_dict() for test in self.tests]}
        return write_text(json_text(detail), path)

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
        from vizsla.evaluate.plots import plot_comparison

        return plot_comparison(self, path, x=x, y=y, title=title)

    @property
    def footnote(self) -> str:
        """Say what was measured and what the letters mean."""
        first = next(iter(self.evaluations.values()))
        said = [f"{first.cost.queries:,} queries."]
        if first.unjudged:
            said.append(f"{first.unjudged:,} queries without judgements are left out.")
        for name, one in self.evaluations.items():
            if one.unanswered:
                said.append(f"{name} answers {len(one.query_ids) - one.unanswered:,} of them; the others count as 0.")
        if self.tests:
            kind = "paired randomisation test" if self.test == "randomisation" else "paired t-test"
            count = f"{len(self.tests)} comparison{'s' * (len(self.tests) > 1)}"
            said.append(f"A raised letter: better than that system ({kind}, Holm over {count}, p < {self.alpha:g}).")
        return " ".join(said)

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
