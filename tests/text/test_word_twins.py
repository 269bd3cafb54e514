"""Words of queries and catalogs against plain twins: terms by language, disputed stop words, splits, completions."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.text.spelling_twin import edit_distance
from vizsla import Completer, Dataset, Engine, _native
from vizsla.core.strings import Strings
from vizsla.text import AnyLanguage
from vizsla.text.analyzers import surface_of
from vizsla.text.completion import MAX_TITLE_CHARS
from vizsla.text.languages import STOP_WORDS, clear_language, content_words
from vizsla.text.spelling import FuzzyDictionary, corrections
from vizsla.text.word_filter import MAX_COMPLETIONS, WordLists

LANGUAGES = ["english", "german", "french", "vietnamese", "russian"]
# Words with one stem in several languages, with a root of their own, with digits and underscores, and stop words.
PLAIN = ["fig", "figs", "national", "nations", "nationality", "hotel", "hotels", "running", "die", "war", "the", "über"]
ODD = [
    "1980s",
    "nationality7",
    "7nationality",
    "national_nations",
    "x_running",
    "flexibly2",
    "wh1000xm4",
    "_",
    "яблоки",
]
WORDS = st.one_of(st.sampled_from(PLAIN + ODD), st.text("anot1_éя", min_size=1, max_size=9))
SPOKEN = st.lists(st.sampled_from(LANGUAGES), min_size=1, max_size=4, unique=True)


def analyzer_of(languages, drop, roots):
    content = ["war", "die"] if len(languages) > 1 else []
    return AnyLanguage(languages, content=content, drop=drop, roots=roots)


def forms_of(analyzer, text):
    return list(dict.fromkeys(_native.tokens(text, *analyzer.rule)))


@given(SPOKEN, st.lists(WORDS, max_size=12), st.booleans(), st.booleans())
@example(["german", "english"], PLAIN + ODD, True, True)
@example(["english"], PLAIN + ODD, False, True)
def test_forms_stand_for_the_same_terms_in_a_table_and_one_by_one(languages, words, drop, roots):
    analyzer = analyzer_of(languages, drop, roots)
    forms = forms_of(analyzer, " ".join(words))
    terms, table = analyzer.terms_of(Strings.of(forms))
    by_form = [[None if n < 0 else terms[n] for n in row] for row in table.tolist()]
    assert by_form == [list(way) for way in zip(*analyzer.folded(forms), strict=True)]
    if analyzer.rooted is not None:  # a form with a digit or an underscore is found by its parts
        rooted = {form for form, row in zip(forms, by_form, strict=True) if row[-1] is not None}
        assert all("_" not in form and not any(c.isdigit() for c in form) for form in rooted)


@given(SPOKEN, st.lists(WORDS, max_size=8), st.booleans())
@example(["german", "english", "french"], ["fig", "hotel", "hotel", "nationality"], True)
def test_a_query_counts_each_term_of_a_word_once_and_a_root_by_half(languages, words, roots):
    analyzer = analyzer_of(languages, True, roots)
    text = " ".join(words)
    wanted: Counter[str] = Counter()
    for form in _native.tokens(text, *analyzer.rule):
        terms, table = analyzer.terms_of(Strings.of([form]))
        row = [None if n < 0 else terms[n] for n in table[0].tolist()]
        stems = {term for term in row[: len(languages)] if term is not None}
        wanted.update(stems)
        for root in {term for term in row[len(languages) :] if term is not None} - stems:
            wanted[root] += 0.5
    assert analyzer.query_counts(text) == dict(wanted)
    assert set(analyzer.query_tokens(text)) == set(wanted)


ITEMS = st.tuples(
    st.sampled_from([0, 0, 0, 0, 1, 1, 2]),
    st.lists(st.sampled_from(["war", "die", "man", "the", "und", "fig", "est"]), max_size=4),
)
FEW_GERMAN = [(0, ["war"])] * 2 + [(0, ["fig"])] * 88 + [(1, ["war"])] * 9 + [(1, ["fig"])]


@given(st.lists(ITEMS, min_size=1, max_size=30))
@example(FEW_GERMAN)
@example(FEW_GERMAN + [(0, ["war"])] * 8)
def test_disputed_stop_words_are_searched_for_where_a_tenth_as_usual_as_as_grammar(items):
    """How usual a word is, is a share of the items in one language, however many there are in others."""
    languages = ("english", "german", "french")
    columns, texts = np.array([column for column, _ in items], np.int32), [words for _, words in items]
    builder = _native.BagBuilder(*AnyLanguage(languages).rule, [])
    builder.add([" ".join(words) for words in texts])
    lists = [set(STOP_WORDS[language]) for language in languages]
    wanted = []
    for word in sorted(set().union(*texts)):
        if not any(word in own for own in lists) or all(word in own for own in lists):
            continue
        shares = [0.0] * 3
        for column in range(3):
            inside = [text for text, at in zip(texts, columns.tolist(), strict=True) if at == column]
            shares[column] = sum(word in text for text in inside) / max(len(inside), 1)
        grammar = max(share for share, own in zip(shares, lists, strict=True) if word in own)
        elsewhere = max(share for share, own in zip(shares, lists, strict=True) if word not in own)
        if elsewhere > 0 and elsewhere >= 0.1 * grammar:
            wanted.append(word)
    assert list(content_words(builder, surface_of(builder), languages, columns)) == wanted


@pytest.mark.parametrize(("german", "english", "clear"), [(3, 2, True), (2, 2, False), (6, 4, True), (5, 4, False)])
def test_half_as_much_again_is_clear_and_less_is_not(german, english, clear):
    words = ["und"] * german + ["the"] * english
    assert clear_language(words, ("english", "german")) == (1 if clear else -1)
    assert clear_language(words, ("german", "english")) == (0 if clear else -1)


@settings(max_examples=200)
@given(st.dictionaries(st.text("abc", min_size=4, max_size=6), st.integers(1, 60), min_size=2, max_size=8), st.data())
def test_a_misspelled_compound_is_split_into_the_two_words_whose_rarer_is_most_frequent(counts, data):
    words = list(counts)
    first, second = data.draw(st.sampled_from(words)), data.draw(st.sampled_from(words))
    at, letter = data.draw(st.integers(0, len(first + second) - 1)), data.draw(st.sampled_from("abcd"))
    typed = (first + second)[:at] + letter + (first + second)[at + 1 :]
    lexicon = FuzzyDictionary(Strings.of(words), np.array(list(counts.values())))
    best = 0
    for cut in range(2, len(typed) - 1):
        pair = typed[:cut], typed[cut:]
        if all(part in counts for part in pair):
            return  # it is made of two words as it stands
        for place in (0, 1):
            known, wrong = pair[1 - place], pair[place]
            if known in counts and min(len(known), len(wrong)) >= 4:
                near = [word for word in words if edit_distance(wrong, word) == 1]
                best = max([best, *(min(counts[known], counts[word]) for word in near)])
    if lexicon.near(typed, 2):
        return
    found = [one.word for one in corrections([typed], lexicon)]
    assert min((counts[word] for word in found), default=0) == best
    assert len(found) == (2 if best else 0) and edit_distance("".join(found), typed) <= (1 if best else len(typed))


@given(st.lists(st.lists(st.text("ab", min_size=1, max_size=7).map("f".__add__), max_size=9), min_size=1, max_size=12))
@example([["fa", "fb"], ["fb"]])
@example([["f" + "a" * (n % 5) + "b" * (n // 5) for n in range(1, 24)], ["faaab", "fbbb"], ["fbbb"]])
def test_a_prefix_is_completed_by_the_words_of_most_items(texts):
    lists = WordLists([" ".join(words) for words in texts])
    order = list(dict.fromkeys(word for words in texts for word in words))
    holders = Counter(word for words in texts for word in set(words))
    for prefix in ("f", "fa", "fab", "x"):
        fitting = [word for word in order if word.startswith(prefix)]
        wanted = sorted(fitting, key=lambda word: -holders[word])[:MAX_COMPLETIONS]
        assert lists.completions(prefix) == wanted


@pytest.mark.parametrize("length", [MAX_TITLE_CHARS - 1, MAX_TITLE_CHARS, MAX_TITLE_CHARS + 1])
def test_what_is_too_long_for_a_title_is_never_suggested_wherever_it_comes_from(length, tmp_path):
    long = "q" * length
    suggested = [long] if length <= MAX_TITLE_CHARS else []
    assert Completer.from_weights({long: 1.0, "a": 1.0})("q") == suggested
    items = {"f": "fig"}
    assert Completer.of(Dataset.of(items, clicks=[(long, "f")]))("q") == suggested
    for item in ({"id": "x", "title": long, "text": ""}, {"id": "x", "text": long}):
        assert Completer.of(Dataset.of([item]))("q") == suggested
    with Engine.create(tmp_path / "engine") as engine:
        engine.add(items)
        engine.click(long, "f")
        assert engine.complete("q") == suggested
