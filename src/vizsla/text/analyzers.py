"""Analyzers: how a text becomes tokens, for a given language or for any."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.core.strings import Strings
from vizsla.core.validation import is_iterable
from vizsla.errors import FormatError, InputError, check_choice, check_positive
from vizsla.text.languages import (
    LANGUAGES,
    STOP_WORDS,
    columns_of,
    content_words,
    evidence_of,
    languages_of,
    latin_forms,
    listed,
    telling_words,
    with_likely,
)
from vizsla.text.stemming import (
    LIGHTLY_STEMMED,
    UNSPACED,
    UNSTEMMED,
    check_language,
    check_readable,
    light_stems,
    stem_words,
    stemmer,
)
from vizsla.text.stemming import (
    roots as roots_of,
)

if TYPE_CHECKING:
    from vizsla.artifacts.writer import ArtifactWriter


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
    native = {LIGHTLY_STEMMED, *UNSPACED} if light else set()
    words = [] if native.issuperset(languages) else forms.take(stemmed)
    stems = [None if language in native else _stems(language, words) for language in languages]
    flags = left_out.reshape(-1), rooted is not None
    data, offsets, table = _native.fold(forms.data, forms.offsets, stemmed, stems, *flags)
    return strings_of(data, offsets), table.reshape(left_out.shape)


def _stems(language: str, words: list[str]) -> list[str]:
    """Return stems as the library has them: one may be empty, and then the form stands for itself."""
    stems: list[str] = words if language in UNSTEMMED else stemmer(language).stemWords(words)
    return stems


MAX_NGRAM_CHARS = 64


@dataclass(frozen=True)
class Analyzer:
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
    >>> Analyzer(stop_words="english")("The Café's 2 doors_open")
    ['café', '2', 'doors_open']
    >>> Analyzer("chars", min_chars=2)("東京都 港")
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
        >>> Analyzer.named("english")("Searching the indexes")
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
        """What the native tokenizer needs to know: lower, min_chars, max_chars (0 for words), each script apart."""
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
        >>> Analyzer().query_counts("to be or not to be")
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

    def settled_by(self, builder: _native.BagBuilder, surface: Strings) -> tuple[Analyzer, NDArray[np.int32]]:
        """Return the analyzer as the texts settle it, and the place of each text's language, if several."""
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
        """Store the analyzer among an artifact's files."""
        writer.json(name, self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return values | {"stop_words": list(words) if isinstance(words := self.stop_words, tuple) else words}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build an analyzer from what `to_dict` gave; anything else raises FormatError.

        Examples
        --------
        >>> Analyzer.from_dict(Analyzer(stem="german").to_dict()).stem
        'german'
        """
        names = [field.name for field in fields(cls)]
        if not isinstance(values, Mapping) or set(values) != set(names):
            raise FormatError(f"An analyzer must have the keys {', '.join(names)}. Got {values!r:.200}.")
        try:
            return cls(**values)
        except InputError as error:
            raise FormatError(f"An analyzer cannot be read: {error}") from error

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
        if not shortest <= longest <= MAX_NGRAM_CHARS:
            raise InputError(f"`max_chars` must be between {shortest} and {MAX_NGRAM_CHARS}. Got {longest}.")
        object.__setattr__(self, "min_chars", shortest)
        object.__setattr__(self, "max_chars", longest)


def _checked_stop_words(words: Any) -> str | tuple[str, ...] | None:
    if words is None:
        return None
    if isinstance(words, str):
        check_choice("stop_words", words, sorted(STOP_WORDS))
        return words
    if not is_iterable(words):
        raise InputError(f"`stop_words` must be a language or a list of words. Got {words!r}.")
    listed = tuple(words)
    for word in listed:
        if not isinstance(word, str):
            raise InputError(f"`stop_words` must hold str. Got {word!r}.")
    return listed


AUTO = "auto"
ANY_LANGUAGE = "any language"
ANY_LANGUAGE_KEYS = {"kind", "language", "content", "drop", "roots"}
ROOT_WEIGHT = 0.5
"""What an English word counts as its root."""
MAX_ITEMS_SAMPLED = 20_000
"""How many items say which languages a larger catalog is in; they lie at even distances."""
WORD_SEPARATORS = re.compile("[0-9_]")
"""What a word is cut at into parts."""


class AnyLanguage(Analyzer):
    """Words of every language: each script is cut in its own way, and each item is stemmed in its own language.

    Scripts with spaces give words. Chinese, Japanese, Korean, Thai, Lao, Khmer and Myanmar give single characters and
    pairs of neighbors. Numbers with letters or joiners (``WH-1000XM4``, ``3/8``) are found whole and in parts. Stop
    words are dropped and words stemmed in the language that an item is found to be in; a query is read in all languages
    of its catalog. English words lose their inflections only, and count by half as their roots, too, so that
    ``flexibility`` finds ``flexible``, after what says ``flexibility`` itself.

    Parameters
    ----------
    language : str or sequence of str
        "auto" finds the languages in the texts that are indexed. A language, or several with the most common first,
        settles it; an empty sequence neither drops nor stems words.
    content : sequence of str
        Stop words of one of the languages that are searched for in another (``war`` of German, in English); "auto"
        finds them too.
    drop : bool
        Whether stop words are dropped. Texts that say too little for a language to be found are read in the likeliest
        one, without that: see `vizsla.text.languages.leaning`.
    roots : bool
        Whether English words count by half as their roots.

    Examples
    --------
    >>> AnyLanguage("english")("The WH-1000XM4 headphones")
    ['wh', '1000xm4', '1000', 'xm', '4', 'wh1000xm4', 'headphon']
    >>> AnyLanguage()("东京塔 and the tower of Tokyo")
    ['东', '东京', '京', '京塔', '塔', 'tower', 'tokyo']
    >>> AnyLanguage("english")("flexible nationalities")
    ['flexibl', 'nationaliti', 'nation']
    """

    language: str | tuple[str, ...]
    content: tuple[str, ...]
    drop: bool
    roots: bool

    def __init__(
        self,
        language: str | Iterable[str] = AUTO,
        *,
        content: Iterable[str] = (),
        drop: bool = True,
        roots: bool = True,
    ):
        for name, value in (("drop", drop), ("roots", roots)):
            if not isinstance(value, bool):
                raise InputError(f"`{name}` must be True or False. Got {value!r:.60}.")
        values = {
            "kind": ANY_LANGUAGE,
            "lower": True,
            "stop_words": None,
            "stem": None,
            "min_chars": None,
            "max_chars": None,
        }
        values |= {"language": _checked(language), "content": _words(content), "drop": drop, "roots": roots}
        for name, given in values.items():
            object.__setattr__(self, name, given)  # the class is frozen

    @classmethod
    def asked_for(cls, names: str) -> Self:
        """Return the analyzer for "auto", or for names with commas between them: as they are typed on a command line.

        Examples
        --------
        >>> AnyLanguage.asked_for("german,english")
        AnyLanguage(german, english)
        """
        return cls(AUTO if names == AUTO else names.split(","))

    @property
    def settled(self) -> bool:
        """Whether the languages are known."""
        return self.language != AUTO

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages, the most common first; none while they are not known."""
        return () if isinstance(self.language, str) else self.language

    @property
    def rooted(self) -> int | None:
        """The place of English among the languages, if its words count as their roots, too."""
        return self.languages.index(LIGHTLY_STEMMED) if self.roots and LIGHTLY_STEMMED in self.languages else None

    @property
    def rule(self) -> tuple[bool, int, int, bool]:
        """What the native tokenizer needs to know."""
        return True, 0, 0, True

    @cached_property
    def dropped(self) -> frozenset[str]:
        """The tokens that are dropped in every text: stop words of any of the languages, but for `content`."""
        return listed(self.languages) - frozenset(self.content) if self.drop else frozenset()

    @property
    def skipped(self) -> frozenset[str]:
        """The tokens that are not even counted: none, for they tell languages apart."""
        return frozenset()

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of an item in their order; with "auto", in the language of this text alone."""
        tokens = self._cut(text)
        if not self.settled:
            return self.settled_by(*_read(self, text))[0](text)
        if not self.languages:
            return tokens
        column = int(self.columns(*_read(self, text))[0]) if len(self.languages) > 1 else 0
        ways = self.folded(tokens)
        read = [ways[column], ways[-1]] if column == self.rooted else [ways[column]]
        return [term for way in zip(*read, strict=True) for term in way if term is not None]

    def query_tokens(self, text: str) -> list[str]:
        """Return the tokens of a query: every term that one of its words may stand for, in one of the languages."""
        return [term for term, _ in self._asked(text)]

    def query_counts(self, text: str) -> dict[str, float]:
        """Return how much each token of a query counts: a word's root by half, unless another language reads it so.

        Examples
        --------
        >>> AnyLanguage("english").query_counts("national nations")
        {'national': 1.0, 'nation': 1.5}
        """
        counts: dict[str, float] = {}
        for term, share in self._asked(text):
            counts[term] = counts.get(term, 0.0) + share
        return counts

    def _asked(self, text: str) -> Iterator[tuple[str, float]]:
        """Yield what a query's words may stand for, each term of a word once, and what it counts."""
        if not self.settled:
            self = self.settled_by(*_read(self, text))[0]
        tokens = self._cut(text)
        root = len(self.languages)
        for way in zip(*(self.folded(tokens) if self.languages else [tokens]), strict=True):
            for place, term in enumerate(way):
                if term is not None and term not in way[:place]:
                    yield term, ROOT_WEIGHT if self.rooted is not None and place == root else 1.0

    def folded(self, forms: list[str]) -> list[list[str | None]]:
        """Return for each language the stem of each form, None for a stop word; last the roots, None where none differ.

        A form with a digit or an underscore is its own stem: it is found by its parts (`1980s`, by `1980`).
        """
        whole = [WORD_SEPARATORS.search(form) is not None for form in forms]
        found = []
        for language, stop in zip(self.languages, self._stop_words, strict=True):
            stems = zip(forms, light_stems(language, forms), whole, strict=True)
            found.append([None if form in stop else form if kept else stem for form, stem, kept in stems])
        if self.rooted is not None:
            pairs = zip(roots_of(forms), found[self.rooted], whole, strict=True)
            found.append([None if stem is None or kept or root == stem else root for root, stem, kept in pairs])
        return found

    def terms_of(self, surface: Strings) -> tuple[Strings, NDArray[np.int32]]:
        """Return the terms that many forms stand for, as `folded` has them, and a row of numbers for each form."""
        stemmed = _native.without_parts(surface.data, surface.offsets)
        return terms_of_forms(surface, self.languages, stemmed, self._stop_words, light=True, rooted=self.rooted)

    @cached_property
    def _stop_words(self) -> list[frozenset[str]]:
        """What an item in each of the languages does not hold."""
        return [self.dropped | listed([language] if self.drop else []) for language in self.languages]

    def settled_by(self, builder: _native.BagBuilder, surface: Strings) -> tuple[Self, NDArray[np.int32]]:
        """Return the analyzer with languages as the texts have them, and the language's place of each text."""
        if self.settled:
            return self, self.columns(builder, surface)
        table = evidence_of(surface)
        said = _evidence(builder, *table, most=MAX_ITEMS_SAMPLED)
        found = languages_of(said, telling_words(table))
        languages = with_likely(found, said, _latin_words(builder, surface, most=MAX_ITEMS_SAMPLED), table, surface)
        # Stop words of a language that most items only lean to are kept.
        drop = self.drop and languages[:1] == found[:1]
        if len(languages) < 2:
            return type(self)(languages, drop=drop, roots=self.roots), np.zeros(0, np.int32)
        columns = columns_of(_evidence(builder, *table), languages, _latin_words(builder, surface))
        content = content_words(builder, surface, languages, columns)
        return type(self)(languages, content=content, drop=drop, roots=self.roots), columns

    def columns(self, builder: _native.BagBuilder, surface: Strings) -> NDArray[np.int32]:
        """Return the place of each text's language; nothing where there is one at most."""
        if len(self.languages) < 2:
            return np.zeros(0, np.int32)
        said = _evidence(builder, *evidence_of(surface))
        return columns_of(said, self.languages, _latin_words(builder, surface))

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters, ready for JSON."""
        language = self.language if isinstance(self.language, str) else list(self.language)
        rest = {"content": list(self.content), "drop": self.drop, "roots": self.roots}
        return {"kind": ANY_LANGUAGE, "language": language} | rest

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build an analyzer from what `to_dict` gives, or gave before there were roots; all else raises FormatError."""
        values = {"roots": False} | values if isinstance(values, dict) else values
        if not isinstance(values, Mapping) or set(values) != ANY_LANGUAGE_KEYS or values["kind"] != ANY_LANGUAGE:
            raise FormatError(
                f"An analyzer must have the keys {', '.join(sorted(ANY_LANGUAGE_KEYS))}. Got {values!r:.200}."
            )
        try:
            return cls(values["language"], content=values["content"], drop=values["drop"], roots=values["roots"])
        except InputError as error:
            raise FormatError(f"An analyzer cannot be read: {error}") from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyLanguage) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.language, self.content, self.drop, self.roots))

    def __repr__(self) -> str:
        spoken = ", ".join(self.languages) or ("no language" if self.settled else AUTO)
        without = ("" if self.drop else ", no stop words") + ("" if self.roots else ", no roots")
        return f"AnyLanguage({spoken}{without})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.to_dict(),)

    def _cut(self, text: str) -> list[str]:
        if not isinstance(text, str):
            raise InputError(f"`text` must be a str. Got {type(text).__name__}.")
        found: list[str] = _native.tokens(text, *self.rule)
        return found


def analyzer_of(values: Mapping[str, Any]) -> Analyzer:
    """Build what `to_dict` of an Analyzer or an AnyLanguage gave; anything else raises FormatError.

    Examples
    --------
    >>> analyzer_of(AnyLanguage("english").to_dict()), analyzer_of(Analyzer().to_dict()) == Analyzer()
    (AnyLanguage(english), True)
    """
    known = isinstance(values, Mapping) and values.get("kind") == ANY_LANGUAGE
    return AnyLanguage.from_dict(values) if known else Analyzer.from_dict(values)


def _restored(values: dict[str, Any]) -> AnyLanguage:
    return AnyLanguage.from_dict(values)


def _read(analyzer: AnyLanguage, text: str) -> tuple[_native.BagBuilder, Strings]:
    builder = _native.BagBuilder(*analyzer.rule, [])
    builder.add([text])
    return builder, surface_of(builder)


def surface_of(builder: _native.BagBuilder) -> Strings:
    """Return the forms that a builder has met."""
    return strings_of(*builder.forms())


def _evidence(
    builder: _native.BagBuilder, row_of_form: NDArray[np.int32], weights: NDArray[np.int32], *, most: int = 2**31
) -> NDArray[np.int32]:
    width = weights.shape[1]
    return np.asarray(builder.evidence(row_of_form, weights.reshape(-1), width, most), np.int32).reshape(-1, width)


def _latin_words(builder: _native.BagBuilder, surface: Strings, *, most: int = 2**31) -> NDArray[np.int32]:
    """Return how many words in Latin letters each text has."""
    rows = np.where(latin_forms(surface), 0, -1).astype(np.int32)
    return _evidence(builder, rows, np.ones((1, 1), np.int32), most=most)[:, 0]


def _checked(language: object) -> str | tuple[str, ...]:
    if isinstance(language, str):
        if language == AUTO:
            return AUTO
        language = (language,)
    if not isinstance(language, Iterable):
        raise InputError(f"`language` must be 'auto', a language, or several. Got {language!r}.")
    named = tuple(np.atleast_1d(language).tolist()) if isinstance(language, np.ndarray) else tuple(language)
    for one in named:
        check_readable("language", one)
    if len(set(named)) != len(named):
        raise InputError(f"`language` must name each language once. Got {', '.join(named)}.")
    if len(named) > 1 and (strange := [one for one in named if one not in LANGUAGES]):
        known = ", ".join(LANGUAGES)
        raise InputError(f"`language` must hold such as can be told apart: {known}. Got {strange[0]!r}.")
    return named


def _words(content: Any) -> tuple[str, ...]:
    if not is_iterable(content):
        raise InputError(f"`content` must be a list of words. Got {content!r:.60}.")
    words = tuple(content)
    if not all(isinstance(word, str) for word in words):
        raise InputError("`content` must hold str. Got others.")
    return words
