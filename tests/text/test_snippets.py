"""Snippets: parts of a text that show as many different words of the query as any part of that length can."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import Engine, Recipe
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.highlights import TermHighlighter, snippet_of, spans_as_written

WORDS = st.sampled_from(["fig", "tree", "oil", "and", "a", "of", "sunshine", "Figs", "x" * 12])
TEXTS = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)


def words_in(text: str, spans: list[tuple[int, int]], start: int, end: int) -> set[str]:
    """Return the different words of the query that lie wholly in a part of a text."""
    return {text[low:high].lower() for low, high in spans if start <= low and high <= end}


@given(TEXTS, st.sampled_from(["fig", "fig oil", "sunshine tree oil", "pear"]), st.integers(1, 60))
@example("a fig and of and of and fig tree oil", "fig oil tree", 13)
@example("fig " + "x " * 40 + "fig oil", "fig oil", 8)
@example("fig oil", "fig oil", 5)
@example("sunshine fig", "sunshine fig", 10)
@example("fig tree oil and and and and fig fig fig fig fig", "fig tree oil", 16)
def test_a_snippet_shows_what_it_says_and_as_much_as_can_be_shown(text, query, chars):
    spans = TermHighlighter(AnyLanguage("english"), query)(text)
    shown, start, inside = snippet_of(text, spans, chars)
    end = start + len(shown)
    assert shown == text[start:end] and len(shown) <= chars
    assert [(low + start, high + start) for low, high in inside] == [
        (low, high) for low, high in spans if start <= low and high <= end
    ]
    assert all(0 <= low < high <= len(shown) for low, high in inside)
    most = max((len(words_in(text, spans, low, low + chars)) for low, _ in spans), default=0)
    assert len(words_in(text, spans, start, end)) == most


def test_a_stop_word_of_one_language_is_marked_where_another_searches_for_it():
    """Of `die war` English searches for the war, German for nothing."""
    text = "Die Stadt war alt. The war was long, and they die young."
    for content in ([], ["war"], ["die", "war"], ["die"]):
        marked = TermHighlighter(AnyLanguage(("english", "german"), content=content), "die war stadt")(text)
        assert {text[low:high].lower() for low, high in marked} == {"stadt", *content}


def test_stop_words_are_marked_in_phrases_and_where_the_query_has_no_other_words(tmp_path):
    """An engine without items at its making keeps stop words among its terms."""
    items = [{"id": "ham", "text": "To sleep, or to be. A list of the things to be sorted is a list."}]
    with Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25")}) as engine:
        engine.add(items)
        for query, expected in (
            ("sort a list", ["list", "sorted", "list"]),
            ("a", ["A", "a"]),
            ('"to be"', ["To", "to", "be", "to", "be"]),
            ('list "to be sorted"', ["list", "to", "be", "sorted", "list"]),
            ("+is list", ["list", "is", "list"]),
        ):
            hit = engine.page(query, 1, highlight=True, syntax="web").hits[0]
            assert [hit.text[low:high] for low, high in hit.highlights["text"]] == expected, query


@pytest.mark.parametrize(
    ("text", "words", "chars", "shown"),
    [
        ("aaa bbb ccc ddd eee fff ggg", ["eee"], 11, "eee fff"),
        ("aaa bbb ccc ddd eee fff ggg", ["eee"], 20, "ccc ddd eee fff ggg"),
        ("aaa bbb ccc ddd eee fff ggg", ["aaa"], 11, "aaa bbb ccc"),
        ("aaa bbb ccc ddd eee fff ggg", ["aaa"], 10, "aaa bbb"),
        ("aaa bbb ccc ddd eee fff ggg", ["ggg"], 10, "fff ggg"),
        ("aaa bbb ccc", [], 7, "aaa bbb"),
        ("abcdefghijklmno", ["h"], 8, "ghijklmn"),  # no space to cut at
        ("fig and and and fig fig", ["fig"], 8, "fig fig"),  # more words, all the same
        ("fig oil and fig and oil fig", ["fig", "oil"], 8, "fig oil"),  # of equals the first
        ("fig fig fig and and fig oil", ["fig", "oil"], 11, "and fig oil"),  # different words before more
        ("aaa", ["aaa"], 3, "aaa"),
    ],
)
def test_a_window_begins_a_quarter_of_its_room_before_the_words_and_at_a_word(text, words, chars, shown):
    spans = sorted(found.span() for word in words for found in re.finditer(word, text))
    found = snippet_of(text, spans, chars)
    assert found.text == shown and text[found.start : found.start + len(shown)] == shown
    assert [found.text[low:high] for low, high in found.spans] == re.findall("|".join(words) or "(?!)", shown)


def test_a_window_that_begins_exactly_at_a_word_keeps_it():
    """Of 27 characters `fig` leaves 24, a quarter of which stand before it: they begin with `three`."""
    text = "one two three fig " + "and " * 10
    assert snippet_of(text, [(14, 17)], 27) == ("three fig and and and and", 8, [(6, 9)])
    assert snippet_of(text, [(14, 17)], 23) == ("fig and and and", 14, [(0, 3)])  # it would begin at `hree`


def test_phrases_are_marked_as_they_are_written():
    assert spans_as_written("a a A", "a a") == [(0, 1), (2, 3), (4, 5)]
    assert spans_as_written("Fig, TREE and fig trees", "fig tree") == [(0, 3), (5, 9)]
    assert spans_as_written("fig", "") == [] and spans_as_written("fig", "fig tree") == []
    assert spans_as_written("un cafe\u0301 noir", "cafe\u0301") == [(3, 8)]
    assert spans_as_written("x " * 99_998 + "fig fig", "fig") == [(199_996, 199_999)]  # no further


def test_n_grams_are_marked_where_lower_case_is_longer():
    analyzer = Analyzer("chars", min_chars=3, max_chars=4)
    assert TermHighlighter(analyzer, "abcd")("\u0130abcd") == [(1, 5)]
