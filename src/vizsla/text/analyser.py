"""Analyser: how a text becomes tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.arguments import is_several
from vizsla.cached_property import cached_property
from vizsla.errors import FormatError, InputError, check_choice, check_positive
from vizsla.strings import Strings
from vizsla.text.folding import terms_of_forms
from vizsla.text.stemming import check_language, stem_words
from vizsla.text.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from vizsla.artifacts.writer import ArtifactWriter

MOST_CHARS = 64


@dataclass(frozen=True)
class Analyser:
    """Cuts a text into tokens, and may drop stop words and stem what is left.

    A word is a maximal run of letters, marks, numbers (Unicode's categories L, M, N) and underscores;
    everything else separates words, apostrophes too.

    Parameters
    ----------
    kind : {"words", "chars"}
        Whole words, or the character n-grams of words, for languages that write without spaces.
    lower : bool
        Lower-case every character by itself. ``İ`` becomes ``i``, and the final sigma ``ς`` becomes ``σ``.
    stop_words : str or sequence of str, optional
        A language with a built-in list, or your own list: tokens to drop, before stemming.
    stem : str, optional
        The language of the Snowball stemmer; only for words.
    min_chars, max_chars : int, optional
        Lengths of the n-grams, for "chars" only; 1 and 2 unless given. A shorter word is kept whole.

    Examples
    --------
    >>> Analyser(stop_words="english")("The Café's 2 doors_open")
    ['café', '2', 'doors_open']
    >>> Analyser("chars", min_chars=2)("東京都 港")
    ['東京', '京都', '港']
    """

    kind: str = "words"
    lower: bool = True
    stop_words: str | tuple[str, ...] | None = None
    stem: str | None = None
    min_chars: int | None = None
    max_chars: int | None = None

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ["words", "chars"])
        if not isinstance(self.lower, bool):
            raise InputError(f"`lower` must be True or False. Got {self.lower!r}.")
        object.__setattr__(self, "stop_words", _checked_stop_words(self.stop_words))
        self._check_stem()
        self._check_lengths()

    @classmethod
    def named(cls, name: str) -> Self:
        """Return a preset: "words", "cjk" (n-grams of 1 and 2 characters), or a language that has a stemmer.

        Examples
        --------
        >>> Analyser.named("english")("Searching the indexes")
        ['search', 'index']
        """
        if not isinstance(name, str):
            raise InputError(f"`name` must be a text. Got {type(name).__name__}.")
        if name == "words":
            return cls()
        if name == "cjk":
            return cls("chars")
        check_language("name", name)
        return cls(stop_words=name if name in STOP_WORDS else None, stem=name)

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of a text in their order."""
        if not isinstance(text, str):
            raise InputError(f"`text` must be a str. Got {type(text).__name__}.")
        tokens: list[str] = _native.tokens(text, *self.rule)
        if self.dropped:
            tokens = [token for token in tokens if token not in self.dropped]
        return stem_words(self.stem, tokens) if self.stem else tokens

    @property
    def rule(self) -> tuple[bool, int, int, bool]:
        """What the native tokeniser needs to know: lower, min_chars, max_chars (0 for words), each script apart."""
        return self.lower, self.min_chars or 0, self.max_chars or 0, False

    @cached_property
    def dropped(self) -> frozenset[str]:
        """The tokens that are dropped: the stop words, cut and lower-cased as a text is."""
        words = STOP_WORDS[self.stop_words] if isinstance(self.stop_words, str) else self.stop_words or ()
        return frozenset(token for word in words for token in _native.tokens(word, self.lower, 0, 0, False))

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages whose stemmers may change a word; none for words as they are written."""
        return () if self.stem is None else (self.stem,)

    def folded(self, forms: list[str]) -> list[list[str | None]]:
        """Return for each of the languages what stands for each form, None for nothing."""
        return [list(stem_words(language, forms)) for language in self.languages]

    def terms_of(self, surface: Strings) -> tuple[Strings, NDArray[np.int32]]:
        """Return the terms that many forms stand for, as `folded` has them, and a row of numbers for each form."""
        everything = np.arange(len(surface), dtype=np.int32)
        return terms_of_forms(surface, self.languages, everything, [frozenset() for _ in self.languages])

    def query_tokens(self, text: str) -> list[str]:
        """Return the tokens of a query; they differ from an item's where there are several languages."""
        return self(text)

    def query_counts(self, text: str) -> dict[str, float]:
        """Return how much each token of a query counts.

        Examples
        --------
        >>> Analyser().query_counts("to be or not to be")
        {'to': 2, 'be': 2, 'or': 1, 'not': 1}
        """
        return dict(Counter(self.query_tokens(text)))

    @property
    def rooted(self) -> int | None:
        """The place of the language whose words also count, by half, as their roots; None where there is none."""
        return None

    @property
    def ways(self) -> int:
        """How many terms a word may stand for: one in each language, and a root."""
        return len(self.languages) + (self.rooted is not None)

    @property
    def settled(self) -> bool:
        """Whether the texts that are indexed have no more say in how they are read."""
        return True

    @property
    def skipped(self) -> frozenset[str]:
        """The tokens that are not even counted while texts are read."""
        return self.dropped

    def settled_by(self, builder: _native.BagBuilder, surface: Strings) -> tuple[Analyser, NDArray[np.int32]]:
        """Return the analyser as the texts settle it, and the place of each text's language, if several."""
        return self, np.zeros(0, np.int32)

    @property
    def vocabulary(self) -> Strings | None:
        """The tokens that there can be, where they are fixed beforehand; None where texts bring their own."""
        return None

    def _lookup(self, forms: Strings, term_of_form: NDArray[np.int32]) -> Any:
        """Return what turns texts into counts of known terms."""
        table = term_of_form, self.ways or 1, self.rooted is not None
        return _native.BagLookup(*self.rule, forms.data, forms.offsets, forms.slots, *table)

    def write(self, writer: ArtifactWriter, name: str) -> None:
        """Store the analyser among an artefact's files."""
        writer.json(name, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"stop_words": list(words) if isinstance(words := self.stop_words, tuple) else words}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build an analyser from what `to_dict` gave; anything else raises FormatError.

        Examples
        --------
        >>> Analyser.from_dict(Analyser(stem="german").to_dict()).stem
        'german'
        """
        names = [field.name for field in fields(cls)]
        if not isinstance(values, Mapping) or set(values) != set(names):
            raise FormatError(f"An analyser must have the keys {', '.join(names)}. Got {values!r:.200}.")
        try:
            return cls(**values)
        except InputError as error:
            raise FormatError(f"An analyser cannot be read: {error}") from error

    def _check_stem(self) -> None:
        if self.stem is None:
            return
        if self.kind == "chars":
            raise InputError(f"`stem` must be None for kind='chars': n-grams have none. Got {self.stem!r}.")
        check_language("stem", self.stem)

    def _check_lengths(self) -> None:
        if self.kind == "words":
            if self.min_chars is not None or self.max_chars is not None:
                raise InputError("`min_chars` and `max_chars` must be None unless kind='chars'.")
            return
        shortest = 1 if self.min_chars is None else check_positive("min_chars", self.min_chars)
        longest = max(2, shortest) if self.max_chars is None else check_positive("max_chars", self.max_chars)
        if not shortest <= longest <= MOST_CHARS:
            raise InputError(f"`max_chars` must be between {shortest} and {MOST_CHARS}. Got {longest}.")
        object.__setattr__(self, "min_chars", shortest)
        object.__setattr__(self, "max_chars", longest)


def _checked_stop_words(words: Any) -> str | tuple[str, ...] | None:
    if words is None:
        return None
    if isinstance(words, str):
        check_choice("stop_words", words, sorted(STOP_WORDS))
        return words
    if not is_several(words):
        raise InputError(f"`stop_words` must be a language or a list of words. Got {words!r}.")
    listed = tuple(words)
    for word in listed:
        if not isinstance(word, str):
            raise InputError(f"`stop_words` must hold str. Got {word!r}.")
    return listed
