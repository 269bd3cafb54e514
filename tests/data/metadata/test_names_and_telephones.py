"""Fields whose names are words of the grammar, and texts that are numbers only where another value says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla import Dataset, where
from vizsla.data.conditions import KEYWORDS, Condition, FieldCondition, Not

WORDS = sorted(KEYWORDS)  # processes that share the tests must collect them in one order
NAMES = [*WORDS, *(word.upper() for word in WORDS), *(f"{word}s" for word in WORDS), "a b", "not a", "x in"]
NAMES += ["Price (USD)", "a=b", 'say "hi"', "it's", "a.b", "a-b", "3d", "ä", "_", "and or", " lead", "trail "]
VALUES = [*WORDS, "NULL", "true", "false", "20", "1.10", "a..b", "..", "a,b", "(a)", '"', "'", "a and b", " a ", ""]
VALUES += [True, 20, -1.5]


@given(st.sampled_from(NAMES), st.sampled_from(["eq", "ne", "in", "nin", "isnull"]), st.lists(st.sampled_from(VALUES),
       min_size=1, max_size=3), st.booleans())  # fmt: skip
def test_a_condition_is_read_back_from_its_text_whatever_its_field_is_called(name, kind, values, opposite):
    given_values = () if kind == "isnull" else tuple(values) if kind in ("in", "nin") else (values[0],)
    made: Condition = FieldCondition(kind, name, given_values)
    made = Not(made) if opposite else made
    for condition in (made, made & where("other=1"), where("other=1") | made):
        assert Condition.parse(str(condition)) == condition == Condition.from_dict(condition.to_dict())


@pytest.mark.parametrize("name", NAMES)
def test_a_field_of_any_name_is_asked_by_its_name_in_quotes(name):
    items = Dataset.of([{"id": "f", "text": "fig", name: "x"}, {"id": "p", "text": "pear", name: "y"}]).item_ids
    quoted = '"' + name.replace('"', '""') + '"'
    for condition in (where(f"{quoted}=x"), where({"type": "eq", "key": name, "value": "x"})):
        assert condition.mask(items).tolist() == [True, False]
        assert where(str(condition)).mask(items).tolist() == [True, False]


def kind_of(values):
    """Return the kind that a column of these values is told to be."""
    details = Dataset.of([{"id": str(n), "text": "fig", "x": value} for n, value in enumerate(values)]).item_ids.details
    return details.columns["x"].kind


DOTTED = ["555.123.456", "030.111.222", "212.555.010", "800.900.100"]
SPACED = [text.replace(".", " ") for text in DOTTED]


@pytest.mark.parametrize("telephones", [DOTTED[:1] + DOTTED[2:], SPACED[:1] + SPACED[2:]])
@pytest.mark.parametrize("times", [1, 3, 40])
def test_telephones_are_texts_however_many_there_are_and_numbers_beside_a_value_that_says_so(telephones, times):
    telling = "1.234,50" if "." in telephones[0] else "1 234,50"
    assert kind_of(telephones * times) == "text"
    assert kind_of([*telephones * times, "1.999"]) == "text"
    assert kind_of([*telephones, *[telling] * 60]) == "number"
