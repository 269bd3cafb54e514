"""Sweep: one system at several settings, and the curve of quality against cost that they draw."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla._internal.terminal import markdown_table, progress
from vizsla.base.retriever import Retriever
from vizsla.core.validation import is_iterable
from vizsla.errors import InputError, check_choice
from vizsla.evaluation.evaluate import Evaluation, evaluate
from vizsla.evaluation.measures import DEFAULT_MEASURES, JudgedSplits, parse_measures
from vizsla.evaluation.report import COST_HEADER, cost_cells, json_text, measure_cell, print_report, write_text

if TYPE_CHECKING:
    from vizsla.base.placement import Placement


class Sweep:
    """Evaluations of one system by the value of one setting.

    Parameters
    ----------
    setting : str
        What is varied, such as "beam".
    evaluations : mapping
        Evaluations by the setting's value; they are shown and drawn in its order.
    """

    def __init__(self, setting: str, evaluations: Mapping[float, Evaluation]):
        if not evaluations:
            raise InputError("A sweep must have at least one setting. Got none.")
        self.setting, self.evaluations = setting, dict(sorted(evaluations.items()))

    @property
    def measures(self) -> list[str]:
        """The measures' names."""
        return list(next(iter(self.evaluations.values())).measures)

    def curve(self, *, x: str = "ms_p50", y: str | None = None) -> list[tuple[float, float]]:
        """Return the (cost, quality) of every setting, in the setting's order.

        Parameters
        ----------
        x : {"ms_p50", "ms_p99", "bytes", "bytes_per_item", "scored", "model_calls"}
            The cost.
        y : str, optional
            The measure; by default the first one.
        """
        from vizsla.evaluation.plots import COSTS

        measure = y or self.measures[0]
        check_choice("x", x, list(COSTS))
        check_choice("y", measure, self.measures)
        points = [(getattr(one.cost, x), one.measures[measure]) for one in self.evaluations.values()]
        if any(cost is None for cost, _ in points):
            raise InputError(f"`x` must be a cost that was measured. Got {x!r}: no query was timed.")
        return points

    def to_dict(self) -> dict[str, Any]:
        """Return the setting's name, and for each value its measures and cost."""
        rows = [{self.setting: value, **one.to_dict()} for value, one in self.evaluations.items()]
        return {"setting": self.setting, "values": rows}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return `to_dict` as JSON; with `path`, also write it there."""
        return write_text(json_text(self.to_dict()), path)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """Return a Markdown table; with `path`, also write it there."""
        return write_text(f"{markdown_table(*self._table())}\n", path)

    def show(self) -> None:
        """Print the table."""
        queries = next(iter(self.evaluations.values())).cost.queries
        print_report(*self._table(), title=f"{queries:,} queries")

    def plot(self, path: str | Path, *, x: str = "ms_p50", title: str | None = None) -> Path:
        """Draw each measure's curve over the cost, and return the file.

        Parameters
        ----------
        path : path
            A .png, .svg or .pdf file.
        x : {"ms_p50", "ms_p99", "bytes", "bytes_per_item", "scored", "model_calls"}
            The cost.
        title : str, optional
            By default what is varied and over which cost.
        """
        from vizsla.evaluation.plots import COSTS, plot_curves

        curves = {measure: self.curve(x=x, y=measure) for measure in self.measures}
        values = [f"{value:g}" for value in self.evaluations]
        said = title or f"Quality against {COSTS[x][0]}, {self.setting} {values[0]} to {values[-1]}"
        spread = self._spread() if x == "ms_p50" else None
        return plot_curves(curves, path, xlabel=COSTS[x][1], ylabel="quality", title=said, names=values, spread=spread)

    def _spread(self) -> list[tuple[float, float]] | None:
        """Return between which times the middle half of each setting's queries lies."""
        spread = [one.cost.ms_quartiles for one in self.evaluations.values()]
        return None if None in spread else [pair for pair in spread if pair is not None]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [f"{self.setting} {value:g}", *map(measure_cell, one.measures.values()), *cost_cells(one.cost)]
            for value, one in self.evaluations.items()
        ]
        return ["system", *self.measures, *COST_HEADER], rows


def sweep(
    setting: str,
    systems: Mapping[float, Retriever] | Iterable[tuple[float, Retriever]],
    dataset: JudgedSplits,
    split: str = "test",
    measures: str | Iterable[Any] = DEFAULT_MEASURES,
    *,
    on: Placement | None = None,
    **options: Any,
) -> Sweep:
    """Evaluate one system at several settings.

    Parameters
    ----------
    setting : str
        What is varied, such as "beam".
    systems : mapping or pairs
        The system at each value of the setting. Pairs may come from a generator, so that only one is in memory.
    dataset : Dataset
        Gives query texts and judgments.
    split : str
        Which queries.
    measures : str or iterable
        Names of ir-measures, or its objects.
    on : Placement, optional
        Where systems are evaluated, several at a time. Latencies are then those of machines that do other work, too.
    **options
        `k`, `threads`, `latency_queries` and `seed`, as for `evaluate`.
    """
    pairs = systems.items() if isinstance(systems, Mapping) else systems
    if not is_iterable(pairs):
        raise _not_systems(pairs)
    asked = parse_measures(measures)
    common, what = (setting, dataset, split, asked, options), f"sweeping over {setting}"
    if on is not None:
        return Sweep(setting, dict(on.map(_evaluated, map(_system, pairs), common=common, what=what)))
    return Sweep(setting, dict(_evaluated(_system(pair), common) for pair in progress(pairs, what=what)))


def _evaluated(system: tuple[float, Retriever], common: tuple[Any, ...]) -> tuple[float, Evaluation]:
    value, retriever = system
    setting, dataset, split, measures, options = common
    return value, evaluate(retriever, dataset, split, measures, name=f"{setting} {value:g}", **options)


def _system(pair: Any) -> tuple[float, Retriever]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise _not_systems(pair)
    value, retriever = pair
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _not_systems(value)
    return value, retriever


def _not_systems(got: Any) -> InputError:
    return InputError(f"`systems` must be a mapping or pairs of a number and a Retriever. Got {type(got).__name__}.")
