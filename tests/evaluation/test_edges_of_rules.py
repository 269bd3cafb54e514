"""Where rules of the evaluation begin and end: one query, values outside of 0 to 1, equal ranks, empty columns."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from vizsla.base.recipe import Recipe
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError
from vizsla.evaluation import compare, evaluate, fuse_runs, pool
from vizsla.evaluation.cost import Cost
from vizsla.evaluation.evaluate import Evaluation
from vizsla.evaluation.measures import parse_measure
from vizsla.evaluation.overlap import Overlap, top_k_recall
from vizsla.evaluation.propensity import PropensityPrecision
from vizsla.evaluation.report import (
    _fitting,
    cost_cells,
    file_stem,
    html_table,
    json_text,
    latex_table,
    latex_text,
    measure_cell,
    three_digits,
    trec_tag,
)
from vizsla.evaluation.runs import in_run_order
from vizsla.evaluation.significance import effect_size, holm, mean_interval, p_values, paired_t, share_bounds
from vizsla.evaluation.sweep import _changed

NAN = float("nan")


@pytest.mark.parametrize("values", [[], [0.5], [NAN, 0.5], [NAN]])
def test_a_single_query_proves_nothing(values):
    column = np.array(values)
    assert paired_t(column) == 1.0 and effect_size(column) == 0.0
    assert np.isnan(mean_interval(column)).all()
    assert p_values(column[:, None]).tolist() == [1.0]


@settings(max_examples=50)
@given(st.lists(st.sampled_from([-0.5, 0.0, 0.25, 1.0, 3.0, NAN]), min_size=2, max_size=9), st.floats(0.1, 0.99))
@example([0.25, 3.0], 0.95)
def test_intervals_effects_and_tests_are_those_of_scipy_without_missing_values(values, level):
    column = np.array(values)
    kept = column[~np.isnan(column)]
    if len(kept) < 2 or kept.std() == 0:
        return
    assert mean_interval(column, level=level) == pytest.approx(
        stats.t.interval(level, len(kept) - 1, kept.mean(), stats.sem(kept))
    )
    assert effect_size(column) == pytest.approx(kept.mean() / kept.std(ddof=1))
    assert paired_t(column) == pytest.approx(stats.ttest_1samp(kept, 0.0).pvalue)
    signs = np.array(list(product([-1, 1], repeat=len(kept))))
    share = (np.abs(signs @ kept) >= abs(kept.sum()) - 1e-9).mean()
    # As many samples as there are flips are enough for an exact value; one less is not.
    used = int(2 ** (kept != 0).sum())
    assert p_values(column[:, None], samples=used)[0] == pytest.approx(share)
    drawn = p_values(column[:, None], samples=used - 1)[0] * used
    assert drawn == pytest.approx(round(drawn)) and drawn >= 1


@pytest.mark.parametrize(
    ("values", "bounded"),
    [([0.0, 1.0], True), ([0.0, 1.0, NAN], True), ([-0.1, 0.5], False), ([0.5, 1.1], False), ([0.0], True)],
)
def test_shares_are_from_0_to_1_and_their_intervals_too(values, bounded):
    assert share_bounds(np.array(values)) == ((0.0, 1.0) if bounded else (-np.inf, np.inf))


def test_bounds_cut_each_end_by_itself():
    values = np.array([0.1, 0.2, 0.4])
    low, high = mean_interval(values)
    assert mean_interval(values, bounds=(0, 0.5)) == (0, 0.5)
    assert mean_interval(values, bounds=(-9, 0.5)) == (low, 0.5) and mean_interval(values, bounds=(0, 9)) == (0, high)


@pytest.mark.parametrize("counts", [((1, 1), (0, 5)), ((0, 5), (1, 1))])
def test_a_difference_is_bounded_where_both_systems_are(counts):
    """Retrieved counts go beyond 1 for one system; then the interval of the difference is not cut at 1."""
    runs = {}
    for name, sizes in zip("ab", counts, strict=True):
        runs[name] = {f"q{n}": {f"d{m}": 9.0 - m for m in range(size)} for n, size in enumerate(sizes)}
    grades = {"q0": {"d0": 1}, "q1": {"d0": 1}}
    (test,) = compare(runs, grades, measures="NumRet", test="t").tests
    gap = np.array(counts[0]) - np.array(counts[1])
    assert (test.low, test.high) == pytest.approx(stats.t.interval(0.95, 1, gap.mean(), stats.sem(gap)))
    (test,) = compare(runs, grades, measures="RR", test="t").tests
    assert -1 <= test.low <= test.high <= 1


@given(st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=6))
def test_holm_multiplies_the_smallest_by_all_and_keeps_the_order(p):
    found = holm(np.array(p))
    ranked = sorted(range(len(p)), key=lambda at: p[at])
    highest = 0.0
    for place, at in enumerate(ranked):
        highest = max(highest, min(1.0, p[at] * (len(p) - place)))
        assert found[at] == pytest.approx(highest)


RUNS = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 3).map(float), max_size=5),
    max_size=3,
)


def ranked(run):
    """Return the items of each query by score, equal ones as they are given."""
    return {query: sorted(row, key=lambda item, row=row: -row[item]) for query, row in run.items()}


@settings(max_examples=40)
@given(st.lists(RUNS, min_size=2, max_size=3), st.integers(1, 4), RUNS)
def test_a_pool_holds_the_best_of_each_run_by_best_rank_then_by_id(runs, depth, judged):
    known = {query: dict.fromkeys(row, 1) for query, row in judged.items() if row}
    wanted = {}
    for run in runs:
        for query, items in ranked(run).items():
            own = wanted.setdefault(query, {})
            for rank, item in enumerate(items[:depth]):
                if item not in known.get(query, {}):
                    own[item] = min(rank, own.get(item, 99))
    wanted = {query: [item for _, item in sorted((rank, item) for item, rank in row.items())] for query, row in wanted.items()}  # noqa: E501  # fmt: skip
    assert pool(runs, depth, judged=known or None) == wanted


@settings(max_examples=40)
@given(st.lists(RUNS, min_size=2, max_size=3), st.data(), st.sampled_from([0.0, 1.0, 60.0]))
def test_a_fusion_adds_shares_of_ranks(runs, data, constant):
    weights = data.draw(st.lists(st.integers(0, 3).map(float), min_size=len(runs), max_size=len(runs)))
    wanted: dict[str, dict[str, float]] = {}
    for run, weight in zip(runs, weights, strict=True):
        for query, items in ranked(run).items():
            row = wanted.setdefault(query, {})
            for rank, item in enumerate(items, 1):
                row[item] = row.get(item, 0) + weight / (constant + rank)
    found = fuse_runs(runs, weights=weights, rank_constant=constant)
    assert found.to_dict() == {query: pytest.approx(row, rel=1e-5, abs=1e-9) for query, row in wanted.items()}
    assert found.ids == in_run_order(wanted).ids
    assert fuse_runs(runs, weights=weights, rank_constant=constant, k=2).ids == [row[:2] for row in found.ids]


def test_recall_of_the_best_is_a_mean_over_answered_queries():
    exact = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"d": 1.0}, "empty": {}}
    found = {"q": {"c": 9.0, "a": 8.0, "b": 7.0}, "s": {"d": 1.0}}
    assert top_k_recall(found, exact, 2) == 0.5
    assert top_k_recall(found, exact, 3, calls=2) == pytest.approx((2 / 3 + 0) / 2)
    assert top_k_recall(found, exact, 1, calls=1) == 0 and top_k_recall(found, exact, 1, calls=2) == 0.5
    with pytest.raises(InputError, match="at least one query"):
        top_k_recall(found, {"q": {}}, 2)


def test_a_run_of_numbers_knows_no_catalog():
    done = evaluate(Candidates([0, 1], [4], [1.0]), {"0": {"4": 1}}, measures="RR")
    assert done.measures == {"RR": 1.0} and (done.cost.items, done.cost.queries) == (0, 1)


def test_a_run_is_as_deep_as_it_is_unless_a_depth_is_given():
    run, grades = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, {"q": {"c": 1}}
    assert evaluate(run, grades, measures="RR").run.ids == [["a", "b", "c"]]
    assert evaluate(run, grades, measures="RR@2", k=2).run.ids == [["a", "b"]]
    with pytest.raises(InputError, match="`k` must reach the deepest cutoff"):
        evaluate(run, grades, measures="RR@2", k=1)


def test_provenance_names_the_seed_the_split_and_the_data():
    run, grades = {"q": {"a": 3.0}}, {"q": {"a": 1}}
    one, two = (evaluate(run, grades, split, "RR", seed=seed).provenance for split, seed in (("test", 3), ("dev", 4)))
    assert (one["seed"], one["split"], two["seed"], two["split"]) == (3, "test", 4, "dev")
    other = evaluate(run, {"q": {"a": 2}}, "test", "RR").provenance
    assert one["data"] == two["data"] != other["data"]


def test_counts_are_sums_and_others_means():
    run = {"q": {"a": 3.0, "x": 2.0}, "r": {"a": 1.0}}
    done = evaluate(run, {"q": {"a": 1}, "r": {"a": 1, "b": 1}}, measures=["NumRet", "NumRel", "P@2"])
    assert done.measures == {"NumRet": 3, "NumRel": 3, "P@2": 0.5}


@pytest.mark.parametrize(
    ("name", "cutoff"),
    [("PSP@1", 1), ("PSP@1000000", 1000000), ("PSP@0", None), ("PSP@05", None), ("PSP@12345678", None), ("PSP", None),
     ("xPSP@1", None), (3, None)],
)  # fmt: skip
def test_propensity_scored_precision_has_a_cutoff_from_1_on(name, cutoff):
    found = PropensityPrecision.parse(name)
    assert (None if found is None else found.cutoff) == cutoff
    assert found is None or (PropensityPrecision.parse(found) is found and repr(found) == name)


# What is written.


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (0.0123456, "0.0123"), (1.0, "1"), (99.44, "99.4"), (99.5, "99.5"), (100.4, "100"),
     (1234567.8, "1,234,568"), (0.5, "0.5"), (7.25, "7.25")],
)  # fmt: skip
def test_costs_have_three_digits(value, text):
    assert three_digits(value) == text


def test_cells_stand_in_the_order_of_their_header():
    assert cost_cells(Cost(1.0, 2.0, 30, 4.0, 5.0, 9, 10)) == ["1", "2", "3", "4", "5"]
    assert [measure_cell(value) for value in (0.0, 0.99996, NAN)] == ["0.0000", "1.0000", "–"]


@pytest.mark.parametrize(
    ("name", "tag", "stem"),
    [(" a\t b ", "a_b", "a_b"), ("", "vizsla", "system"), ("../", "../", "system"), ("a/b:c", "a/b:c", "a_b_c"),
     ("x.y-z+1", "x.y-z+1", "x.y-z+1"), ("_a_", "_a_", "a")],
)  # fmt: skip
def test_names_of_systems_in_files(name, tag, stem):
    assert (trec_tag(name), file_stem(name)) == (tag, stem)


def test_tables_leave_out_columns_that_are_empty_everywhere():
    header, rows = (
        ["", "system", "R@1", "ms", "calls"],
        [["a", "x_1", "0.5ᵇ", "–", "–"], ["b", "<y>", "0.25", "–", "3"]],
    )
    lines = latex_table(header, rows, "10 % & more").splitlines()
    assert lines[0] == r"\begin{tabular}{llrr}" and lines[-1] == "% 10 % & more"
    assert lines[2] == r" & system & R@1 & calls \\" and lines[1:6:2] == [
        r"\toprule",
        r"\midrule",
        r"b & <y> & 0.25 & 3 \\",
    ]
    assert lines[4] == r"a & x\_1 & 0.5\textsuperscript{b} & -- \\"
    bare = [["", "x", "1", "–", "–"]]
    assert latex_table(header, bare).startswith("\\begin{tabular}{lr}\n") and "%" not in latex_table(header, bare)
    assert latex_text("a\\b~c^d{e}$f#") == r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d\{e\}\$f\#"
    page = html_table(header, rows, "<note>")
    assert page.count("<th>") == 5 and page.count("<tr>") == 3 and "&lt;y&gt;" in page and "<p>&lt;note&gt;</p>" in page
    assert "<p>" not in html_table(header, rows)


def test_json_holds_no_number_that_json_does_not_know():
    assert json_text({"a": [NAN, {"b": -np.inf}], "c": 1.5, "d": "ü"}) == (
        '{\n "a": [\n  null,\n  {\n   "b": null\n  }\n ],\n "c": 1.5,\n "d": "ü"\n}\n'
    )


@given(st.lists(st.integers(1, 9), max_size=9), st.integers(1, 20))
def test_columns_fill_each_line_as_far_as_it_goes(widths, room):
    groups = _fitting(widths, range(len(widths)), room)
    assert [column for group in groups for column in group] == list(range(len(widths)))
    sizes = [sum(widths[column] for column in group) for group in groups]
    assert all(size <= room or len(group) == 1 for size, group in zip(sizes, groups, strict=True))
    for group, after in pairwise(groups):
        assert sum(widths[column] for column in group) + widths[after[0]] > room


def test_a_comparison_says_what_was_compared():
    one = {"q": {"a": 1.0}, "r": {"a": 1.0}, "s": {"a": 1.0}}
    grades = {query: {"a": 1} for query in one}
    three = compare({"x": one, "y": one, "z": {"q": {"a": 1.0}}}, grades, measures=["RR"], alpha=0.01)
    assert three.footnote == (
        "3 queries. z answers 1 of them; the others count as 0. A raised letter: better than that system "
        "(paired randomization test, Holm over 3 comparisons, p < 0.01)."
    )
    two = compare({"x": one, "y": one}, grades, measures=["RR"], test="t")
    assert (
        two.footnote
        == "3 queries. A raised letter: better than that system (paired t-test, Holm over 1 comparison, p < 0.05)."
    )
    assert compare({"x": one}, grades, measures=["RR"]).footnote == "3 queries."
    assert isinstance(three.evaluations["x"], Evaluation) and repr(two) == "Comparison(['x', 'y'], ['RR'])"


# Settings of nested recipes, and shares of one pair.


def test_a_setting_of_a_nested_recipe_is_changed_there_alone():
    pair = Recipe.of("fuse", parts=[Recipe.of("bm25", k1=1.0), Recipe.of("bm25", k1=2.0)])
    for way, wanted in (("parts.0.k1", [9.0, 2.0]), ("parts.1.k1", [1.0, 9.0])):
        found = _changed(pair, way.split("."), 9.0)
        assert [part.settings["k1"] for part in found.settings["parts"]] == wanted
    based = Recipe.of("pefa", base=Recipe.of("bm25", k1=1.0), variant="xs")
    assert _changed(based, ["base", "k1"], 9.0).settings["base"] == Recipe.of("bm25", k1=9.0)
    assert _changed(based, ["weight"], 0.5).settings["weight"] == 0.5
    for recipe, way in ((pair, "parts.2.k1"), (pair, "parts.x.k1"), (pair, "parts.0"), (pair, "parts.k1"),
                        (based, "variant.k1"), (based, "other.k1")):  # fmt: skip
        with pytest.raises(InputError, match="must lead through nested recipes"):
            _changed(recipe, way.split("."), 9.0)


@pytest.mark.parametrize(("counts", "shares"), [((1, 0, 0, 0), "1.0000"), ((0, 0, 0, 1), "0.0000")])
def test_shares_of_a_single_relevant_pair(counts, shares):
    assert f"| both a and b | {counts[0]} | {shares} |" in Overlap("a", "b", 5, *counts).to_markdown()


def test_reports_are_written_into_folders_that_are_made_for_them(tmp_path):
    evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, measures="RR").to_json(tmp_path / "new" / "deep" / "e.json")
    assert (tmp_path / "new" / "deep" / "e.json").read_text().startswith('{\n "run": {')


@pytest.mark.parametrize(
    ("typed", "meant"), [("ndgc@10", "nDCG@10"), ("recal@5", "R@5"), ("precison(rel=2)@5", "P(rel=2)@5")]
)
def test_a_misspelled_measure_is_recognized(typed, meant):
    with pytest.raises(InputError) as caught:
        parse_measure(typed)
    assert meant in str(caught.value)
