"""The native tokenizer equals its Python twin, and does what the page on analyzers says."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.text import twin
from vizsla import _native
from vizsla.text.analyzers import Analyzer

# Letters of every width, marks, case that changes the width, digits, separators of every width, lone surrogates.
TRICKY = "aZ09_ '’.-\t\nÄßéİıΣσςȺⱥK\u0301\u200d\u00ad東京ラ。한😀𝒜𐐀𐐨𠀀\U000e0100\ud800\udfff\x00\uffff½²"
texts = st.one_of(
    st.text(st.characters(codec=None), max_size=60),
    st.text(st.sampled_from(TRICKY), max_size=120),
    st.text(st.sampled_from("ab Z.é"), max_size=400),
)
needs_same_unicode = pytest.mark.skipif(
    not twin.SAME_UNICODE, reason="this Python knows another version of Unicode than the native tables"
)


@needs_same_unicode
@given(texts, st.booleans())
def test_words_equal_the_twin(text: str, lower: bool) -> None:
    assert Analyzer(lower=lower)(text) == twin.words(text, lowered=lower)


@needs_same_unicode
@given(texts, st.booleans(), st.integers(1, 5), st.integers(0, 4))
def test_ngrams_equal_the_twin(text: str, lower: bool, shortest: int, more: int) -> None:
    analyzer = Analyzer("chars", lower=lower, min_chars=shortest, max_chars=shortest + more)
    assert analyzer(text) == twin.tokens(text, analyzer)


def test_every_character_of_unicode() -> None:
    everything = [chr(code) for code in range(sys.maxunicode + 1)]
    found = dict(zip(everything, native_of_each(everything), strict=True))
    wrong = {c for c in everything if found[c] != (twin.lower(c) if twin.is_word(c) else "")}
    if not twin.SAME_UNICODE:  # Characters that one of the two does not know yet may differ; most are known to both.
        assert len(wrong) < 10_000
        wrong = {c for c in wrong if found[c] and twin.is_word(c)}
    assert not wrong


def native_of_each(characters: list[str]) -> list[str]:
    # Between two letters that no other character touches, a separator leaves the letters alone.
    cut = _native.tokens(" ".join(f"q{c}q q" for c in characters), True, 0, 0, False)
    found, at = [], 0
    for _ in characters:
        joined = len(cut[at]) > 1
        found.append(cut[at][1:-1] if joined else "")
        at += 2 if joined else 3
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t…", []),
        ("Über die Straße, 2x!", ["über", "die", "straße", "2x"]),
        ("İstanbul ISPARTA ılık", ["istanbul", "isparta", "ılık"]),
        ("ΟΔΥΣΣΕΥΣ Οδυσσεύς", ["οδυσσευσ", "οδυσσεύσ"]),
        ("don't l’homme", ["don", "t", "l", "homme"]),
        ("snake_case e-mail a.b", ["snake_case", "e", "mail", "a", "b"]),
        ("cafe\u0301 हिन्दी", ["cafe\u0301", "हिन्दी"]),
        ("I ❤️ NY 👩‍💻 ok", ["i", "\ufe0f", "ny", "ok"]),
        ("a\ud800b \udfff", ["a", "b"]),
        ("null\x00byte", ["null", "byte"]),
        ("東京都へ。", ["東京都へ"]),
        ("x² ½ Ⅷ ٣", ["x²", "½", "ⅷ", "٣"]),
    ],
)
def test_examples_of_words(text: str, expected: list[str]) -> None:
    assert Analyzer()(text) == expected


@pytest.mark.parametrize(
    ("shortest", "longest", "text", "expected"),
    [
        (2, 2, "我爱北京 天", ["我爱", "爱北", "北京", "天"]),
        (1, 2, "東京", ["東", "東京", "京"]),
        (3, 4, "Search ab", ["sea", "sear", "ear", "earc", "arc", "arch", "rch", "ab"]),
        (2, 3, "", []),
    ],
)
def test_examples_of_ngrams(shortest: int, longest: int, text: str, expected: list[str]) -> None:
    assert Analyzer("chars", min_chars=shortest, max_chars=longest)(text) == expected


@given(texts)
def test_lower_casing_twice_changes_nothing(text: str) -> None:
    once = Analyzer()(text)
    assert Analyzer()(" ".join(once)) == once


@pytest.mark.parametrize("size", [1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 5000])
@pytest.mark.parametrize("letter", ["a", "é", "京", "𐐀", "Ⱥ"])
def test_words_around_the_width_of_a_block(size: int, letter: str) -> None:
    text = f"{letter * size} {letter * (size - 1)}x"
    assert Analyzer()(text) == twin.words(text)


@pytest.mark.parametrize("lengths", [(0, 1), (2, 1), (1, 65), (-1, -1), (1, 0)])
def test_the_native_tokenizer_refuses_impossible_lengths(lengths: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="n-gram lengths"):
        _native.tokens("text", True, *lengths, False)
