"""A log that is too small to choose on: what comes back, and what is said."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.methods.pefa.small import DIM, ENCODER, ITEMS, make_base, vector
from vizsla.base.encoder import FunctionEncoder
from vizsla.errors import InputError
from vizsla.learning.selection import ChoiceWarning
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa, pefa_max, pefa_xl, pefa_xs

QUERIES = [f"ask {n}" for n in range(12)]
FOUR = [("a", "i1"), ("a", "i2"), ("a", "i1"), ("b", "i1"), ("c", "i3"), ("d", "i4")]


@pytest.mark.parametrize("build", [pefa, pefa_xs, pefa_max, pefa_xl])
def test_the_base_comes_back_with_a_warning_that_counts_different_queries(build):
    with pytest.warns(ChoiceWarning, match=r"at least 5 different past queries\. Got 4\. This is the base") as told:
        found = build(make_base(), FOUR)
    assert told[0].filename == __file__ and len(told) == 1
    assert found.settings.weight == 1 and found.choice is None
    assert found(QUERIES) == make_base()(QUERIES)


@pytest.mark.parametrize("build", [pefa, pefa_xs, pefa_max, pefa_xl])
def test_five_queries_are_enough(build):
    with warnings.catch_warnings(action="error"):
        assert build(make_base(), [*FOUR, ("e", "i1")]).choice is not None


@pytest.mark.parametrize(
    ("build", "options"),
    [(pefa_xs, {"weight": 0.5}), (pefa_max, {"weight": 0.5}), (pefa_xl, {"weight": 0.5})],
)
def test_where_the_base_is_no_option_it_raises(build, options):
    with pytest.raises(InputError, match=r"at least 5 different past queries\. Got 4: give every setting"):
        build(make_base(), FOUR, **options)


def test_nothing_is_said_where_nothing_was_to_be_chosen():
    with warnings.catch_warnings(action="error"):
        assert pefa_xs(make_base(), FOUR, weight=0.5, calibrated=False).settings.weight == 0.5
        assert pefa_xs(make_base(), FOUR, weight=1)(QUERIES) == make_base()(QUERIES)
        assert pefa_xl(make_base(), FOUR, weight=1)(QUERIES) == make_base()(QUERIES)


def test_queries_that_the_encoder_makes_nothing_of_are_counted_apart():
    dumb = FunctionEncoder(
        lambda texts: np.array([vector(t) if t < "c" else np.zeros(DIM) for t in texts]).reshape(-1, DIM),
        dim=DIM, name="dumb",
    )  # fmt: skip
    with pytest.warns(ChoiceWarning, match="Got 2, and 2 without a word that the encoder knows"):
        pefa_xs(dense(ITEMS, dumb, vectors=ENCODER.items(list(ITEMS.values()))), FOUR)


def test_words_that_no_item_has_count_over_bags():
    """Five queries of unknown words were none at all when the bag did not grow."""
    clicks = [(f"new{n}", f"i{n % 3}") for n in range(5)]
    with warnings.catch_warnings(action="error"):
        found = pefa(bm25(ITEMS), clicks)
    assert len(found.log) == 5 and found.choice is not None


@pytest.mark.parametrize("seed", range(30))
def test_no_log_of_five_queries_or_more_is_refused(seed):
    pick = np.random.default_rng(seed)
    queries, items = pick.integers(5, 9), pick.integers(1, 5)
    clicks = [(f"q{q}", f"i{pick.integers(items)}") for q in range(queries) for _ in range(pick.integers(1, 4))]
    assert pefa_xs(make_base(), clicks).choice is not None
