import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla.evaluation.significance import holm


def test_hand_computed_example():
    # In order: 0.005 × 4, 0.011 × 3, 0.02 × 2, 0.04 × 1; each at least the one before it.
    assert holm(np.array([0.02, 0.005, 0.04, 0.011])) == pytest.approx([0.04, 0.02, 0.04, 0.033])


def test_a_corrected_value_is_at_most_one_and_none_is_below_a_smaller_ones():
    assert holm(np.array([0.5, 0.4, 0.6])).tolist() == [1, 1, 1]
    assert holm(np.array([0.01, 0.0101])) == pytest.approx([0.02, 0.02])


def test_one_comparison_needs_no_correction_and_none_is_fine():
    assert holm(np.array([0.03])).tolist() == [0.03]
    assert holm(np.array([])).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 0.5))
def test_rejections_are_those_of_the_step_down_procedure(p, alpha):
    # Holm's own words: walk up the sorted values and stop at the first above alpha / (m − i).
    rejected = set()
    for step, at in enumerate(np.argsort(p, kind="stable")):
        if p[at] * (len(p) - step) >= alpha:
            break
        rejected.add(int(at))
    assert set(np.flatnonzero(holm(np.array(p)) < alpha).tolist()) == rejected
