"""The terms that forms stand for: the stem of each in each language, each form stemmed once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.strings import Strings
from vizsla.text.stemming import LIGHT, UNSPACED, UNSTEMMED, stemmer


def strings_of(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Strings:
    """Return a table of what native code wrote."""
    return Strings(data, offsets, _native.build_slots(data, offsets)[0])


def terms_of_forms(
    forms: Strings,
    languages: tuple[str, ...],
    stemmed: NDArray[np.int32],
    dropped: list[frozenset[str]],
    *,
    light: bool = False,
    rooted: int | None = None,
) -> tuple[Strings, NDArray[np.int32]]:
    """Return the distinct terms, form by form, and a row of terms for each form, a column for each language.

    `stemmed` are the numbers of the forms to stem, ascending: the others stand for themselves. `dropped` holds for each
    language the forms that stand for nothing (-1). With `light`, stems are those of `light_stems`. Where English is
    `rooted`, its place among the languages, one column more holds the roots that are not the stem.

    Examples
    --------
    >>> forms = Strings.of(["figs", "the", "fig", "3s"])
    >>> terms, table = terms_of_forms(forms, ("english",), np.arange(3, dtype=np.int32), [frozenset(["the"])])
    >>> list(terms), table.tolist()
    (['fig', '3s'], [[0], [-1], [0], [1]])
    """
    left_out = np.zeros((len(forms), len(languages) + (rooted is not None)), np.uint8)
    for column, stop_words in enumerate(dropped):
        numbers = forms.find_all(sorted(stop_words))
        left_out[numbers[numbers >= 0], column] = 1
    if rooted is not None:
        left_out[:, -1] = left_out[:, rooted]
    native = {LIGHT, *UNSPACED} if light else set()
    words = [] if native.issuperset(languages) else forms.take(stemmed)
    stems = [None if language in native else _stems(language, words) for language in languages]
    flags = left_out.reshape(-1), rooted is not None
    data, offsets, table = _native.fold(forms.data, forms.offsets, stemmed, stems, *flags)
    return strings_of(data, offsets), table.reshape(left_out.shape)


def _stems(language: str, words: list[str]) -> list[str]:
    """Return stems as the library has them: one may be empty, and then the form stands for itself."""
    stems: list[str] = words if language in UNSTEMMED else stemmer(language).stemWords(words)
    return stems
