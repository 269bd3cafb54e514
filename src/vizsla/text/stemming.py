"""Stems: Snowball's by PyStemmer; English words without their inflections, and their roots."""

from __future__ import annotations

from typing import Any

from vizsla import _native
from vizsla.errors import InputError

LIGHTLY_STEMMED = "english"
"""The language whose words lose their inflections only."""
UNSPACED = ("chinese", "japanese", "korean", "thai")
"""Languages that are cut into characters and pairs; a Latin word among them is stemmed as an English one."""
UNSTEMMED = ("vietnamese",)
"""Languages whose words have no endings to lose."""


def check_readable(name: str, language: object) -> None:
    """Raise unless `light_stems` knows the language: what the stemmer library knows, and those that need no stemmer.

    Examples
    --------
    >>> check_readable("language", "thai")
    """
    if language not in UNSPACED + UNSTEMMED:
        check_language(name, language)


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
    return [stem or word for stem, word in zip(stemmer(language).stemWords(words), words, strict=True)]


def light_stems(language: str, words: list[str]) -> list[str]:
    """Return the stem of every word; an English one only loses its inflections (plurals, -ed, -ing).

    Examples
    --------
    >>> light_stems("english", ["running", "shoes", "nationality"]), stem_words("english", ["nationality"])
    (['run', 'shoe', 'nationaliti'], ['nation'])
    """
    if language in UNSTEMMED:
        return words
    return (
        _native.english_stems(words)
        if language == LIGHTLY_STEMMED or language in UNSPACED
        else stem_words(language, words)
    )


def roots(words: list[str]) -> list[str]:
    """Return the root of every English word: what Snowball's stemmer makes of it, but for a handful.

    Examples
    --------
    >>> roots(["nationality", "nations", "flexibly"])
    ['nation', 'nation', 'flexibl']
    """
    return _native.english_stems(words, roots=True)


def stemmer(language: str) -> Any:
    """Return a new stemmer of the library's.

    Examples
    --------
    >>> stemmer("english").stemWords(["figs"])
    ['fig']
    """
    # A stemmer must not be shared by threads, and a new one costs a microsecond. Its cache is off: it
    # slows down words that differ, and most callers give such.
    return _library().Stemmer(language, 0)


def _library() -> Any:
    import Stemmer  # where it is used: plain words need none

    return Stemmer
