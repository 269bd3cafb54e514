"""English words without their inflections: hand-checked families, and the native code against its twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text.english_twin import stem
from vizsla import _native
from vizsla.core.strings import Strings
from vizsla.text.analyzers import terms_of_forms
from vizsla.text.stemming import light_stems, roots, stem_words

TOGETHER = [
    "tree trees", "run runs running", "hope hopes hoped hoping", "hop hops hopped hopping", "study studies studied",
    "index indexes indexed indexing", "match matches matching", "glass glasses", "arrange arranges arranged arranging",
    "house houses housed housing", "tie ties tying", "create creates created creating", "agree agrees agreed",
    "box boxes boxed", "die dies dying", "sky skies", "ski skis", "play plays played playing", "café cafés",
    "add adds added adding",
]  # fmt: skip
APART = ["general generic generous", "news new", "universe university", "hop hope", "sing string", "organ organise"]


@pytest.mark.parametrize("family", TOGETHER)
def test_inflections_of_a_word_are_one(family):
    assert len(set(light_stems("english", family.split()))) == 1


@pytest.mark.parametrize("words", APART)
def test_other_words_stay_apart(words):
    assert len(set(light_stems("english", words.split()))) == len(words.split())


def test_other_languages_are_snowballs():
    assert light_stems("german", ["häuser"]) == stem_words("german", ["häuser"]) == ["haus"]


@given(st.lists(st.text(st.sampled_from("aeiouybdglnrstxwz\u00e9"), min_size=1, max_size=5), max_size=12))
def test_native_stems_are_the_twins(beginnings):
    endings = "s dding es ies ied sses ed eed ing ating bled izing y e us"
    words = [word + ending for word in beginnings for ending in ("", *endings.split())]
    assert light_stems("english", words) == [stem(word) for word in words]


@pytest.mark.parametrize("word", ["skis", "innings", "outings", "herrings", "news", "proceeds", "lying", "as", "ing"])
def test_exceptions_are_the_twins(word):
    assert light_stems("english", [word]) == [stem(word)]


ENDINGS = """
    ational tional ization ation fulness ousness iveness biliti bility iviti ivity aliti ality alism lessly ently ously
    fully ally ably bly ency ancy izer ator ogist logy ly alize icate icity ical ful ness ative ement ment ent ance ence
    able ible ant ism ate ity ous ive ize al er ic ion sion edly ingly eedly ll lle y e s ing ed ies
"""


@given(st.lists(st.text(st.sampled_from("aeiouybdglnrstxw"), min_size=1, max_size=6), max_size=6))
def test_roots_are_snowballs(beginnings):
    words = [word + ending for word in beginnings for ending in ENDINGS.split()]
    words = [word for word in words if "past" not in word and word not in ("commune", "communes")]
    snowball = stem_words("english", words)
    found = [(word, root, stem) for word, root, stem in zip(words, roots(words), snowball, strict=True) if root != stem]
    # The few that differ are stems without an ending of other words, where an e is at stake.
    assert all(root.rstrip("e") == stem.rstrip("e") for _, root, stem in found), found


@pytest.mark.parametrize(
    ("word", "root"),
    [("flexibility", "flexibl"), ("stabilize", "stabil"), ("stability", "stabil"), ("circularity", "circular"),
     ("deviations", "deviat"), ("happiness", "happi"), ("relational", "relat"), ("geologist", "geolog"),
     ("increasingly", "increas"), ("generously", "generous"), ("organization", "organiz"), ("early", "earli"),
     ("fulfill", "fulfil"), ("bying", "bie"), ("byingly", "by"), ("vying", "vie"), ("éying", "éie"),
     ("tree", "tree"), ("as", "as"), ("", ""), ("größe", "größe")],
)  # fmt: skip
def test_a_root_by_hand(word, root):
    assert roots([word]) == [root]


def test_many_forms_stand_for_what_each_does():
    forms = ["figs", "the", "fig", "häuser", "7up", "haus", "der", "s_s"]
    dropped = [frozenset(["the"]), frozenset(["der", "the"])]
    table = Strings.of(forms)
    stemmed = _native.without_parts(table.data, table.offsets)
    assert stemmed.tolist() == [0, 1, 2, 3, 5, 6]
    terms, numbers = terms_of_forms(table, ("english", "german"), stemmed, dropped, light=True)
    found = [[terms[n] if n >= 0 else None for n in row] for row in numbers.tolist()]
    for column, (language, stop) in enumerate(zip(("english", "german"), dropped, strict=True)):
        for form, row in zip(forms, found, strict=True):
            whole = form in ("7up", "s_s")
            assert row[column] == (None if form in stop else form if whole else light_stems(language, [form])[0])
    assert list(terms) == list(dict.fromkeys(term for row in found for term in row if term))


@pytest.mark.parametrize(
    ("stemmed", "stems", "dropped"),
    [([0, 1], [["a"]], [0, 0]), ([1, 0], [["a", "b"]], [0, 0]), ([-1], [["a"]], [0, 0]), ([0], [["a"]], [0])],
)
def test_the_native_fold_refuses_what_does_not_fit(stemmed, stems, dropped):
    table = Strings.of(["a", "b"])
    with pytest.raises(ValueError):
        _native.fold(table.data, table.offsets, np.array(stemmed, np.int32), stems, np.array(dropped, np.uint8))


def test_the_strongest_is_the_first_of_equals():
    sums = np.array([3, 5, 5, -1, -2, -3], np.int32)
    assert [numbers.tolist() for numbers in _native.strongest(sums, 3)] == [[1, 0], [5, -1], [5, -2]]
    with pytest.raises(ValueError):
        _native.strongest(sums, 4)
