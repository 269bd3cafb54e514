"""What is typed into a search box, operator by operator, and the lists of words that answer it."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import Dataset
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.text.fields import FieldStream, FieldWeights, weights_of
from vizsla.text.spelling import FuzzyDictionary, Neighbor, may_be_typo
from vizsla.text.web_syntax import Clause, WebQuery, is_words, parse_web
from vizsla.text.word_filter import SPARSE, CatalogWords, WordLists, common, distinct, is_field, keeps_texts, ranges

FIELDS = {"title", "brand"}


def word(text, field=None):
    return Clause("word", text, field)


def phrase(text, field=None):
    return Clause("phrase", text, field)


def prefix(text, field=None):
    return Clause("prefix", text, field)


@pytest.mark.parametrize(
    ("text", "words", "required", "excluded", "only_filters"),
    [
        ("  fig \t tree ", "fig tree", (), (), False),
        ("+fig", "fig", (word("fig"),), (), False),
        ("-fig", "", (), (word("fig"),), True),
        ("fig -a -b", "fig", (), (word("a"), word("b")), False),
        ("+a +b", "a b", (word("a"), word("b")), (), False),
        ('"fig"', "fig", (phrase("fig"),), (), False),
        ('" fig  tree "', "fig tree", (phrase("fig tree"),), (), False),
        ('+"fig tree" -"an oil"', "fig tree", (phrase("fig tree"),), (phrase("an oil"),), False),
        ("‟fig tree＂", "fig tree", (phrase("fig tree"),), (), False),
        ("„fig tree”", "fig tree", (phrase("fig tree"),), (), False),
        ("brand:acme", "acme", (word("acme", "brand"),), (), True),
        ("brand:acme fig", "acme fig", (word("acme", "brand"),), (), False),
        ("+fig brand:acme", "fig acme", (word("fig"), word("acme", "brand")), (), False),
        ("title:fig -brand:acme", "fig", (word("fig", "title"),), (word("acme", "brand"),), True),
        ('title:"fig tree" "an oil"', "fig tree an oil", (phrase("fig tree", "title"), phrase("an oil")), (), False),
        ("fi*", "", (prefix("fi"),), (), False),
        ("fi** x", "x", (prefix("fi"),), (), False),
        ("-fi*", "", (), (prefix("fi"),), True),
        ("brand:ac*", "", (prefix("ac", "brand"),), (), True),
        ("f* +f* brand:f*", "f f f", (word("f"), word("f", "brand")), (), False),  # too short for a prefix
        # What is no operator is a word.
        ("other:fig", "other:fig", (), (), False),
        ("+other:fig", "other:fig", (word("other:fig"),), (), False),
        ("-other:fig", "", (), (word("other:fig"),), True),
        ('other:"fig tree"', "other fig tree", (phrase("fig tree"),), (), False),
        ("brand: fig", "brand: fig", (), (), False),
        ("brand:/fig brand::fig", "brand:/fig brand::fig", (), (), False),
        ("--fig ++fig - + fig", "--fig ++fig - + fig", (), (), False),
        ("e-mail a+b C++ 12:30", "e-mail a+b C++ 12:30", (), (), False),
        # Quotes in odd places.
        ('a"fig tree"', "a fig tree", (phrase("fig tree"),), (), False),
        ('+a"fig tree"b', "a fig tree b", (word("a"), phrase("fig tree")), (), False),
        ('"fig tree', "fig tree", (), (), False),
        ('fig" tree', "fig tree", (), (), False),
        ('"" -"" +" " title:""', "", (), (), False),
        ('"" ** fig', "fig", (), (), False),
        ("", "", (), (), False),
        ("*", "", (), (), False),
    ],
)  # fmt: skip
def test_every_operator_means_what_it_says(text, words, required, excluded, only_filters):
    found = parse_web(text, FIELDS.__contains__)
    assert found == WebQuery(words, required, excluded, only_filters)
    assert found.is_plain == (not required and not excluded)


def test_without_fields_a_name_is_a_word():
    assert parse_web("brand:acme").words == "brand:acme" and parse_web("brand:acme").is_plain


@pytest.mark.parametrize("sign", list('"“”„‟＂+-:*'))
def test_each_sign_may_be_an_operator(sign):
    assert not is_words(f"fig{sign}") and not is_words(f"{sign}fig") and is_words("fig, tree! (a/b) 'c' #4")


# Lists of words.

NUMBERS = st.lists(st.integers(0, 99), max_size=30)


@given(st.lists(NUMBERS, max_size=4))
@example([[*range(100)], [3, 5], [5, 3, 7]])
@example([[*range(100)]])
@example([[1], [2], [1, 2]])
@example([[99], [1, 2]])
def test_common_items_are_those_of_the_intersection(lists):
    given = [np.unique(np.array(items, np.int32)) for items in lists]
    wanted = reduce(set.intersection, map(set, lists), set(range(100)))
    found = common(given, 100)
    assert found.tolist() == sorted(wanted) and found.dtype == np.int32


@given(NUMBERS, st.sampled_from([100, 100 * SPARSE, 5000]))
def test_distinct_numbers_are_a_sorted_set_whether_few_or_many(numbers, count):
    found = distinct(np.array(numbers, np.int32), count)
    assert found.tolist() == sorted(set(numbers)) and found.dtype == np.int32


@given(st.lists(NUMBERS, min_size=1, max_size=5), st.data())
def test_ranges_are_the_lists_one_after_another(lists, data):
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=6))
    offsets = np.cumsum([0, *map(len, lists)])
    values = np.array([number for items in lists for number in items], np.int32)
    assert ranges(values, offsets, np.array(chosen, np.int64)).tolist() == [n for at in chosen for n in lists[at]]


BRANDS = ["Acme", "Acid", "Acme", "Actor Acme", "Acme", "Actor Acme", None, "Fig", "Actor"]
SHOP = [{"id": str(n), "title": f"Item {n}", "text": "a fig", "brand": brand} for n, brand in enumerate(BRANDS) if brand]  # noqa: E501  # fmt: skip
SHOP.append({"id": "none", "title": "", "text": "two figs"})


def words_of_shop():
    return CatalogWords.of(Dataset.of(SHOP, keep_texts=True).item_ids)


def test_words_of_a_field_count_the_items_that_hold_them_and_not_the_values():
    lists = words_of_shop().lists("brand")
    assert list(lists.completed("ac", 9).items()) == [("acme", 5), ("actor", 3), ("acid", 1)]
    assert lists.completed("ac", 1) == {"acme": 5} and lists.completed("act", 9) == {"actor": 3}
    assert lists.completed("x", 9) == {}
    held = {"acme": [0, 2, 3, 4, 5], "actor": [3, 5, 7], "fig": [6], "pear": []}
    for text, rows in held.items():
        assert lists.matching(word(text)).tolist() == rows
    assert lists.matching(prefix("act")).tolist() == [3, 5, 7]
    assert lists.matching(phrase("actor acme")).tolist() == [3, 5]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (WebQuery(""), [*range(9)]),
        (WebQuery("", (word("acme", "brand"), word("actor", "BRAND"))), [3, 5]),
        (WebQuery("", (word("acme", "brand"),), (word("actor", "brand"),)), [0, 2, 4]),
        (WebQuery("", (), (word("acme", "brand"), word("fig", "brand"))), [1, 7, 8]),
        (WebQuery("", (word("nothing"), word("acme", "brand"))), []),
        (WebQuery("", (word("@"),), (word("?!"),)), [*range(9)]),  # signs alone say nothing
        (WebQuery("", (word("figs"),)), [*range(9)]),
        (WebQuery("", (phrase("figs"),)), [8]),
        (WebQuery("", (word("acme"),)), []),  # the whole text, and not the other fields
    ],
)
def test_a_query_allows_what_holds_all_that_it_requires_and_nothing_that_it_excludes(query, rows):
    assert np.flatnonzero(words_of_shop().mask(query)).tolist() == rows


def test_a_prefix_is_searched_for_as_the_words_of_its_own_field():
    words = words_of_shop()
    assert words.words(WebQuery("ac", (prefix("ac", "brand"), word("fig")))) == "ac acme actor acid"
    assert set(words.words(WebQuery("fi", (prefix("fi"),))).split()) == {"fi", "fig", "figs"}


def test_names_of_fields_are_those_of_the_catalog_in_any_case():
    ids = Dataset.of([*SHOP, {"id": "x", "text": ".", "Brand": "Oak"}], keep_texts=True).item_ids
    assert [is_field(ids, name) for name in ("brand", "Brand", "BRAND", "title", "TITLE", "text", "color")] == [
        True, True, True, True, True, True, False,
    ]  # fmt: skip
    words = CatalogWords.of(ids)
    assert words.lists("Brand").matching(word("oak")).tolist() == [9] and not len(
        words.lists("brand").matching(word("oak"))
    )
    assert not is_field(Strings.of(["a"]), "text") and not keeps_texts(Strings.of(["a"]))
    bare = Dataset.of([{"id": "a", "text": "fig", "brand": "Oak"}]).item_ids
    assert is_field(bare, "brand") and not is_field(bare, "title") and not keeps_texts(bare)
    with pytest.raises(InputError, match="keep_texts=True"):
        CatalogWords.of(bare)


def test_a_text_without_words_is_held_by_every_text():
    lists = WordLists(["fig", "pear", ""])
    assert lists.holding("?").tolist() == [0, 1, 2] and lists.with_phrase("?").tolist() == [0, 1, 2]
    assert lists.holding("fig pear").tolist() == [] and len(lists) == 3


# Words that may be misspelled.


@pytest.mark.parametrize(
    ("typed", "holders", "everything", "may"),
    [
        ("fig", 0, None, False), ("figg", 0, None, True), ("figg", 2, None, True), ("figg", 3, None, False),
        ("figg", 1, 49, False), ("figg", 1, 50, True), ("figg", 2, 99, False), ("figg", 2, 100, True),
        ("figg", 0, 1, True), ("fig1", 0, None, False), ("f" * 80, 0, None, True), ("f" * 81, 0, None, False),
    ],
)  # fmt: skip
def test_rare_words_of_at_least_four_letters_may_be_typos(typed, holders, everything, may):
    assert may_be_typo(typed, holders, everything) is may


def test_words_that_no_item_holds_are_no_neighbors_and_decide_nothing():
    words = Strings.of(["figs", "firs", "fins"])
    lexicon = FuzzyDictionary(words, np.array([2, 0, 5]))
    assert set(lexicon.near("fixs", 1)) == {Neighbor("figs", 1, 2), Neighbor("fins", 1, 5)}
    assert lexicon.counts(["firs", "fins", "pear", "figs"]) == [0, 5, 0, 2]
    others = [FuzzyDictionary(words, np.array([2, 1, 5])), FuzzyDictionary(Strings.of(["figs", "firs", "find"]), lexicon.holders)]  # noqa: E501  # fmt: skip
    assert len({each.fingerprint for each in (lexicon, *others)}) == 3
    assert FuzzyDictionary(words, lexicon.holders.copy()).fingerprint == lexicon.fingerprint


# Fields.


def test_weights_need_numbers_and_at_most_thirty_two_names():
    names = [f"f{number}" for number in range(33)]
    assert len(FieldWeights.of(names[:32]).names) == 32
    with pytest.raises(InputError, match="from 1 to 32"):
        FieldWeights.of(names)
    with pytest.raises(InputError, match="must have weights"):
        weights_of(SHOP, "title,text")
    assert weights_of(Dataset.of(SHOP), {"brand": 2, "title": 0.5}) == {"brand": 2.0, "title": 0.5}


def test_fields_that_no_item_has_are_refused_and_empty_ones_are_not():
    stream = FieldStream(Dataset.of(SHOP), ["brand", "title"])
    assert list(stream.rows())[:2] == [("Acme", "Item 0"), ("Acid", "Item 1")]
    assert list(FieldStream([("a", "fig")], ["title", "text"]).rows()) == [("", "fig")]
    with pytest.raises(InputError, match="which none has"):
        list(FieldStream([("a", "fig")], ["title"]).rows())
