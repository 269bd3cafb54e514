"""Typo tolerance: what misspelled words find, and that exact matches come first."""

import random

import numpy as np
import pytest

from vizsla import bm25, load, parse, tfidf, typo_tolerant
from vizsla.base.recipe import Recipe
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.spelling import FuzzyDictionary

PLAIN = Analyzer()
ITEMS = {
    "browser": "the firefox browser shows web pages",
    "zoo": "a red fox in the zoo",
    "office": "libre office writes letters",
    "library": "libraries lend books",
}


@pytest.fixture(scope="module")
def search():
    return typo_tolerant(bm25(ITEMS))


@pytest.mark.parametrize(
    ("query", "item", "meant"),
    [
        ("firefx", "browser", "firefox"),
        ("fierfox pgaes", "browser", "firefox pages"),
        ("fire fox", "browser", "firefox"),
        ("libreofice", "office", "libre office"),
        ("librareis", "library", "libraries"),
        ("Libarry Boks", "library", None),
        ("red fox", "zoo", None),
    ],
)
def test_misspelled_joined_and_split_words_are_found(search, query, item, meant):
    found = search(query)
    assert found.ids[0][0] == item
    if meant is not None or query == "red fox":
        assert search.did_you_mean(query) == meant
        assert found.hints == (() if meant is None else (f"Did you mean {meant!r}?",))


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("firefx -pgaes", "firefox -pgaes"),
        ("+firefx  browser", "+firefox  browser"),
        ('"firefx browser"', '"firefox browser"'),
        ("kind:zooo firefx -kind:offcie", "kind:zooo firefox -kind:offcie"),
        ("firefx librar*", "firefox librar*"),
        ("librar* firefox", None),
    ],
)
def test_what_was_meant_keeps_the_signs_of_the_query(query, meant):
    items = [{"id": id, "text": text, "kind": id} for id, text in ITEMS.items()]
    search = typo_tolerant(bm25(Dataset.of(items, keep_texts=True)))
    hints = () if meant is None else (f"Did you mean {meant!r}?",)
    assert search(query, syntax="web").hints == search.page(query, syntax="web").candidates.hints == hints
    assert search.page(query, syntax="web", facets=["kind"]).candidates.hints == hints


def test_plain_bm25_finds_nothing_for_the_same(search):
    assert bm25(ITEMS)(["firefx", "libreofice", "librareis"]).ids == [[], [], []]


def test_queries_of_known_words_are_answered_as_the_base_does(search):
    queries = ["firefox browser", "red fox", "office letters", "", "zoo zoo books"]
    assert search(queries, 4).to_dict() == bm25(ITEMS)(queries, 4).to_dict()


@pytest.mark.parametrize("variant", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
@pytest.mark.parametrize("analyzer", [PLAIN, AnyLanguage("english"), AnyLanguage(["english", "german"])])
def test_exact_words_rank_first_at_equal_evidence(variant, analyzer):
    rng = random.Random(0)
    for _ in range(20):
        word = "".join(rng.choices("bcdfgklmnprst", k=8))
        at = rng.randrange(8)
        other = word[:at] + rng.choice("aeiou") + word[at + 1 :]
        # The exact word is rare beside a frequent neighbor, so both are searched for.
        texts = {"exact": f"some {word}"} | {f"near {n}": f"some {other}" for n in range(60)}
        filler = {f"filler {n}": "some thing" for n in range(70)}
        found = typo_tolerant(bm25(texts | filler, analyzer=analyzer, variant=variant))(f"{word}", 100)
        assert found.ids[0][0] == "exact"
        assert found.scores[0] > found.scores[1]


def test_an_item_with_every_neighbor_ranks_below_the_exact_word():
    near = ["cart", "card", "care", "cars", "carp"]
    texts = (
        {"exact": "carz aa bb cc dd"}
        | {f"n{n}": " ".join(near) for n in range(120)}
        | {str(n): "xx" for n in range(200)}
    )
    found = typo_tolerant(bm25(texts, analyzer=PLAIN))("carz")
    assert found.ids[0][0] == "exact"
    assert len(found.ids[0]) == 10


def test_scores_are_those_of_the_weighted_words_by_hand():
    texts = {"a": "firefox", "b": "firefly", "c": "firefly"}
    base = bm25(texts, analyzer=PLAIN)
    found = typo_tolerant(base)("firefo")
    assert found.ids == [["a"]]
    assert found.scores[0] == pytest.approx(0.9 * base("firefox").scores[0], rel=1e-6)
    both = typo_tolerant(base)("firef")
    assert both.ids == [[]], "two edits need eight letters"


def test_filters_scores_and_explanations_agree(search):
    for query in ("firefx fox", "libreofice boks", "the brwoser zoo"):
        found = search(query, 4)
        assert search.score(query, found).to_dict() == found.to_dict()
        for hit in found[0]:
            why = search.explain(query, hit.id)
            assert why.score == hit.score
            assert sum(part.score for part in why.parts) == pytest.approx(hit.score, abs=1e-5)
        kept = [hit for hit in found[0] if hit.id != "zoo"]
        assert list(search(query, 4, where=lambda item: item != "zoo")[0]) == kept


def test_it_survives_saving_and_composes(search, tmp_path):
    search.save(tmp_path / "index")
    loaded = load(tmp_path / "index")
    assert loaded("firefx brwoser").to_dict() == search("firefx brwoser").to_dict()
    assert loaded.did_you_mean("firefx") == "firefox"
    mixed = search.normalized() + tfidf(ITEMS).normalized()
    assert mixed("firefx").ids[0][0] == "browser"
    assert parse("0.5 * a + 0.5 * b", {"a": loaded, "b": bm25(ITEMS)})("firefx").ids[0] == ["browser"]


def test_highlights_and_the_web_syntax_follow_the_corrections():
    search = typo_tolerant(bm25(Dataset.of(ITEMS, keep_texts=True)))
    page = search.page("firefx brwoser", 2, highlight=True)
    text = ITEMS["browser"]
    marked = {text[low:high] for span in page.hits[0].highlights.values() for low, high in span}
    assert marked == {"firefox", "browser"}
    assert search("firefx -pages", syntax="web").ids == [[]]
    assert search("firefx +pages", syntax="web").ids == [["browser"]]
    assert search("firefx", syntax="web").hints == ("Did you mean 'firefox'?",)


def test_the_recipe_builds_it_again(search):
    built = Recipe.from_dict(search.recipe.to_dict()).build(Dataset.of(ITEMS))
    assert built("firefx brwoser").to_dict() == search("firefx brwoser").to_dict()


def test_the_page_of_a_composition_says_what_its_parts_say():
    search = typo_tolerant(bm25(ITEMS))
    both = 0.5 * search.normalized() + 0.5 * bm25(ITEMS).normalized()
    assert both.page("firefx").candidates.hints == ("Did you mean 'firefox'?",)
    assert both.page("firefox").candidates.hints == ()
    assert (search >> bm25(ITEMS)).page("firefx").to_dict()["hints"] == ["Did you mean 'firefox'?"]


def test_only_words_of_one_alphabet_and_whole_words_are_corrected():
    search = typo_tolerant(bm25({"a": "東京都港区 tower", "b": "iphone12 case"}))
    assert search.did_you_mean("東京都港口") is None
    assert search.did_you_mean("iphone13") is None
    assert typo_tolerant(bm25({"a": "firefox"}, analyzer=Analyzer("chars")))("firefx").hints == ()


def test_what_is_not_lexical_raises():
    with pytest.raises(InputError, match="`base` must be BM25 over whole words. Got .*compose that"):
        typo_tolerant(tfidf(ITEMS))
    with pytest.raises(InputError, match="`base`"):
        typo_tolerant("bm25")


def test_every_word_is_found_by_each_of_its_edits():
    rng = random.Random(3)
    words = sorted({"".join(rng.choices("etaoinshrdlcumw", k=rng.randint(4, 12))) for _ in range(20_000)})
    dictionary = FuzzyDictionary(Strings.of(words), np.ones(len(words), np.int64))
    for word in rng.sample(words, 60):
        at = rng.randrange(len(word) - 1)
        for typed in (
            word[:at] + word[at + 1 :],
            word[:at] + "x" + word[at:],
            word[:at] + "é" + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ):
            assert word in [one.word for one in dictionary.near(typed, 1)], (word, typed)
            assert word in [one.word for one in dictionary.near(f"{typed}q", 2)], (word, typed)


def test_two_stop_words_are_never_meant():
    search = typo_tolerant(
        bm25({"a": "so it is no good, the fig tree", "b": "no one is so tall", "c": "an apple tree"})
    )
    assert search.did_you_mean("sono") is None and search("sono").hints == ()
    assert search.did_you_mean("thefig") == "the fig"
