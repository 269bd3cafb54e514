"""What is marked in texts of several scripts and of n-grams, and how fields of a catalog are named."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import Dataset, bm25
from vizsla.core.catalog import details_of
from vizsla.errors import InputError
from vizsla.text import Analyzer, AnyLanguage
from vizsla.text.fields import FieldWeights, plain_text, resolved
from vizsla.text.highlights import MAX_CHARS, TermHighlighter
from vizsla.text.streams import grown_ids

SCRIPTS = st.text("寿司屋 ab", max_size=12)


def marked(analyzer, query, text):
    return [text[low:high] for low, high in TermHighlighter(analyzer, query)(text)]


@given(SCRIPTS, st.sampled_from(["寿司", "寿", "司屋 ab", "ab", "寿司屋"]))
@example("ab寿司屋ab 寿司", "寿司")
@example("寿司ab寿司", "ab")
@example("屋寿司屋a 寿司屋", "司屋 ab")
def test_words_between_unspaced_characters_are_marked_as_they_are_and_pairs_inside(text, query):
    """A word beside unspaced characters is its own; of these, each pair of the query (or its one character) counts."""
    spans = TermHighlighter(AnyLanguage("english", drop=False), query)(text)
    flags = [False] * len(text)
    for run in re.finditer("[寿司屋]+|[ab]+", text):
        for asked in re.findall("[寿司屋]+|[ab]+", query):
            if asked.isascii():
                pieces = [asked] if run[0] == asked else []
            else:
                pieces = [asked[at : at + 2] for at in range(len(asked) - 1)] or [asked]
            for piece in pieces:
                for at in range(len(run[0]) - len(piece) + 1):
                    if run[0][at : at + len(piece)] == piece:
                        flags[run.start() + at : run.start() + at + len(piece)] = [True] * len(piece)
    wanted = [False] * len(text)
    for low, high in spans:
        assert low < high and not any(wanted[low:high]), "spans are not empty and do not overlap"
        wanted[low:high] = [True] * (high - low)
    assert wanted == flags and spans == sorted(spans)


def test_n_grams_mark_what_they_cover_and_words_that_are_shorter():
    analyzer = Analyzer("chars", min_chars=3, max_chars=4)
    assert marked(analyzer, "figs", "two figs") == ["figs"]
    assert marked(analyzer, "gardens", "a garden") == ["garden"]
    assert marked(analyzer, "FIG", "a Fig, a pear") == ["Fig"]
    assert marked(analyzer, "", "a fig") == []


def test_marks_end_where_texts_are_no_longer_looked_at():
    text = "x " * (MAX_CHARS // 2 - 2) + "fig fig"
    spans = TermHighlighter(AnyLanguage("english"), "fig")(text)
    assert spans == [(MAX_CHARS - 4, MAX_CHARS - 1)]


@pytest.mark.parametrize(
    ("given", "names", "weights"),
    [
        (" learn ", (), None),
        ("title^3,description", ("title", "description"), (3.0, 1.0)),
        ("title, text", ("title", "text"), None),
        ("a,,b^0.5,", ("a", "b"), (1.0, 0.5)),
        ({"b": 2, "a": 1.5}, ("b", "a"), (2.0, 1.5)),
        (["text", "title"], ("text", "title"), None),
        ({"a": 1e6}, ("a",), (1e6,)),
    ],
)
def test_fields_are_read_as_users_write_them(given, names, weights):
    assert FieldWeights.of(given) == FieldWeights(names, weights)


@pytest.mark.parametrize(
    "wrong", [{"a": 0}, {"a": -1}, {"a": 1.1e6}, {"a": True}, {"a": float("nan")}, {"a": "2"}, "a^x", ["a", "a"], [], 3]
)
def test_weights_and_names_that_mean_nothing_are_refused(wrong):
    with pytest.raises(InputError):
        FieldWeights.of(wrong)


def test_columns_are_called_by_the_role_they_were_read_in():
    rows = [{"sku": "1", "name": "Fig", "body": "a fruit", "maker": "Oak", "price": 3}]
    shop = Dataset.of(rows, id="sku", title="name", text=["body", "maker"])
    assert resolved(shop, ["name", "body", "price"]) == ("title", resolved(shop, ["body"])[0], "price")
    assert resolved(shop, [])[0] == "title" and len(resolved(shop, [])) >= 2
    one = Dataset.of(rows, id="sku", title="name", text="body")
    assert resolved(one, []) == ("title", "text") and resolved(one, ["body", "maker"]) == ("text", "maker")
    with pytest.raises(InputError, match="must be fields of the items"):
        resolved(one, ["color"])
    with pytest.raises(InputError, match="once"):
        resolved(one, ["name", "title"])


def test_values_become_texts():
    assert [plain_text(value) for value in (None, "a", 2, 1.5, ["x", ["y", 3], None], ())] == [
        "", "a", "2", "1.5", "x y 3 ", "",
    ]  # fmt: skip


def test_a_grown_catalog_knows_the_metadata_of_both_sides():
    old = Dataset.of([{"id": "a", "text": "fig", "price": 1}]).item_ids
    new = Dataset.of([{"id": "b", "text": "pear", "price": 2}])
    ids = grown_ids(old, ["b"], new)
    assert list(ids) == ["a", "b"]
    assert [details_of(ids).of(number)["price"] for number in (0, 1)] == [1, 2]


def test_a_word_in_quotes_of_one_language_of_several_has_the_forms_of_each():
    """`+word` is met by any form that shares its stem in one of the languages, not in the last one alone."""
    items = {"a": "die Häuser sind alt", "b": "das Haus ist neu", "c": "the houses are old", "d": "a house is new"}
    search = bm25(Dataset.of([{"id": id, "text": text} for id, text in items.items()], keep_texts=True),
                  analyzer=AnyLanguage(["english", "german"]))  # fmt: skip
    assert set(search("+houses old new alt neu", k=9).ids[0]) >= {"c", "d"}
    assert set(search("+house", k=9, syntax="web").ids[0]) == {"c", "d"}
    assert set(search("+Haus", k=9, syntax="web").ids[0]) >= {"b"}
    assert search("TEXT:house", k=9, syntax="web").ids == search("text:house", k=9, syntax="web").ids
