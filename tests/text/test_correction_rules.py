"""Corrections of misspelled words against the rules as they are written, with a lexicon that compares every word."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.text.spelling_twin import edit_distance
from vizsla.text import WordPiece
from vizsla.text.spelling import Correction, Neighbor, corrections, suggestion

LETTERS = st.text("abc", min_size=2, max_size=10)
HOLDERS = st.sampled_from([0, 1, 2, 3, 5, 49, 50, 100, 101, 150, 1000])
LEXICONS = st.dictionaries(LETTERS, HOLDERS, max_size=9)


class PlainLexicon:
    """A vocabulary as a dict."""

    def __init__(self, holders):
        self.holders = holders

    def counts(self, words):
        return [self.holders.get(word, 0) for word in words]

    def near(self, word, edits):
        found = [(edit_distance(word, other), other) for other in self.holders if self.holders[other]]
        return [Neighbor(other, distance, self.holders[other]) for distance, other in found if distance <= edits]


def of_word(word, holders, stop_words):
    """One word: its neighbors one edit away, or two for eight letters; else two words that it is made of."""
    count = holders.get(word, 0)
    if not 4 <= len(word) <= 80 or not word.isalpha() or count > 2:
        return []
    by_distance = {
        edits: [other for other in holders if holders[other] and edit_distance(word, other) == edits]
        for edits in (1, 2)
    }
    near = [(other, 1) for other in by_distance[1]]
    if not near and not count and len(word) >= 8:
        near = [(other, 2) for other in by_distance[2]]
    if count:
        near = [(other, edits) for other, edits in near if holders[other] >= 50 * count]
    if near:
        near = sorted(near, key=lambda pair: (-holders[pair[0]], pair[0]))[:5]
        total = sum(holders[other] for other, _ in near)
        near = [pair for pair in near if holders[pair[0]] >= 0.05 * total]
        total, weights = sum(holders[other] for other, _ in near), {1: 0.9, 2: 0.7}
        return [
            Correction(
                word, other, pytest.approx(weights[edits] * holders[other] / total), edits, not count and not place
            )
            for place, (other, edits) in enumerate(near)
        ]
    return [] if count else split(word, holders, stop_words)


def split(word, holders, stop_words):
    """The two known words whose rarer is most frequent; else one known and one with a typo, both of four letters."""
    pairs = [(word[:at], word[at:]) for at in range(2, len(word) - 1)]
    sound = [pair for pair in pairs if not all(part in stop_words for part in pair)]
    rarer = {pair: min(holders.get(part, 0) for part in pair) for pair in sound}
    if rarer and max(rarer.values()):
        best = next(pair for pair in sound if rarer[pair] == max(rarer.values()))
        return [Correction(word, part, 0.7, 0, True) for part in best]
    best, found = 0, []
    for first, second in pairs:
        for typed, known in ((first, second), (second, first)):
            if len(typed) < 4 or len(known) < 4 or not holders.get(known, 0):
                continue
            for other in sorted(holders):
                both_stop = known in stop_words and other in stop_words
                if not holders[other] or edit_distance(typed, other) > 1 or both_stop:
                    continue
                if min(holders[known], holders[other]) > best:
                    best = min(holders[known], holders[other])
                    found = [other, known] if typed == first else [known, other]
    return [Correction(word, part, pytest.approx(0.63), 1, True) for part in found]


def twin(words, holders, stop_words):
    found, joined = [], set()
    for place, (one, other) in enumerate(pairwise(words)):
        if holders.get(one + other, 0) and len(one + other) > 4:
            unknown = not (holders.get(one, 0) and holders.get(other, 0))
            found.append(Correction(f"{one} {other}", one + other, 1.4 if unknown else 0.7, 0, unknown))
            joined |= {place, place + 1} if unknown else set()
    for place, word in enumerate(words):
        found += [] if place in joined else of_word(word, holders, stop_words)
    return found


@settings(max_examples=200)
@given(st.lists(LETTERS, min_size=1, max_size=3), LEXICONS, st.sets(LETTERS, max_size=2))
@example(["abca"], {"abcb": 5, "abcc": 100}, set())
@example(["abca"], {"abcb": 6, "abcc": 100, "abaa": 9}, set())
@example(["abca"], {"abca": 2, "abcb": 100, "abcc": 99}, set())
@example(["abca"], {"abca": 3, "abcb": 1000}, set())
@example(["abcabcab"], {"abcabccc": 3}, set())
@example(["abcabca"], {"abcabcc": 0, "abcabbb": 3}, set())
@example(["ab", "ca"], {"abca": 1, "ab": 2, "ca": 3}, set())
@example(["ab", "cab"], {"abcab": 1, "ab": 2, "cab": 3}, set())
@example(["ab", "cab"], {"abcab": 1, "ab": 2}, set())
@example(["abcabcab"], {"abca": 3, "bcab": 2, "ab": 9, "cabcab": 4}, {"ab", "cabcab"})
@example(["abcabcba"], {"abca": 5, "bcbb": 3, "abcb": 9, "cbaa": 1}, set())
@example(["aaaa"], {"aaab": 1, "aaac": 1, "aaba": 1, "aaca": 1, "abaa": 1, "acaa": 1, "baaa": 1}, set())
def test_corrections_follow_their_rules(words, holders, stop_words):
    assert corrections(words, PlainLexicon(holders), stop_words) == twin(words, holders, stop_words)


@pytest.mark.parametrize(("letters", "split_up"), [(80, True), (81, False)])
def test_a_word_of_more_than_eighty_letters_is_left_alone(letters, split_up):
    one, other = "a" * 40, "b" * (letters - 40)
    found = corrections([one + other], PlainLexicon({one: 3, other: 2}))
    assert [each.word for each in found] == ([one, other] if split_up else [])


@pytest.mark.parametrize("word", ["abc1", "ab_c", "12345"])
def test_what_is_no_word_of_letters_is_left_alone(word):
    assert corrections([word], PlainLexicon({"abcd": 9, "abec": 9, "12346": 9})) == []


@pytest.mark.parametrize(
    ("text", "found", "wanted"),
    [
        ("Firefx Browser", [("firefx", "firefox", True)], "firefox Browser"),
        ("Firefx browser", [("firefx", "firefox", False)], None),
        ("fire - FOX fires", [("fire fox", "firefox", True)], "firefox fires"),
        ("libreofice help", [("libreofice", "libre", True), ("libreofice", "office", True)], "libre office help"),
        ("a b", [], None),
        ("figg figgs Figg", [("figg", "fig", True)], "fig figgs fig"),
    ],
)
def test_what_was_meant_replaces_whole_words_alone(text, found, wanted):
    made = [Correction(typed, word, 0.9, 1, meant) for typed, word, meant in found]
    assert suggestion(text, made) == wanted
    if wanted is not None:
        assert re.findall(r"\w+", wanted.lower())


def test_a_word_piece_model_takes_words_of_so_many_characters_and_no_more():
    from vizsla.errors import InputError
    from vizsla.text.wordpiece import MAX_WORD_CHARS

    pieces = ["[UNK]", "a", "##a"]
    whole = WordPiece(pieces, max_chars=3)
    assert whole("aaa") == ["a", "##a", "##a"] and whole("aaaa") == ["[UNK]"]
    assert WordPiece(pieces, max_chars=MAX_WORD_CHARS)("a" * 101)[0] == "a"
    with pytest.raises(InputError, match="max_chars"):
        WordPiece(pieces, max_chars=MAX_WORD_CHARS + 1)
