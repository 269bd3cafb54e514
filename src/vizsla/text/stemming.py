"""Snowball stemming by PyStemmer."""

from __future__ import annotations

from typing import Any

from vizsla.errors import InputError


def check_language(name: str, language: object) -> None:
    """Raise unless the stemmer library knows the language.

    Examples
    --------
    >>> check_language("stem", "finnish")
    """
    known = _library().algorithms()
    if not isinstance(language, str) or language not in known:
        raise InputError(f"`{name}` must be one of {', '.join(known)}. Got {language!r}.")


def stem_words(language: str, words: list[str]) -> list[str]:
    """Return the stem of every word; a word that would lose all its letters is its own stem.

    Examples
    --------
    >>> stem_words("english", ["running", "shoes"])
    ['run', 'shoe']
    """
    # A stemmer must not be shared by threads, and a new one costs a microsecond. Its cache is off: it
    # slows down words that differ, and most callers give such.
    stemmer = _library().Stemmer(language, 0)
    return [stem or word for stem, word in zip(stemmer.stemWords(words), words, strict=True)]


def _library() -> Any:
    import Stemmer  # where it is used: plain words need none

    return Stemmer
