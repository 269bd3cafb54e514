"""How a budget is divided among rounds."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla.methods.cur.plan import Plan


@given(st.integers(1, 60), st.integers(1, 90), st.data())
def test_rounds_are_equal_shares_of_what_the_first_leaves(budget, rounds, data):
    first = data.draw(st.none() | st.integers(1, budget))
    rest, later = (budget, rounds) if first is None else (budget - first, max(1, rounds - 1))
    edges = [-(-rest * number // later) for number in range(later + 1)]
    shares = [end - start for start, end in pairwise(edges) if end > start]
    plan = Plan(budget, rounds, first=first)
    sizes = list(plan.sizes())
    assert sizes == ([] if first is None else [first]) + shares and sum(sizes) == budget
    assert plan.first_size() == sizes[0] and plan.largest_size() == max(sizes)


@pytest.mark.parametrize("budget", [7, 10**12])
def test_rounds_without_end_cost_nothing_before_they_are_reached(budget):
    plan = Plan(budget, rounds=2**62)
    assert list(islice(plan.sizes(), 3)) == [1, 1, 1] and plan.largest_size() == 1
