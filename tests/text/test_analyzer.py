"""Analyzers: parameters, presets, stop words, stemming, and their dict."""

from __future__ import annotations

import json
from typing import Any

import pytest
import Stemmer

from tests.text import twin
from vizsla.errors import FormatError, InputError
from vizsla.text.analyzers import Analyzer
from vizsla.text.languages import STOP_WORDS

SENTENCE = "The runners were running quickly through Straßen, mujeres, быстрые машины, κόσμος and l'amitié"


@pytest.mark.parametrize("language", Stemmer.algorithms())
def test_stemming_is_the_stemmer_on_every_token(language: str) -> None:
    analyzer = Analyzer(stem=language)
    assert analyzer(SENTENCE) == twin.tokens(SENTENCE, analyzer)


@pytest.mark.parametrize("language", Stemmer.algorithms())
def test_every_language_has_a_preset(language: str) -> None:
    analyzer = Analyzer.named(language)
    assert analyzer.stem == language
    assert (analyzer.stop_words == language) == (language in STOP_WORDS)


def test_presets_without_a_stemmer() -> None:
    assert Analyzer.named("words") == Analyzer()
    assert Analyzer.named("cjk")("北京") == ["北", "北京", "京"]
    with pytest.raises(InputError, match="klingon"):
        Analyzer.named("klingon")


@pytest.mark.parametrize("language", sorted(STOP_WORDS))
def test_built_in_lists_hold_distinct_lower_case_words(language: str) -> None:
    words = STOP_WORDS[language]
    assert len(set(words)) == len(words) > 50
    assert all(twin.words(word) == [word] for word in words)


def test_stop_words_are_dropped_before_stemming() -> None:
    assert Analyzer(stop_words=["being"], stem="english")("Being beings be") == ["be", "be"]


def test_own_stop_words_are_cut_and_lower_cased_like_texts() -> None:
    assert Analyzer(stop_words=["Don't", "ΤΗΣ"])("don't της x DON") == ["x"]
    assert Analyzer(stop_words=["The"], lower=False)("The the") == ["the"]


@pytest.mark.parametrize(
    "analyzer",
    [
        Analyzer(),
        Analyzer.named("english"),
        Analyzer("chars", min_chars=3),
        Analyzer(lower=False, stop_words=("a", "b")),
        Analyzer(stop_words=iter(["a"])),
    ],
)
def test_round_trip_through_json(analyzer: Analyzer) -> None:
    assert Analyzer.from_dict(json.loads(json.dumps(analyzer.to_dict()))) == analyzer


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "lines"},
        {"kind": ["words"]},
        {"lower": 1},
        {"stop_words": "klingon"},
        {"stop_words": [1]},
        {"stop_words": 3},
        {"stem": "klingon"},
        {"stem": ["english"]},
        {"min_chars": 2},
        {"kind": "chars", "min_chars": 0},
        {"kind": "chars", "min_chars": "2"},
        {"kind": "chars", "min_chars": 2.0},
        {"kind": "chars", "min_chars": 3, "max_chars": 2},
        {"kind": "chars", "max_chars": 65},
        {"kind": "chars", "stem": "english"},
    ],
)
def test_wrong_parameters_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Analyzer(**change)
    with pytest.raises(FormatError):
        Analyzer.from_dict(Analyzer().to_dict() | change)


@pytest.mark.parametrize("values", [{}, {"kind": "words"}, Analyzer().to_dict() | {"more": 1}, [], None, "words"])
def test_wrong_keys_are_refused(values: Any) -> None:
    with pytest.raises(FormatError, match="keys"):
        Analyzer.from_dict(values)


def test_a_text_must_be_a_string() -> None:
    with pytest.raises(InputError, match="int"):
        Analyzer()(3)  # type: ignore[arg-type]
