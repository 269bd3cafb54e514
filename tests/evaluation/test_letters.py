"""The letters of a comparison are drawn from Holm's p-values, with what the caller set for the tests."""

from __future__ import annotations

import pytest

from tests.evaluation.judged_dict import JudgedDict
from vizsla.evaluation import compare

QUERIES = [f"q{number:02}" for number in range(12)]
DATA = JudgedDict({query: f"text {query}" for query in QUERIES}, {query: {"good": 1} for query in QUERIES})
MISS, HIT = {"bad": 2.0, "good": 1.0}, {"good": 2.0, "bad": 1.0}


def hits(count, *, last=False):
    """Return a run that puts the relevant item first for so many queries, the first or the last ones."""
    chosen = set(QUERIES[-count:] if last and count else QUERIES[:count])
    return {query: HIT if query in chosen else MISS for query in QUERIES}


# All 2^12 flips are looked at. Of n equal differences all show one way: p is 2 / 2^n.
SYSTEMS = {"base": hits(0), "all": hits(12), "six": hits(6), "others": hits(6, last=True)}


def test_letters_need_the_corrected_p_below_alpha():
    done = compare(SYSTEMS, DATA, measures="RR@10", baseline="base")
    tests = {test.a: test for test in done.tests}
    assert {name: test.p for name, test in tests.items()} == {"all": 2 / 4096, "six": 2 / 64, "others": 2 / 64}
    assert tests["six"].p < 0.05 <= tests["six"].p_holm == 2 * 2 / 64
    assert tests["others"].p_holm == 2 * 2 / 64 and tests["all"].p_holm == 3 * 2 / 4096
    assert [done.better_than(name, "RR@10") for name in SYSTEMS] == [[], ["base"], [], []]
    rows = [line.split("|")[1:4] for line in done.to_markdown().splitlines()[2:6]]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["a", "base", "0.5000"],
        ["b", "all", "1.0000ᵃ"],
        ["c", "six", "0.7500"],
        ["d", "others", "0.7500"],
    ]


@pytest.mark.parametrize(("alpha", "letters"), [(2 * 2 / 64, 1), (0.063, 3), (0.001, 0)])
def test_alpha_is_the_callers_and_p_must_be_below_it(alpha, letters):
    done = compare(SYSTEMS, DATA, measures="RR@10", baseline="base", alpha=alpha)
    assert done.to_markdown().count("ᵃ") == letters
    assert f"p < {alpha:g}" in done.footnote


def test_letters_stand_in_their_own_order_and_only_at_the_better_one():
    done = compare({"first": hits(0), "best": hits(12), "last": hits(0)}, DATA, measures="RR@10")
    lines = done.to_markdown().splitlines()[2:5]
    assert [line.split("|")[3].strip() for line in lines] == ["0.5000", "1.0000ᵃᶜ", "0.5000"]
    assert [done.better_than(name, "RR@10") for name in done.names] == [[], ["first", "last"], []]


def test_samples_seed_and_test_reach_the_p_values():
    systems = {"base": hits(3), "later": hits(6, last=True)}  # nine queries differ: 512 flips
    few = compare(systems, DATA, measures="RR@10", samples=99)
    assert few.tests[0].p * 100 == pytest.approx(round(few.tests[0].p * 100))  # (so many of 99 flips + 1) / 100
    exact, student = (compare(systems, DATA, measures="RR@10", test=test) for test in ("randomization", "t"))
    assert len({few.tests[0].p, exact.tests[0].p, student.tests[0].p}) == 3
    assert "paired t-test" in student.footnote and "randomization" in exact.footnote
    drawn = {compare(systems, DATA, measures="RR@10", samples=99, seed=seed).tests[0].p for seed in range(8)}
    assert len(drawn) > 1


def test_the_two_that_differ_are_the_baseline_and_the_best_other():
    systems = {"six": hits(6), "base": hits(0), "all": hits(12), "one": hits(1)}
    (first,) = compare(systems, DATA, measures="RR@10", baseline="base").differences(1)
    assert first.names == ("base", "all") and first.values == (0.5, 1.0)
    (first,) = compare(systems, DATA, measures="RR@10").differences(1)
    assert first.names == ("six", "all") and first.query == "q06"
    (first,) = compare(systems, DATA, measures="RR@10").differences(1, a="one", b="base")
    assert first.names == ("one", "base") and first.query == "q00"
