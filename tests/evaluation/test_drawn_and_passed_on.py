"""What is drawn is what was measured, and every option of a public call arrives at the call that uses it."""

from __future__ import annotations

import pickle
from importlib import import_module

import numpy as np
import pytest

from tests.evaluation.judged_dict import JudgedDict
from tests.evaluation.random_systems import judged_dict, noisy_system
from tests.support.table_retriever import TableRetriever
from vizsla.errors import BudgetError, InputError
from vizsla.evaluation import compare, evaluate, overlap, plots, sweep
from vizsla.evaluation.compare import Comparison
from vizsla.evaluation.cost import measured_ms, single_query_ms
from vizsla.evaluation.measures import JudgedQueries
from vizsla.evaluation.plots import plot_curves, plot_points, scale_axes
from vizsla.evaluation.report import print_report
from vizsla.evaluation.sweep import Sweep

DATA = judged_dict(25)
TEXTS = {"xlabel": "cost", "ylabel": "R@5", "title": "drawn"}


@pytest.fixture
def figures(monkeypatch):
    """Return the figures that are written from now on."""
    written = []
    monkeypatch.setattr(plots.Drawing, "_rendered", lambda self: written.append(self.figure) or b"")
    return written


def lines(axes):
    """Return the points of every line that is drawn, without those that no legend names."""
    return {line.get_label(): list(zip(*line.get_data(), strict=True)) for line in axes.lines if named(line)}


def named(line):
    return not line.get_label().startswith("_")


def bars(axes):
    return [(tuple(line.get_xdata()), set(line.get_ydata())) for line in axes.lines if line.get_alpha() == 0.45]


def test_curves_are_drawn_through_all_their_points_with_all_their_bars(figures, tmp_path):
    curves = {"R@5": [(1.0, 0.2), (3.0, 0.4), (2.0, 0.5)], "P@5": [(1.0, 0.1), (3.0, 0.3), (2.0, 0.6)]}
    spread = [(0.5, 1.5), (2.0, 4.0), (1.0, 3.0)]
    plot_curves(curves, tmp_path / "a.png", **TEXTS, spread=spread, names=["s1", "s2", "s3"])
    axes = figures[0].axes[0]
    assert lines(axes) == curves
    assert bars(axes) == [(low_high, {quality}) for points in curves.values()
                          for low_high, (_, quality) in zip(spread, points, strict=True)]  # fmt: skip
    steadied = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 2]
    assert [list(line) for line in steadied] == [[1.0, 2.5, 2.5]] * 2
    assert axes.get_xscale() == "log" and axes.get_title(loc="left") == "drawn" and axes.get_legend() is not None
    plot_curves({"R@5": curves["R@5"]}, tmp_path / "a.png", **TEXTS, cost=False)
    axes = figures[1].axes[0]
    assert axes.get_title(loc="left") == "drawn: R@5" and axes.get_xscale() == "linear" and not bars(axes)
    assert axes.get_xlabel() == "cost" and axes.get_ylabel() == "R@5 (up is better)"
    for count, inside in ((4, True), (5, False)):
        plot_curves({str(n): curves["R@5"] for n in range(count)}, tmp_path / "a.png", **TEXTS)
        figure = figures[-1]
        assert (figure.axes[0].get_legend() is not None) == inside and bool(figure.legends) != inside


def test_points_are_drawn_where_they_were_measured_below_their_frontier(figures, tmp_path):
    points = {"a": (4.0, 0.5), "b": (1.0, 0.3), "c": (2.0, 0.3), "d": (1.0, 0.2), "e": (9.0, 0.5)}
    plot_points(points, tmp_path / "a.png", **TEXTS, levels={"run": 0.9})
    axes = figures[0].axes[0]
    assert {name: pair for name, (pair,) in lines(axes).items()} == points
    edges = [line for line in axes.lines if line.get_color() == "#BBBBBB"]
    assert [list(map(list, line.get_data())) for line in edges] == [[[1.0, 4.0, 4.0], [0.3, 0.3, 0.5]]]
    level = next(line for line in axes.lines if list(line.get_ydata()) == [0.9, 0.9])
    assert level.get_color() == plots.marker_style(5)["color"] and axes.get_ylim()[1] > 0.9


@pytest.mark.parametrize(
    ("costs", "qualities", "cost", "xlim", "ylim"),
    [
        ([1.0, 100.0], [0.2, 0.7], True, (100**-0.15, 100 * 100**0.15), (0.11, 0.79)),
        ([1.0, 2.0], [0.2, 0.7], True, (1 / 1.6, 3.2), (0.11, 0.79)),
        ([0.0, 10.0], [0.0, 1.0], True, (-0.4, 11.5), (-0.02, 1.04)),
        ([2.0, 12.0], [0.5, 0.5], False, (1.6, 12.4), (0.482, 0.518)),
        ([2.0, 2.0], [3.0, 8.0], False, (1.96, 3.04), (2.1, 8.9)),
    ],
)
def test_axes_leave_room_around_the_points(costs, qualities, cost, xlim, ylim):
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    scale_axes(axes, costs, qualities, cost=cost)
    assert axes.get_xlim() == pytest.approx(xlim) and axes.get_ylim() == pytest.approx(ylim)


def test_a_comparison_draws_the_cost_measure_and_title_that_are_asked_for(figures, tmp_path):
    systems = {f"noise {noise}": noisy_system(DATA, noise=noise, seed=1) for noise in (0.1, 3.0)}
    found = compare(systems, DATA, measures=["R@5", "nDCG@10"], latency_queries=3)
    wishes = [(None, None), ("nDCG@10", "my own"), ("nDCG@10", None)] * 2
    for x, (y, title) in zip(plots.COSTS, wishes, strict=True):
        found.plot(tmp_path / "a.png", x=x, y=y, title=title)
        axes, measure = figures[-1].axes[0], y or "R@5"
        assert axes.get_title(loc="left") == (title or f"{measure} against {plots.COSTS[x][0]}, 25 queries")
        assert axes.get_xlabel().startswith(plots.COSTS[x][1]) and axes.get_ylabel().startswith(measure)
        drawn = {name: pair for name, (pair,) in lines(axes).items()}
        wanted = found.evaluations.items()
        assert drawn == {name: (getattr(one.cost, x), one.measures[measure]) for name, one in wanted}


def test_a_sweep_draws_its_quartiles_over_the_median_alone(figures, tmp_path):
    systems = {noise: noisy_system(DATA, noise=noise, seed=1) for noise in (4.0, 0.1)}
    found = sweep("noise", systems, DATA, measures=["R@5", "nDCG@10"], latency_queries=3)
    found.plot(tmp_path / "a.png")
    axes = figures[-1].axes[0]
    quartiles = [one.cost.ms_quartiles for one in found.evaluations.values()]
    assert [pair for pair, _ in bars(axes)] == quartiles * 2
    assert axes.get_title(loc="left") == "Quality against latency, noise 0.1 to 4"
    assert lines(axes) == {measure: found.curve(y=measure) for measure in ("R@5", "nDCG@10")}
    found.plot(tmp_path / "a.png", x="bytes", title="my own")
    axes = figures[-1].axes[0]
    assert not bars(axes) and axes.get_title(loc="left") == "my own" and axes.get_xlabel().startswith("bytes")


class Told:
    """Stands in the place of `evaluate`: notes what it is given."""

    def __init__(self):
        self.calls = []

    def __call__(self, *given, **named):
        self.calls.append((given, named))
        return evaluate(given[0], DATA, measures=["R@5"], latency_queries=0, name=named["name"])


def test_every_option_reaches_each_evaluation(monkeypatch):
    one, two = (noisy_system(DATA, noise=noise, seed=1) for noise in (0.1, 2.0))
    options = {"k": 50, "threads": 2, "latency_queries": 7, "seed": 5}
    told = Told()
    monkeypatch.setattr(import_module("vizsla.evaluation.compare"), "evaluate", told)
    rules = {"baseline": "two", "test": "t", "alpha": 0.2, "samples": 77}
    found = compare({"one": one, "two": two}, DATA, "dev", ["R@5"], **rules, **options)
    assert told.calls == [
        ((system, DATA, "dev", ("R@5",)), {"name": name, **options}) for name, system in (("one", one), ("two", two))
    ]
    assert (found.baseline, found.test, found.alpha, found._samples, found._seed) == ("two", "t", 0.2, 77, 5)
    told.calls.clear()
    monkeypatch.setattr(import_module("vizsla.evaluation.sweep"), "evaluate", told)
    sweep("noise", [(2.0, two), (0.1, one)], DATA, "dev", iter(["R@5"]), **options)
    calls = [((*given[:3], tuple(map(str, given[3]))), named) for given, named in told.calls]
    assert calls == [
        ((two, DATA, "dev", ("R@5",)), {"name": "noise 2", **options}),
        ((one, DATA, "dev", ("R@5",)), {"name": "noise 0.1", **options}),
    ]


class Asked(TableRetriever):
    """Notes every call."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.calls = []

    def __call__(self, queries, k=10, **options):
        self.calls.append((queries, k, options.get("threads", 1)))
        return super().__call__(queries, k, **options)


def asked(items=3):
    return Asked({"fig": {"a": 2.0, "b": 1.0}, "pear": {"b": 1.0}}, ["a", "b", "c"][:items])


def test_a_retriever_is_asked_as_deep_and_by_as_many_threads_as_is_said():
    data = JudgedDict({"1": "fig", "2": "pear"}, {"1": {"a": 1}, "2": {"a": 0, "b": 2}})
    system = asked()
    evaluate(system, data, measures=["R@2"], threads=2, latency_queries=0)
    assert system.calls == [(["fig", "pear"], 2, 2)]
    system = asked()
    evaluate(system, data, measures=["R@2"], k=9, latency_queries=2)
    assert {k for _, k, _ in system.calls} == {3}  # no deeper than there are items
    assert [query for query, _, _ in system.calls[1:3]] == [query for query, _, _ in system.calls[3:]]
    assert {threads for _, _, threads in system.calls[1:]} == {1}
    first, second = asked(), asked()
    assert overlap(first, second, data, k=2, threads=2).k == 2
    assert first.calls == second.calls == [(["fig", "pear"], 2, 2)]


def test_at_most_ten_queries_warm_up_and_each_of_the_sample_is_timed_once():
    texts = [f"q{number}" for number in range(30)]
    system = Asked({text: {"a": 1.0} for text in texts}, ["a"])
    assert len(single_query_ms(system, texts, 4, sample=25, seed=3)) == 25
    called = [query for query, _, _ in system.calls]
    assert called[:10] == called[10:20] and len(set(called[10:])) == 25 == len(called[10:])
    again = Asked(system.table, ["a"])
    single_query_ms(again, texts, 4, sample=25, seed=3)
    assert again.calls == system.calls
    single_query_ms(again, texts, 4, sample=25, seed=4)
    assert again.calls[35:] != system.calls


def test_a_budget_that_times_would_exceed_leaves_the_run_without_times():
    class Dear(Asked):
        def __call__(self, queries, k=10, **options):
            if isinstance(queries, str):
                raise BudgetError("no more")
            return super().__call__(queries, k, **options)

    system = Dear({"fig": {"a": 1.0}}, ["a"])
    run = system(["fig"], 1)
    assert measured_ms(system, ["fig"], 1, run, sample=None, seed=0).tolist() == []


def test_a_run_of_a_whole_catalog_knows_its_items_and_an_excerpt_does_not():
    data = JudgedDict({"1": "fig"}, {"1": {"a": 1}})
    run = asked()(["fig"], 2).with_query_ids(["1"])
    assert evaluate(run, data, measures=["R@2"]).cost.items == 3
    assert evaluate(pickle.loads(pickle.dumps(run)), data, measures=["R@2"]).cost.items == 0
    assert evaluate({"1": {"a": 1.0}}, data, measures=["R@2"]).cost.bytes_per_item is None


def test_judged_queries_come_in_the_splits_order_with_their_own_texts():
    texts = {"3": "three", "1": "one", "2": "two", "4": "four"}
    qrels = {"1": {"a": 1}, "2": {"a": 0}, "3": {"b": 2}, "4": {}}
    found = JudgedQueries.of(JudgedDict(texts, qrels), "test")
    assert (found.ids, found.texts, found.unjudged) == (["3", "1", "2"], ["three", "one", "two"], 1)
    assert found.qrels == {"3": {"b": 2}, "1": {"a": 1}, "2": {"a": 0}}


def test_names_of_systems_that_share_a_file_name_get_a_number(tmp_path):
    system = noisy_system(DATA, noise=0.1, seed=1)
    found = compare({"a/b": system, "a b": system, "c": system}, DATA, measures=["R@5"], latency_queries=0)
    files = found.to_trec(tmp_path, by_rank=True)
    assert {name: file.name for name, file in files.items()} == {"a/b": "a_b.run", "a b": "a_b-2.run", "c": "c.run"}
    for name, file in files.items():
        assert file.read_text() == found.evaluations[name].to_trec(by_rank=True)
        scores = [float(line.split()[4]) for line in file.read_text().splitlines()[:3]]
        assert np.diff(scores).tolist() == [-1, -1]


def test_a_comparison_and_a_sweep_hold_their_evaluations_apart():
    """What is given stays the caller's: a later change of the mapping changes no report."""
    one = evaluate(noisy_system(DATA, noise=0.1, seed=1), DATA, measures=["R@5"], latency_queries=0)
    given = {"one": one}
    found, swept = Comparison(given), Sweep("noise", {1.0: one})
    given["two"] = one
    assert found.names == ["one"] and list(swept.evaluations) == [1.0]


@pytest.mark.parametrize("columns", [60, 80, 300])
def test_every_figure_is_printed_once_on_any_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    header = ["", "system", "R@10", "nDCG@10", "RR@10", *plots_header()]
    rows = [["a", "first", "0.1111", "0.2222", "0.3333", "1.41", "2.51", "361", "4.71", "0"],
            ["b", "second", "0.6666", "0.7777", "0.8888", "5.91", "6.01", "781", "0", "–"]]  # fmt: skip
    print_report(header, rows, title="2 queries")
    printed = capsys.readouterr().out
    figures = [cell for row in rows for cell in row[2:] if cell not in ("0", "–")]
    assert [printed.count(figure) for figure in figures] == [1] * len(figures)
    assert printed.count("2 queries") == 1
    assert ("model calls" in printed) == (columns == 300)  # a cost that no system has is left out where room lacks


def plots_header():
    from vizsla.evaluation.report import COST_HEADER

    return COST_HEADER


@pytest.mark.parametrize("wrong", [3, [3], [(1.0,)], [(1.0, None, 2)], [("a", None)], [(True, None)], ["ab"]])
def test_what_is_no_pair_of_a_number_and_a_retriever_is_refused(wrong):
    with pytest.raises(InputError, match="pairs of a number and a Retriever"):
        sweep("noise", wrong, DATA, measures=["R@5"])
