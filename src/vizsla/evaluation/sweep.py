"""Sweep: one system at several settings, and the curve of quality against cost that they draw."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from vizsla._internal.terminal import markdown_table, progress
from vizsla.base.placement import Placement
from vizsla.base.recipe import Recipe
from vizsla.base.retriever import Retriever
from vizsla.core.validation import check_type, is_iterable
from vizsla.errors import InputError, check_choice
from vizsla.evaluation.evaluate import Evaluation, evaluate
from vizsla.evaluation.measures import DEFAULT_MEASURES, parse_measures
from vizsla.evaluation.report import COST_HEADER, cost_cells, json_text, measure_cell, print_report, write_text
from vizsla.methods.cur.budgeted import PLANNED, BudgetedSearch


class Sweep:
    """Evaluations of one system by the value of one setting.

    Parameters
    ----------
    setting : str
        The setting that is varied, such as "beam".
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
        first = next(iter(self.evaluations.values()))
        return write_text(json_text({**self.to_dict(), "provenance": dict(first.provenance)}), path)

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
        caption = title or f"Quality against {COSTS[x][0]}, {self.setting} {values[0]} to {values[-1]}"
        spread = self._spread() if x == "ms_p50" else None
        return plot_curves(
            curves, path, xlabel=COSTS[x][1], ylabel="quality", title=caption, names=values, spread=spread
        )

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


def variants(
    source: Retriever | Recipe, setting: str, values: Iterable[float], dataset: Any, *, threads: int = 1
) -> Iterator[tuple[float, Retriever]]:
    """Yield the retriever at each value of one of its arguments.

    The budget, `rounds`, `epsilon` and `stop` of a budgeted search and the effort of an index are changed as they are;
    any other argument of the function that built the retriever is changed in its recipe, which is built again from the
    dataset.

    Parameters
    ----------
    source : Retriever or Recipe
        The retriever, or its recipe.
    setting : str
        The argument, such as "weight", or one of a nested recipe, such as "base.k1" or "parts.0.k1".
    values : iterable of numbers
        The values of the argument.
    dataset : Dataset
        Items and clicks to build from.
    threads : int
        How many to use where building can use several.
    """
    numbers = list(values)
    if not numbers or any(isinstance(value, bool) or not isinstance(value, int | float) for value in numbers):
        raise InputError(f"`values` must be numbers. Got {numbers!r:.80}.")
    if isinstance(source, Retriever) and setting == "budget" and source.takes_budget:
        yield from ((value, source.with_budget(int(value))) for value in numbers)
        return
    if isinstance(source, Retriever) and setting == "effort" and source.has_effort:
        yield from ((value, source.with_effort(int(value))) for value in numbers)
        return
    if isinstance(source, BudgetedSearch) and setting in PLANNED:
        for value in numbers:
            yield value, source.with_plan(**{setting: int(value) if setting == "rounds" else float(value)})
        return
    recipe = source.recipe if isinstance(source, Retriever) else source
    for value in numbers:
        yield value, _changed(recipe, setting.split("."), value).build(dataset, threads=threads)


def _changed(recipe: Recipe, way: list[str], value: float) -> Recipe:
    """Return a recipe with a setting changed, of its own or of a recipe inside."""
    name, *others = way
    if not others:
        changed = recipe.but(**{name: value})
        changed.check_names()
        return changed
    inner = recipe.settings.get(name)
    if isinstance(inner, Recipe):
        return recipe.but(**{name: _changed(inner, others, value)})
    if isinstance(inner, list) and others[0].isdecimal() and int(others[0]) < len(inner) and len(others) > 1:
        parts = list(inner)
        parts[int(others[0])] = _changed(parts[int(others[0])], others[1:], value)
        return recipe.but(**{name: parts})
    known = ", ".join(key for key, one in recipe.settings.items() if isinstance(one, Recipe | list)) or "none"
    raise InputError(f"`setting` must lead through nested recipes of {recipe.kind!r} ({known}). Got {name!r}.")


def sweep(
    setting: str,
    systems: Retriever | Recipe | Mapping[float, Retriever] | Iterable[tuple[float, Retriever]],
    dataset: Any,
    split: str = "test",
    measures: str | Iterable[Any] = DEFAULT_MEASURES,
    *,
    values: Iterable[float] | None = None,
    on: Placement | None = None,
    **options: Any,
) -> Sweep:
    """Evaluate one system at several settings.

    Parameters
    ----------
    setting : str
        The setting that is varied, such as "beam".
    systems : Retriever, Recipe, mapping or pairs
        With `values`, a retriever or its recipe, whose argument `setting` is varied: see `variants`. Without, the
        system at each value of the setting. Pairs may come from a generator, so that only one is in memory.
    dataset : Dataset
        Gives query texts and judgments.
    split : str
        Which queries.
    measures : str or iterable
        Names of ir-measures, or its objects.
    values : iterable of numbers, optional
        The value of the argument.
    on : Placement, optional
        Where systems are evaluated, several at a time. Latencies are then those of machines that do other work, too.
    **options
        `k`, `threads`, `latency_queries` and `seed`, as for `evaluate`.
    """
    if on is not None:
        check_type("on", on, Placement, "a Placement")
    if values is not None:
        if not isinstance(systems, Retriever | Recipe):
            raise InputError(f"`systems` must be a Retriever or a Recipe to be varied. Got {type(systems).__name__}.")
        systems = variants(systems, setting, values, dataset, threads=options.get("threads", 1))
    pairs: Any = systems.items() if isinstance(systems, Mapping) else systems
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
