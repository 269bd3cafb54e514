import json

import numpy as np
import pytest
from scipy import stats

from tests.evaluation.random_systems import judged_dict, noisy_system
from vizsla.errors import InputError
from vizsla.evaluation import Comparison, compare, evaluate
from vizsla.evaluation.report import COST_HEADER, print_report

DATA = judged_dict(120)
SYSTEMS = {
    "weak": noisy_system(DATA, noise=3.0, seed=1),
    "strong": noisy_system(DATA, noise=0.3, seed=2),
    "strong too": noisy_system(DATA, noise=0.3, seed=3),
}
MEASURES = ["nDCG@10", "R@5"]


@pytest.fixture(scope="module")
def comparison():
    return compare(SYSTEMS, DATA, measures=MEASURES, latency_queries=10)


def test_each_system_is_evaluated_as_it_would_be_alone(comparison):
    for name, system in SYSTEMS.items():
        assert comparison.evaluations[name].measures == evaluate(system, DATA, measures=MEASURES).measures


def test_all_pairs_are_tested_by_every_measure(comparison):
    made = [(test.measure, test.a, test.b) for test in comparison.tests]
    pairs = [("weak", "strong"), ("weak", "strong too"), ("strong", "strong too")]
    assert made == [(measure, *pair) for measure in MEASURES for pair in pairs]


def test_student_on_the_comparison_is_scipys_with_holm_over_all():
    done = compare(SYSTEMS, DATA, measures=MEASURES, test="t", latency_queries=0)
    values = {name: one.per_query for name, one in done.evaluations.items()}
    expected = [stats.ttest_rel(values[t.a][t.measure], values[t.b][t.measure]).pvalue for t in done.tests]
    assert [test.p for test in done.tests] == pytest.approx(expected, rel=1e-6)
    order = np.argsort(expected)
    stepped = np.maximum.accumulate(np.array(expected)[order] * np.arange(6, 0, -1)).clip(max=1)
    assert [done.tests[at].p_holm for at in order] == pytest.approx(stepped.tolist(), rel=1e-6)
    difference = np.mean(values["weak"]["R@5"] - values["strong"]["R@5"])
    assert next(t for t in done.tests if (t.measure, t.b) == ("R@5", "strong")).difference == pytest.approx(difference)


def test_better_systems_are_told_from_equal_ones(comparison):
    for measure in MEASURES:
        assert comparison.better_than("strong", measure) == ["weak"]
        assert comparison.better_than("strong too", measure) == ["weak"]
        assert comparison.better_than("weak", measure) == []


def test_the_table_carries_the_letters(comparison):
    lines = comparison.to_markdown().splitlines()
    assert lines[0] == "|  | system | nDCG@10 | R@5 | ms p50 | ms p99 | bytes/item | scored | model calls |"
    strong = comparison.evaluations["strong"].measures
    assert lines[3].startswith(f"| b | strong | {strong['nDCG@10']:.4f}ᵃ | {strong['R@5']:.4f}ᵃ | ")
    assert "ᵃ" not in lines[2]
    assert lines[-1] == (
        "120 queries. A raised letter: better than that system "
        "(paired randomization test, Holm over 6 comparisons, p < 0.05)."
    )


def test_a_baseline_is_compared_with_each_other_system_only():
    done = compare(SYSTEMS, DATA, measures=MEASURES, baseline="strong", latency_queries=0)
    assert {(test.a, test.b) for test in done.tests} == {("weak", "strong"), ("strong too", "strong")}
    assert done.better_than("strong", "R@5") == ["weak"]
    assert done.better_than("strong too", "R@5") == []


def test_json_has_exactly_the_agreed_shape(comparison, tmp_path):
    comparison.to_json(tmp_path / "compare.json")
    written = json.loads((tmp_path / "compare.json").read_text())
    assert list(written) == list(SYSTEMS)
    for name, row in written.items():
        assert list(row) == ["measures", "cost", "intervals", "notes", "provenance", "significance"]
        own = [test.to_dict() for test in comparison.tests if name in (test.a, test.b)]
        assert row["significance"]["tests"] == own and row["significance"]["seed"] == 0
        assert row["measures"] == comparison.evaluations[name].measures
        assert list(row["cost"]) == ["ms_p50", "ms_p99", "bytes", "scored", "model_calls", "queries"]
        assert (row["cost"]["bytes"], row["cost"]["queries"]) == (480, 120)


def test_the_tests_can_be_written_too(comparison, tmp_path):
    comparison.tests_to_json(tmp_path / "tests.json")
    written = json.loads((tmp_path / "tests.json").read_text())
    assert (written["test"], written["samples"], written["seed"]) == ("randomization", 10_000, 0)
    assert written["tests"] == [test.to_dict() for test in comparison.tests]


def test_the_seed_decides_every_p_value():
    again, other = (compare(SYSTEMS, DATA, measures="R@5", latency_queries=0, seed=seed) for seed in (0, 1))
    first = compare(SYSTEMS, DATA, measures="R@5", latency_queries=0)
    assert first.tests == again.tests != other.tests


def test_runs_of_all_systems_stay_in_their_folder(tmp_path):
    names = {"a b": SYSTEMS["weak"], "a/b": SYSTEMS["strong"], "../up": SYSTEMS["weak"]}
    files = compare(names, DATA, measures="R@5", latency_queries=0).to_trec(tmp_path / "runs")
    assert [file.name for file in files.values()] == ["a_b.run", "a_b-2.run", "up.run"]
    assert sorted(tmp_path.rglob("*.run")) == sorted(files.values())
    assert files["a b"].read_text().splitlines()[0].split()[-1] == "a_b"


@pytest.mark.parametrize("columns", [80, 200])
def test_no_figure_is_cut_off_on_the_terminal(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    whole = compare(SYSTEMS, DATA, latency_queries=10)
    whole.show()
    printed = capsys.readouterr().out
    assert "…" not in printed
    for line in whole.to_markdown().splitlines()[2:5]:
        letter, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        assert all(cell in printed for cell in cells) and f" {letter} " in printed
    whole.evaluations["strong too"].show()
    assert "…" not in capsys.readouterr().out


def test_many_long_names_stay_whole_in_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"a system with a name {number}" for number in range(12)]
    cells = ["0.1234" + "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏ"] * 4
    print_report(
        ["", "system", "nDCG@10", "R@10", "R@100", "RR@10", *COST_HEADER],
        [["a", name, *cells, "0.183", "12.5", "1,235", "9.5", "0"] for name in names],
    )
    printed = capsys.readouterr().out
    assert "…" not in printed and max(map(len, printed.splitlines())) <= 80
    assert all(printed.count(name + " ") == 3 for name in names), "two tables of measures, one of costs"
    assert "bytes/item" in printed and "model calls" not in printed, "nobody has any"


def test_one_system_needs_no_test(capsys):
    done = compare({"only": SYSTEMS["weak"]}, DATA, measures="R@5", latency_queries=0)
    assert done.tests == []
    assert done.to_markdown().splitlines()[-1] == "120 queries."
    done.show()
    assert "only" in capsys.readouterr().out


def test_more_systems_than_letters_have_no_letters_but_all_tests():
    one = evaluate(SYSTEMS["weak"], DATA, measures="R@5", latency_queries=0)
    best = evaluate(SYSTEMS["strong"], DATA, measures="R@5", latency_queries=0)
    done = Comparison({"best": best, **{f"s{number}": one for number in range(30)}}, baseline="best")
    assert len(done.tests) == 30 and len(done.better_than("best", "R@5")) == 30
    assert f"|  | best | {best.measures['R@5']:.4f} |" in done.to_markdown()


def test_measures_may_be_given_once_only_as_a_generator():
    done = compare(SYSTEMS, DATA, measures=(name for name in MEASURES), latency_queries=0)
    assert done.measures == MEASURES


def test_what_cannot_be_compared_says_so():
    with pytest.raises(InputError, match="at least one system"):
        compare({}, DATA)
    with pytest.raises(InputError, match="`baseline` must be one of weak, strong, strong too"):
        compare(SYSTEMS, DATA, baseline="bm25")
    with pytest.raises(InputError, match="`test` must be one of"):
        compare(SYSTEMS, DATA, test="anova")
    with pytest.raises(InputError, match="`alpha` must be between"):
        compare(SYSTEMS, DATA, alpha=2)
    one, other = (evaluate(SYSTEMS["weak"], DATA, measures=m, latency_queries=0) for m in ("R@5", "R@10"))
    with pytest.raises(InputError, match="measured alike"):
        Comparison({"a": one, "b": other})
    fewer = evaluate(SYSTEMS["weak"], judged_dict(9), measures="R@5", latency_queries=0)
    with pytest.raises(InputError, match="same queries"):
        Comparison({"a": one, "b": fewer})
