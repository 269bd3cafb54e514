"""English words count by half as their roots: counts and scores by hand, other languages, growth, shards and files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vizsla
from vizsla import _native, bm25
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25_statistics import Statistics
from vizsla.text import AnyLanguage
from vizsla.text.bag_of_words import BagOfWords
from vizsla.text.languages import STOP_WORDS

ENGLISH = AnyLanguage("english")
WINGS = {"a": "a flexible wing", "b": "the flexibility of a wing", "c": "stiff wings"}
WORDS = ["nation", "nations", "national", "nationality", "nationalities", "the", "flexible", "flexibly", "1980s", "oft"]


def counted(bag, rows):
    """Return each row as a dict of term and count."""
    bounds = zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    return [{bag.terms[rows.columns[i]]: float(rows.values[i]) for i in range(a, b)} for a, b in bounds]


def test_a_word_counts_once_as_itself_and_half_as_its_root():
    bag, rows = BagOfWords.fit(WINGS.values(), ENGLISH)
    assert list(bag.terms) == ["flexibl", "wing", "flexibiliti", "stiff"]
    assert counted(bag, rows) == [
        {"flexibl": 1, "wing": 1}, {"flexibiliti": 1, "flexibl": 0.5, "wing": 1}, {"stiff": 1, "wing": 1},
    ]  # fmt: skip
    assert counted(bag, bag.queries(["flexibility flexibly flexible"])) == [{"flexibiliti": 1, "flexibl": 2}]
    assert Statistics.of_rows(bag, rows).length == 6.5


@pytest.mark.parametrize("languages", ["english", ["german", "english"]])
def test_a_stop_word_counts_neither_as_itself_nor_as_its_root(languages):
    """Of the list only `another` has a root that is not its stem."""
    for word in STOP_WORDS["english"]:
        bag, _ = BagOfWords.fit([f"{word} figs", f"the {word}"], AnyLanguage(languages, drop=True))
        assert "anoth" not in bag.terms and bag.readings([word])[0, -1] == -1, word
    assert bm25({"a": "another fig", "b": "fig"}, analyzer=AnyLanguage("english"))("another").ids == [[]]


def test_scores_by_hand():
    search = bm25(WINGS, analyzer=ENGLISH)
    found = search("flexibility")

    def saturated(count, length):
        return count / (count + 1.5 * (0.25 + 0.75 * length / (6.5 / 3)))

    once, twice = np.log(1 + 2.5 / 1.5), np.log(1 + 1.5 / 2.5)
    own = once * saturated(1, 2.5) + 0.5 * twice * saturated(0.5, 2.5)
    other = 0.5 * twice * saturated(1, 2)
    assert found.to_dict() == {"0": {"b": pytest.approx(own), "a": pytest.approx(other)}}
    assert search("flexible").ids == [["a", "b"]], "what says flexible comes before what says flexibility"


def test_an_explanation_says_what_a_root_gives():
    search = bm25(WINGS, analyzer=ENGLISH)
    shown = search.explain("flexibility", "b")
    assert shown.score == pytest.approx(float(search("flexibility").scores[0]))
    assert "'flexibl': in 2 of 3 items, idf 0.4700, 0.5 times in the query" in str(shown)


def test_without_roots_words_are_apart():
    search = bm25(WINGS, analyzer=AnyLanguage("english", roots=False))
    assert search("flexibility").ids == [["b"]] and search("flexible").ids == [["a"]]


def test_only_english_items_hold_roots_and_a_query_counts_a_term_once():
    analyzer = AnyLanguage(["german", "english"])
    texts = ["Die Nation und das Kind sind nicht national", "The national park of the nation and its children"]
    bag, rows = BagOfWords.fit(texts, analyzer)
    assert counted(bag, rows) == [
        {"nation": 1, "kind": 1, "national": 1}, {"national": 1, "nation": 1.5, "park": 1, "children": 1},
    ]  # fmt: skip
    assert bag.items(texts) == rows
    assert counted(bag, bag.queries(["national"])) == [{"national": 1, "nation": 0.5}]
    assert analyzer.query_counts("national") == {"national": 1, "nation": 0.5}
    # German reads `nationen` as `nation`, English as itself: every reading is one whole word.
    assert analyzer.query_counts("nationen") == {"nation": 1, "nationen": 1}


def twin(text):
    """Count a text in plain Python."""
    counts = {}
    [stems, roots] = ENGLISH.folded(ENGLISH._cut(text))
    for stem, root in zip(stems, roots, strict=True):
        for term, share in ((stem, 1.0), (root, 0.5)):
            if term is not None:
                counts[term] = counts.get(term, 0.0) + share
    return counts


TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=1, max_size=6)


@given(TEXTS)
def test_rows_are_the_twins(texts):
    bag, rows = BagOfWords.fit(texts, ENGLISH)
    assert counted(bag, rows) == counted(bag, bag.queries(texts)) == [
        dict(sorted(twin(text).items(), key=lambda pair: bag.terms.find(pair[0]))) for text in texts
    ]  # fmt: skip
    assert [ENGLISH.query_counts(text) for text in texts] == [twin(text) for text in texts]


@given(TEXTS, TEXTS)
def test_what_has_grown_is_what_was_read_at_once(first, more):
    whole, _ = BagOfWords.fit([*first, *more], ENGLISH)
    bag, _ = BagOfWords.fit(first, ENGLISH)
    assert list(bag.grown(more).terms) == list(whole.terms) and bag.grown(more).queries(more) == whole.queries(more)
    merged = Statistics.of(first, analyzer=ENGLISH).merged(Statistics.of(more, analyzer=ENGLISH))
    assert merged == Statistics.of([*first, *more], analyzer=ENGLISH)


def test_shards_answer_as_the_whole(tmp_path):
    items = {str(n): " ".join(WORDS[(n * step) % len(WORDS)] for step in range(1, 2 + n % 6)) for n in range(40)}
    whole = bm25(items, analyzer=ENGLISH)
    halves = [dict(list(items.items())[:17]), dict(list(items.items())[17:])]
    counts = Statistics.of(items, analyzer=ENGLISH)
    counts = vizsla.load(counts.save(tmp_path / "counts"))
    assert counts.length % 1 == 0.5
    search = vizsla.shards([bm25(half, statistics=counts) for half in halves])
    for query in ("nationality", "flexibly nations", "national flexible"):
        assert search(query, k=40).to_dict() == whole(query, k=40).to_dict()


def test_an_index_of_before_is_read_without_roots(tmp_path):
    old = AnyLanguage("english", roots=False)
    values = old.to_dict()
    del values["roots"]
    assert AnyLanguage.from_dict(values) == old != ENGLISH
    for one in (old, ENGLISH):
        again = AnyLanguage.from_dict(json.loads(json.dumps(one.to_dict())))
        assert again == one and hash(again) == hash(one)
    assert repr(old) == "AnyLanguage(english, no roots)"


@pytest.mark.parametrize("wrong", [1, None, "no"])
def test_wrong_roots_are_refused(wrong):
    with pytest.raises(InputError, match="`roots` must be True or False"):
        AnyLanguage("english", roots=wrong)
    with pytest.raises(FormatError):
        AnyLanguage.from_dict(ENGLISH.to_dict() | {"roots": wrong})


@pytest.mark.parametrize("length", [-1.0, 0.25, float("nan"), 2.0**60])
def test_a_wrong_length_is_refused(length):
    counts = Statistics.of(WINGS, analyzer=ENGLISH)
    with pytest.raises(InputError, match="`length` must be"):
        Statistics(counts.words, counts.frequencies, counts.documents, length)


def test_rows_that_roots_make_longer_are_moved():
    """Without stop words every cell stays and each gets a root: there is no room where the rows lie."""
    builder = _native.BagBuilder(True, 0, 0, True, [])
    builder.add(["a b c"] * 3 + ["c"])
    table = np.array([0, 3, 1, 3, 2, 4], np.int32)
    offsets, terms, counts = builder.take_rows(table, 2, np.zeros(0, np.int32), 0)
    assert offsets.tolist() == [0, 5, 10, 15, 17]
    assert terms.tolist() == [0, 1, 2, 3, 4] * 3 + [2, 4] and counts.tolist() == [1, 1, 1, 1, 0.5] * 3 + [1, 0.5]


@pytest.mark.parametrize("rooted", [1, 2])
def test_roots_need_a_column(rooted):
    builder = _native.BagBuilder(True, 0, 0, True, [])
    builder.add(["a"])
    with pytest.raises(ValueError, match="column"):
        builder.take_rows(np.zeros(2, np.int32), 2, np.zeros(0, np.int32), rooted)
    with pytest.raises(ValueError, match="column"):
        builder.take_rows(np.zeros(2, np.int32), 2, np.ones(1, np.int32), 0)
