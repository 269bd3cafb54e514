"""Snippets: parts of a text that show as many different words of the query as any part of that length can."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from vizsla import Engine, Recipe
from vizsla.text.analyzers import AnyLanguage
from vizsla.text.highlights import TermHighlighter, snippet_of

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
