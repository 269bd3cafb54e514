"""The syntax that people type: operators become filters, and nothing that is typed raises."""

import random

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.contract.registry import RETRIEVERS
from vizsla.data.dataset import Dataset
from vizsla.engine.engine import Engine
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.tfidf import tfidf
from vizsla.scorers.text import FunctionScorer
from vizsla.text.analyzers import Analyzer
from vizsla.text.web_syntax import Clause, parse_web
from vizsla.text.word_filter import WordLists

FIELDS = {"title", "brand"}
ITEMS = [
    {"id": "jam", "title": "Fig jam", "text": "sweet figs in olive oil, without salt", "brand": "Acme"},
    {"id": "oil", "title": "Oil", "text": "oil of olives and figs", "brand": "Best Foods"},
    {"id": "tree", "title": "Fig trees", "text": "a tree for the garden", "brand": "Acme Garden"},
    {"id": "salt", "title": "Salt", "text": "sea salt", "brand": ""},
]


def where(flags):
    """Return the numbers of what is True."""
    return np.flatnonzero(list(flags)).tolist()


def shop(**options):
    return Dataset.of(ITEMS, keep_texts=True, **options)


@pytest.mark.parametrize(
    ("text", "words", "required", "excluded"),
    [
        ("fig jam", "fig jam", [], []),
        ("+fig -jam x", "fig x", ["fig"], ["jam"]),
        ('"olive oil" x', "olive oil x", ["olive oil"], []),
        ('-"olive oil" x', "x", [], ["olive oil"]),
        ("“olive oil” x", "olive oil x", ["olive oil"], []),
        ("title:fig x", "fig x", ["fig"], []),
        ("fire* x", "x", ["fire"], []),
        ("C++ e-mail a+b", "C++ e-mail a+b", [], []),
        ("http://a.b/c 12:30 other:word", "http://a.b/c 12:30 other:word", [], []),
        ('"never closed', "never closed", [], []),
        ('+ - ** "" a*', "+ - a", [], []),
        ("", "", [], []),
    ],
)
def test_queries_are_read_as_they_are_meant(text, words, required, excluded):
    found = parse_web(text, FIELDS.__contains__)
    assert found.words == words
    assert [clause.text for clause in found.required] == required
    assert [clause.text for clause in found.excluded] == excluded


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("brand:acme", ["jam", "tree"]),
        ("-salt", ["oil", "tree"]),
        ("brand:acme -fig", []),
        ("-brand:acme", ["oil", "salt"]),
        ("title:fig", ["jam", "tree"]),
    ],
)
def test_a_query_that_looks_for_no_word_finds_all_that_it_allows(query, expected):
    search = bm25(shop())
    for one in (search, search.normalized() + tfidf(shop()).normalized(), search | tfidf(shop())):
        found = one(query, syntax="web")
        assert sorted(found.ids[0]) == sorted(expected)
        page = one.page(query, 1, syntax="web", facets=["brand"])
        assert page.total == len(expected) and page.total_is_exact and page.ids == found.ids[0][:1]
        assert sum(each.count for each in page.facets["brand"].values) + page.facets["brand"].missing == len(expected)
    assert search(query, syntax="web").ids == [expected]
    narrow = search(["fig", query], where=["jam"], syntax="web")
    assert narrow.ids == [["jam"], [id for id in expected if id == "jam"]]


def test_no_model_is_called_for_a_whole_catalog():
    search = bm25(shop())
    costly = search >> FunctionScorer(lambda query, texts: [1.0] * len(texts), shop())
    assert costly("-salt", syntax="web").ids == [[]] and costly("-salt", syntax="web").stats.model_calls == 0


def test_a_field_a_sign_and_a_phrase_go_together():
    found = parse_web('-brand:"best foods" +title:fi*', FIELDS.__contains__)
    assert found.excluded == (Clause("phrase", "best foods", "brand"),)
    assert found.required == (Clause("prefix", "fi", "title"),)


def test_nothing_that_is_typed_raises():
    pick, search = random.Random(3), bm25(shop())
    marks = ['"', "+", "-", "*", ":", " ", "fig", "salt", "title", "brand", "ü", "東", "\\", "\t", "(", "'", "\0"]
    for _ in range(400):
        query = "".join(pick.choices(marks, k=pick.randint(0, 9)))
        found = search(query, syntax="web")
        assert len(found.ids[0]) <= 4


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fig", {"jam", "oil", "tree"}),
        ("fig -tree", {"jam", "oil"}),
        ("fig -trees", {"jam", "oil"}),  # any form of a word
        ('fig -"trees"', {"jam", "oil"}),
        ('fig -"tree"', {"jam", "oil"}),  # quoted, a word is as it is written
        ('"olive oil"', {"jam"}),
        ('figs "oil of"', {"oil"}),
        ("fig +salt", {"jam", "salt"}),
        ("title:fig garden", {"jam", "tree"}),
        ("brand:acme fig", {"jam", "tree"}),
        ('brand:"acme garden" fig', {"tree"}),
        ("gard*", {"tree"}),
        ("oliv* -title:oil", {"jam"}),
        ("fig -@@", {"jam", "oil", "tree"}),
    ],
)
def test_operators_filter(query, expected):
    assert set(bm25(shop())(query, syntax="web").ids[0]) == expected


def test_quotes_mean_the_word_as_written():
    lists = WordLists([item["text"] for item in ITEMS])
    assert lists.with_phrase("figs").tolist() == [0, 1]
    assert lists.with_phrase("fig").tolist() == []
    assert lists.holding("fig").tolist() == [0, 1]


def test_phrases_equal_a_scan_of_the_texts():
    pick = random.Random(0)
    words = ["red", "fig", "tree", "a", "b"]
    texts = [" ".join(pick.choices(words, k=pick.randint(0, 12))) for _ in range(300)]
    lists = WordLists(texts)
    for _ in range(60):
        phrase = " ".join(pick.choices(words, k=pick.randint(1, 4)))
        assert lists.with_phrase(phrase).tolist() == where(f" {phrase} " in f" {text} " for text in texts)


@pytest.mark.parametrize("query", ["fig +salt", "figs -tree", '"olive oil" fig', "brand:acme fig"])
def test_a_filter_only_removes(query):
    for search in (bm25(shop()), tfidf(shop()), bm25(shop()).normalized() + tfidf(shop()).normalized()):
        plain = parse_web(query, FIELDS.__contains__).words
        everything = search(plain, k=10)
        found = search(query, k=10, syntax="web")
        kept = [hit for hit in everything[0] if hit.id in found.ids[0]]
        assert [hit.id for hit in kept] == found.ids[0]
        if not search.is_composite:
            assert [hit.score for hit in kept] == [hit.score for hit in found[0]]
        for id in found.ids[0]:
            assert search.explain(query, id, syntax="web").score == pytest.approx(
                next(hit.score for hit in found[0] if hit.id == id), abs=1e-6
            )


def test_every_kind_obeys_operators_with_other_filters():
    described = RETRIEVERS["bm25 with details"].make()
    every, half = described("fig", k=60).ids[0], [id for n, id in enumerate(described.items) if n % 2]
    found = described('fig -"pear"', k=60, where=half, syntax="web").ids[0]
    texts = {id: described.items.details.text(n) for n, id in enumerate(described.items)}
    assert found == [id for id in every if id in half and "pear" not in texts[id].split()]


def test_several_queries_keep_their_order():
    search = bm25(shop())
    queries = ["fig", "fig -tree", "salt", '"olive oil"']
    together = search(queries, syntax="web")
    for row, query in enumerate(queries):
        alone = search(query, syntax="web")
        assert together.ids[row] == alone.ids[0]
        assert np.array_equal(together.row(row)[1], alone.row(0)[1])


def test_without_texts_it_says_what_is_needed():
    search = bm25(Dataset.of(ITEMS), analyzer=Analyzer())
    assert search("fig jam", syntax="web").ids == search("fig jam").ids
    with pytest.raises(InputError, match="keep_texts=True"):
        search("fig -jam", syntax="web")
    with pytest.raises(InputError, match="`syntax` must be"):
        search("fig", syntax="sql")


def test_saved_and_loaded(tmp_path):
    from vizsla import load

    search = bm25(shop())
    search.save(tmp_path / "a")
    query = "fig -tree brand:acme"
    assert load(tmp_path / "a")(query, syntax="web").ids == search(query, syntax="web").ids == [["jam"]]


def test_in_an_engine(tmp_path):
    from vizsla import Recipe

    with Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25")}) as engine:
        engine.add(list(shop().items))
        assert engine.search('"olive oil"', syntax="web", using="words").ids == [["jam"]]
        assert set(engine.search("brand:acme fig", syntax="web", using="words").ids[0]) == {"jam", "tree"}
        engine.delete("jam")
        assert engine.search('"olive oil"', syntax="web", using="words").ids == [[]]


@pytest.mark.parametrize("word", ["the", "of", "to", "and", "not"])
def test_stop_words_can_be_required_excluded_and_quoted(word):
    texts = [f"fig {word} tree", "fig tree", f"{word} fig", "tree", f"fig {word} {word} tree of the jam"]
    has = [word in text.split() for text in texts]
    lists = WordLists(texts)
    assert lists.holding(word).tolist() == where(has)
    assert lists.holding(f"fig {word}").tolist() == where(
        flag and "fig" in text for flag, text in zip(has, texts, strict=True)
    )
    for phrase in (f"fig {word} tree", f"{word} fig", f"{word} {word}", word):
        assert lists.with_phrase(phrase).tolist() == where(f" {phrase} " in f" {text} " for text in texts)
    search = bm25(Dataset.of([{"id": str(n), "text": text} for n, text in enumerate(texts)], keep_texts=True))
    every = set(search("fig tree", k=9).ids[0])
    said = {str(number) for number, flag in enumerate(has) if flag}
    assert set(search(f"fig tree +{word}", k=9, syntax="web").ids[0]) == every & said
    assert set(search(f"fig tree -{word}", k=9, syntax="web").ids[0]) == every - said


def test_a_required_stop_word_has_its_forms_as_any_word_does():
    texts = [
        "the others were not here and they had gone to the house",
        "there is no other way to the town that we know of",
        "the cans that were in the shop are in the house now",
        "you can do this with her and for all of them",
    ]
    lists = WordLists(texts)
    assert lists.analyzer.languages == ("english",)
    for forms in (("other", "others"), ("can", "cans")):
        wanted = [not set(forms).isdisjoint(text.split()) for text in texts]
        assert all(lists.holding(form).tolist() == where(wanted) for form in forms)


BRANDS = ["Acme", "Acme Garden", "Best Garden", "Best"]


@given(st.lists(st.tuples(st.sampled_from(BRANDS), st.booleans()), min_size=1, max_size=12))
@example([("Best", False), ("Acme Garden", True), ("Acme", False), ("Acme Garden", True), ("Acme", True)])
def test_a_word_and_a_field_are_required_together(rows):
    items = [
        {"id": str(number), "text": "fig rare" if rare else "fig", "brand": brand}
        for number, (brand, rare) in enumerate(rows)
    ]
    found = bm25(Dataset.of(items, keep_texts=True))("fig +rare brand:acme", len(items), syntax="web").ids[0]
    assert sorted(map(int, found)) == where(rare and "Acme" in brand for brand, rare in rows)


def test_a_prefix_goes_on_with_letters_of_any_alphabet():
    items = {"a": "a café", "b": "cafeteria", "c": "coffee", "d": "caf\U0001d400", "e": "CAFÉS"}
    found = bm25(Dataset.of(items, keep_texts=True))("caf*", syntax="web")
    assert {"a", "b", "e"} <= set(found.ids[0]) and "c" not in found.ids[0]
