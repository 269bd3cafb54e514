from itertools import product

import numpy as np
import pytest
from scipy import stats

from vizsla.errors import InputError
from vizsla.evaluation.significance import effect_size, p_values

SHIFTS = [(1, 0.0, 8), (2, 0.7, 12), (3, 2.0, 9)]
CASES = [np.random.default_rng(seed).normal(shift, 1, size=size) for seed, shift, size in SHIFTS]


@pytest.mark.parametrize("differences", CASES)
def test_few_queries_give_the_exact_p_value_of_all_sign_flips(differences):
    sums = [abs(np.dot(signs, differences)) for signs in product([-1, 1], repeat=len(differences))]
    expected = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12)
    assert p_values(differences[:, None])[0] == pytest.approx(expected)


@pytest.mark.parametrize("differences", CASES)
def test_the_exact_p_value_is_scipys(differences):
    expected = stats.permutation_test(
        (differences, np.zeros_like(differences)),
        lambda a, b: np.mean(a - b),
        permutation_type="samples",
        n_resamples=np.inf,
    )
    assert p_values(differences[:, None])[0] == pytest.approx(expected.pvalue)


def test_a_drawn_p_value_is_near_scipys():
    differences = np.random.default_rng(5).normal(0.12, 1, size=150)
    expected = stats.permutation_test(
        (differences, np.zeros(150)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=40_000,
        vectorized=True,
        rng=np.random.default_rng(0),
    ).pvalue
    # Two draws of 40 000: four standard errors of their difference.
    error = 4 * np.sqrt(2 * expected * (1 - expected) / 40_000)
    assert p_values(differences[:, None], samples=40_000)[0] == pytest.approx(expected, abs=error)


def test_drawn_p_values_are_near_exact_ones():
    differences = np.random.default_rng(7).normal(0.4, 1, size=(14, 3))
    exact, drawn = p_values(differences, samples=2**14), p_values(differences, samples=2**14 - 1)
    assert drawn == pytest.approx(exact, abs=0.02)
    assert (drawn != exact).any()


@pytest.mark.parametrize("differences", [*CASES, np.random.default_rng(9).normal(0.1, 0.3, size=500)])
def test_student_is_scipys(differences):
    base = np.random.default_rng(0).random(len(differences))
    expected = stats.ttest_rel(base + differences, base).pvalue
    assert p_values(differences[:, None], test="t")[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_no_difference_and_no_query_are_not_significant(test):
    assert p_values(np.zeros((30, 2)), test=test).tolist() == [1, 1]
    assert p_values(np.zeros((0, 1)), test=test).tolist() == [1]


@pytest.mark.parametrize("test", ["randomization", "t"])
def test_a_query_without_a_value_is_left_out(test):
    differences = np.random.default_rng(3).normal(0.5, 1, size=11)
    gaps = np.insert(differences, [2, 7], np.nan)
    assert p_values(gaps[:, None], test=test) == pytest.approx(p_values(differences[:, None], test=test))


@pytest.mark.parametrize("queries", [1023, 1024, 5000])
def test_thousands_of_queries(queries):
    noise = np.random.default_rng(6).normal(size=queries)
    same, better = p_values(np.column_stack([noise - noise.mean(), noise + 1]), samples=500)
    assert same == 1
    assert better == pytest.approx(1 / 501)


def test_a_constant_difference():
    assert p_values(np.full((10, 1), 0.25))[0] == pytest.approx(2 / 2**10)
    assert p_values(np.full((10, 1), 0.25), test="t")[0] == 0


def test_equal_sums_count_although_they_are_rounded():
    # 0.1 + 0.2 − 0.3 is 0 on paper only; every flip must count as at least as extreme as the observed 0.
    assert p_values(np.array([[0.1], [0.2], [-0.3]]))[0] == 1


def test_the_seed_decides_and_chunks_do_not(monkeypatch):
    differences = np.random.default_rng(4).normal(0.1, 1, size=(64, 2))
    first = p_values(differences, seed=3)
    assert (first == p_values(differences, seed=3)).all()
    assert (first != p_values(differences, seed=4)).any()
    monkeypatch.setattr("vizsla.evaluation.significance._CHUNK_CELLS", 64 * 100)
    assert (first == p_values(differences, seed=3)).all()


def test_under_the_null_small_p_values_are_as_rare_as_they_say():
    p = p_values(np.random.default_rng(11).normal(size=(40, 2000)), samples=999)
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.015)


def test_wrong_arguments():
    with pytest.raises(InputError, match="`test` must be one of"):
        p_values(np.zeros((3, 1)), test="anova")
    with pytest.raises(InputError, match="queries × comparisons"):
        p_values(np.zeros(3))
    with pytest.raises(InputError, match="`samples`"):
        p_values(np.zeros((3, 1)), samples=0)


def test_a_steady_difference_has_an_endless_effect_with_its_sign():
    assert effect_size(np.full(4, -0.25)) == -np.inf and effect_size(np.full(4, 0.25)) == np.inf
