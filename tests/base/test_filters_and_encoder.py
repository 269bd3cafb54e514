"""`where`, black-box encoders and explanations."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from vizsla.base.encoder import FunctionEncoder
from vizsla.core.explanation import Explanation
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.errors import InputError, MissingExtraError, VizslaError, check_range

ITEMS = Strings.of(["a", "b", "c"])


def test_three_forms_of_where_agree():
    mask = np.array([False, True, True])
    for where in (mask, ["b", "c"], {"c", "b"}, lambda item: item != "a"):
        assert Filter.of(where, ITEMS).mask.tolist() == mask.tolist()


@pytest.mark.parametrize("known", [[], ["a"], ["b"], ["a", "b"], ["c", "b"]])
def test_ids_that_no_item_has_allow_nothing(known):
    for ids in ([*known, "x"], ["x", *known], [*known, "x", "", "aa", "x"]):
        assert Filter.of(ids, ITEMS, unknown="ignore").mask.tolist() == [item in known for item in ITEMS]
        with pytest.raises(InputError, match="`where` must name known items. Got 'x'"):
            Filter.of(ids, ITEMS)


def test_a_filter_serves_the_catalog_that_it_was_prepared_for():
    prepared = Filter.of(["b"], ITEMS)
    assert Filter.of(prepared, Strings.of(["a", "b", "c"])) is prepared
    for other in (["c", "b", "a"], ["a", "b"], ["a", "b", "d"]):
        with pytest.raises(InputError, match="`where` must be prepared for this catalog"):
            Filter.of(prepared, Strings.of(other))
    with pytest.raises(InputError, match="`where` must be prepared for this catalog"):
        Filter.of(Filter(prepared.mask), ITEMS)


@pytest.mark.parametrize("rows", [[[1.0, 2.0]], [[1.0], [2.0]], [[float("nan")]], [[float("inf")]]])
def test_black_box_encoder_is_checked(rows):
    with pytest.raises(InputError, match="Encoder 'f' must return"):
        FunctionEncoder(lambda texts: rows, dim=1, name="f").queries(["x"])


def test_encoder_may_treat_items_differently():
    encoder = FunctionEncoder(lambda ts: [[1.0]] * len(ts), items=lambda ts: [[2.0]] * len(ts), dim=1, name="f")
    assert encoder.queries(["x"]).tolist() == [[1.0]] and encoder.items(["x"]).tolist() == [[2.0]]
    assert encoder.fingerprint == "function:f:1" and not encoder.sparse


def test_explanation_as_dict_and_tree():
    why = Explanation(3.0, "sum", [Explanation(1.0, "left", [Explanation(1.0, "deep")]), Explanation(2.0, "right")])
    assert why.to_dict()["parts"][0]["parts"][0] == {"score": 1.0, "reason": "deep", "parts": []}
    assert str(why).splitlines() == ["3.0000  sum", "├─ 1.0000  left", "│  └─ 1.0000  deep", "└─ 2.0000  right"]


def test_errors_say_what_to_do():
    assert "pip install 'vizsla[eval]'" in str(MissingExtraError("Evaluation", "eval"))
    with pytest.raises(InputError, match="`b` must be between 0 and 1. Got 2."):
        check_range("b", 2, 0, 1)
    with pytest.raises(InputError, match="Got nan"):
        check_range("b", float("nan"), 0, 1)
    assert issubclass(InputError, VizslaError) and issubclass(InputError, ValueError)


class Owner:
    """Something that derives a form from a filter."""


class Form:
    """What it derives."""


def test_a_form_is_made_once_for_each_owner_and_goes_with_it():
    filter, made = Filter(np.array([True, False])), []
    owners = [Owner(), Owner()]

    def make(_):
        made.append(1)
        return Form()

    forms = [weakref.ref(filter.form(owner, make)) for owner in owners]
    for _ in range(3):
        assert [filter.form(owner, make) for owner in owners] == [form() for form in forms]
    assert len(made) == 2
    owners.pop()
    assert forms[1]() is None and forms[0]() is filter.form(owners[0], make)
    kept = weakref.ref(filter)
    del filter
    assert kept() is None and forms[0]() is None  # at once: nothing refers to itself
