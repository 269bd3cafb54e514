"""WordPiece: texts cut into the pieces of a fixed vocabulary, with the same ids as BERT's tokenizers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property, import_extra
from vizsla.base.encoder import check_texts
from vizsla.core.strings import Strings
from vizsla.core.validation import check_unicode, validate_args
from vizsla.errors import DataError, FormatError, InputError, check_positive
from vizsla.text.analyzers import Analyzer
from vizsla.text.streams import batches, call_with
from vizsla.typing import Int64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

VOCABULARY_FILES = ("tokenizer.json", "vocab.txt")


def tokenizer_file(path: str | Path) -> Path:
    """Return the file itself, or that of a folder; none raises."""
    given = Path(path)
    if given.is_dir():
        found = next((given / name for name in VOCABULARY_FILES if (given / name).is_file()), None)
        if found is None:
            raise InputError(f"`path` must hold {' or '.join(VOCABULARY_FILES)}. Got {given}, which has neither.")
        return found
    if not given.is_file():
        raise InputError(f"`path` must be a vocab.txt, a tokenizer.json, or a folder with one. Got {given}.")
    return given


def read_vocab_txt(path: Path) -> list[str]:
    """Return the tokens, one a line."""
    lines = _text(path).split("\n")  # other line ends may be tokens
    if lines and lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_tokenizer_json(path: Path) -> dict[str, Any]:
    """Return what `WordPiece` is made of; a tokenizer of another kind raises."""
    try:
        values = json.loads(_text(path))
        model, cleaning = values["model"], values["normalizer"]
        vocabulary, added = dict(model["vocab"]), list(values.get("added_tokens", []))
        _check(path, model.get("type", "WordPiece") == "WordPiece", "a model of type WordPiece")
        _check(path, cleaning["type"] == "BertNormalizer", "a BertNormalizer")
        _check(path, values["pre_tokenizer"]["type"] == "BertPreTokenizer", "a BertPreTokenizer")
        _check(path, cleaning.get("clean_text", True) is True, "a normalizer that cleans texts")
        return {
            "tokens": _tokens(path, vocabulary, added),
            "lower": cleaning.get("lowercase", True),
            "strip_accents": cleaning.get("strip_accents"),
            "split_ideographs": cleaning.get("handle_chinese_chars", True),
            "prefix": model.get("continuing_subword_prefix", "##"),
            "unknown": model.get("unk_token", "[UNK]"),
            "special": [token["content"] for token in added],
            "max_chars": model.get("max_input_chars_per_word", 100),
        }
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, InputError | DataError):
            raise
        raise DataError(f"not a tokenizer ({error!r:.100}).", path=str(path)) from error


def trained_tokens(texts: Iterable[str], *, size: int, lower: bool) -> list[str]:
    """Learn a vocabulary with `tokenizers`; ids are as it numbers them."""
    tokenizers: Any = import_extra("tokenizers", "Learning a vocabulary", "onnx")
    bert = tokenizers.BertWordPieceTokenizer(lowercase=lower)
    flat = (text for batch in batches(texts) for text in check_texts(batch))
    bert.train_from_iterator(flat, vocab_size=size, show_progress=False)
    found: dict[str, int] = bert.get_vocab()
    return sorted(found, key=found.__getitem__)


def _tokens(path: Path, vocabulary: dict[str, int], added: list[dict[str, Any]]) -> list[str]:
    for token in added:
        plain = token.get("special") and not token.get("normalized") and not token.get("single_word")
        _check(path, bool(plain), f"added tokens that are special and found as written, not {token['content']!r}")
        vocabulary.setdefault(token["content"], token["id"])
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    _check(path, [vocabulary[token] for token in tokens] == list(range(len(tokens))), "ids from 0 on, each once")
    return tokens


def _check(path: Path, holds: bool, wanted: str) -> None:
    if not holds:
        raise InputError(f"`path` must be a BERT-like tokenizer, with {wanted}. Got {path}.")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig" if path.suffix == ".json" else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"not valid UTF-8 ({error.reason}).", path=str(path)) from None


SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""BERT's own: found in a text as they are written, and never counted."""
MAX_WORD_CHARS = 10_000
Ids = tuple[NDArray[np.int64], NDArray[np.int32]]


class WordPiece(Analyzer):
    """An analyzer whose tokens are the pieces of a vocabulary, as BERT's uncased and cased tokenizers cut them.

    Control characters go; accents and capitals too, when `lower`; punctuation and Chinese characters are words of their
    own. A word becomes the longest pieces that the vocabulary has, from the left; one that cannot be cut, or that has
    more than 100 characters, is unknown. Any language works that the vocabulary covers.

    Parameters
    ----------
    tokens : sequence of str
        The vocabulary: a token's id is its place.
    lower : bool
        Lower-case, as uncased models do.
    strip_accents : bool, optional
        Leave accents out; as `lower` says unless given.
    split_ideographs : bool
        Make every Chinese character a word of its own.
    prefix : str
        Prefix of tokens that continue a word.
    unknown : str
        The token of a word that cannot be cut.
    special : sequence of str, optional
        Tokens that are found in a text as they are written; those of BERT that the vocabulary has unless given.
    max_chars : int
        A longer word is unknown.

    Examples
    --------
    >>> pieces = WordPiece(["[UNK]", "un", "##aff", "##able", "fig", "!"])
    >>> pieces("Unaffable FIG!")
    ['un', '##aff', '##able', 'fig', '!']
    >>> pieces.ids(["a fig"])[1].tolist()
    [0, 4]
    """

    @validate_args
    def __init__(
        self,
        tokens: Sequence[str],
        *,
        lower: bool = True,
        strip_accents: bool | None = None,
        split_ideographs: bool = True,
        prefix: str = "##",
        unknown: str = "[UNK]",
        special: Iterable[str] | None = None,
        max_chars: int = 100,
    ):
        check_unicode("prefix", prefix)
        table = tokens if isinstance(tokens, Strings) else Strings.unique(tokens, what="token")
        strip = lower if strip_accents is None else strip_accents
        for name, flag in (("lower", lower), ("strip_accents", strip), ("split_ideographs", split_ideographs)):
            if not isinstance(flag, bool):
                raise InputError(f"`{name}` must be True or False. Got {flag!r}.")
        if check_positive("max_chars", max_chars) > MAX_WORD_CHARS:
            raise InputError(f"`max_chars` must be at most {MAX_WORD_CHARS}. Got {max_chars}.")
        chosen = [token for token in SPECIAL_TOKENS if token in table] if special is None else list(special)
        values = {"kind": "wordpiece", "lower": lower, "stop_words": None, "stem": None, "min_chars": None}
        values |= {"max_chars": None, "_table": table, "strip_accents": strip, "unknown": unknown}
        values |= {"split_ideographs": split_ideographs, "prefix": prefix, "longest": max_chars}
        values["special"] = tuple(chosen)
        for name, value in values.items():
            object.__setattr__(self, name, value)  # the class is frozen
        object.__setattr__(self, "_model", self._made())

    strip_accents: bool
    split_ideographs: bool
    prefix: str
    unknown: str
    special: tuple[str, ...]
    longest: int
    _table: Strings
    _model: _native.WordPiece

    @property
    def vocabulary(self) -> Strings:
        """The tokens by id."""
        return self._table

    @classmethod
    def open(cls, path: str | Path, *, lower: bool | None = None) -> Self:
        """Read a `vocab.txt`, a `tokenizer.json`, or a model's folder that has one of them.

        Parameters
        ----------
        path : path
            The file or folder.
        lower : bool, optional
            For a `vocab.txt`, whether the model is uncased (True unless given); a `tokenizer.json` says it itself.

        Examples
        --------
        >>> from tempfile import mkdtemp
        >>> file = Path(mkdtemp()) / "vocab.txt"
        >>> _ = file.write_text("[UNK]\\nfig\\n##s\\n")
        >>> WordPiece.open(file)("Figs")
        ['fig', '##s']
        """

        file = tokenizer_file(path)
        if file.suffix != ".json":
            return cls(read_vocab_txt(file), lower=True if lower is None else lower)
        if lower is not None:
            raise InputError(f"`lower` must be left out for a tokenizer.json, which says it itself. Got {lower!r}.")
        return cls(**read_tokenizer_json(file))

    @classmethod
    def train(cls, texts: Iterable[str], *, size: int = 30_000, lower: bool = True) -> Self:
        """Learn a vocabulary from texts, in any language; needs the extra `onnx`, which brings `tokenizers`.

        Parameters
        ----------
        texts : iterable of str
            The catalog's texts, read once.
        size : int
            How many tokens at most.
        lower : bool
            Leave out capitals and accents.
        """

        return cls(trained_tokens(texts, size=check_positive("size", size), lower=lower), lower=lower)

    def __call__(self, text: str) -> list[str]:
        """Return the tokens of a text in their order."""
        if not isinstance(text, str):
            raise InputError(f"`text` must be a str. Got {type(text).__name__}.")
        return self.vocabulary.take(self.ids([text])[1])

    def ids(self, texts: Sequence[str]) -> Ids:
        """Return all tokens' ids, one text after another, and where each text's begin.

        They are those that Hugging Face `tokenizers` gives without adding special tokens.

        Returns
        -------
        offsets : int64 array
            One more than there are texts.
        ids : int32 array
            In their order.
        """
        offsets, ids = self._model.ids(check_texts(texts))
        return np.frombuffer(offsets, np.int64), np.frombuffer(ids, np.int32)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the tokens, their order, and every rule."""
        text = repr((self.vocabulary.fingerprint, self._rules)).encode()
        return f"wordpiece:{_native.checksum(np.frombuffer(text, np.uint8)):016x}"

    @property
    def dropped(self) -> frozenset[str]:
        """No stop words: what a token says, its weight tells."""
        return frozenset()

    def to_dict(self) -> dict[str, Any]:
        """Return the rules and the vocabulary's checksum, ready for JSON."""
        return {"kind": self.kind, "fingerprint": self.fingerprint} | self._rules

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Refuse: the vocabulary is stored in arrays of its own."""
        raise FormatError(f"A WordPiece analyzer must be read with its vocabulary. Got {values!r:.200} alone.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordPiece) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"WordPiece({len(self.vocabulary):,} tokens, {'uncased' if self.lower else 'cased'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.vocabulary, self._rules)

    def write(self, writer: ArtifactWriter, name: str) -> None:
        """Store rules and vocabulary among an artifact's files."""
        writer.json(name, self.to_dict())
        writer.strings("pieces", self.vocabulary)

    @classmethod
    def read(cls, reader: ArtifactReader, values: Mapping[str, Any]) -> Self:
        """Read what `write` stored."""
        from vizsla.text.bag_of_words import read_vocabulary

        rules = {name: values[name] for name in values if name not in ("kind", "fingerprint")}
        try:
            made = cls(read_vocabulary(reader, "pieces"), **rules)
        except (TypeError, ValueError) as error:
            raise FormatError(f"{reader.path}: not a sound WordPiece analyzer ({error}).") from error
        if made.fingerprint != values.get("fingerprint"):
            raise FormatError(f"{reader.path}: the vocabulary is not that of the analyzer.")
        return made

    @property
    def _rules(self) -> dict[str, Any]:
        return {
            "lower": self.lower,
            "strip_accents": self.strip_accents,
            "split_ideographs": self.split_ideographs,
            "prefix": self.prefix,
            "unknown": self.unknown,
            "special": list(self.special),
            "max_chars": self.longest,
        }

    def _lookup(self, forms: Strings, term_of_form: NDArray[np.int32]) -> _Lookup:
        return _Lookup(self._model)

    def _made(self) -> _native.WordPiece:
        unknown = self.vocabulary.find(self.unknown)
        if unknown < 0:
            raise InputError(f"`unknown` must be a token of the vocabulary. Got {self.unknown!r}.")
        special = self.vocabulary.find_all(self.special)
        if (special < 0).any():
            lacking = self.special[int(np.argmin(special))]
            raise InputError(f"`special` must hold tokens of the vocabulary. Got {lacking!r}.")
        table = self.vocabulary
        rules = self.prefix, self.lower, self.strip_accents, self.split_ideographs, self.longest
        return _native.WordPiece(table.data, table.offsets, table.slots, special.astype(np.int32), unknown, *rules)


class _Lookup:
    """Counts of tokens for a BagOfWords, in the shape of the native look-up of words: nothing is unknown."""

    def __init__(self, model: _native.WordPiece):
        self._model = model

    def rows(self, texts: list[str]) -> tuple[bytes, bytes, bytes, tuple[str, ...]]:
        return (*call_with(self._model.rows, texts), ())


def _restored(tokens: Strings, rules: dict[str, Any]) -> WordPiece:
    return WordPiece(tokens, **rules)


def sequences(pieces: WordPiece, texts: Sequence[str], max_tokens: int) -> list[Int64Array]:
    """Return each text's ids between [CLS] and [SEP], `max_tokens` at most.

    Examples
    --------
    >>> pieces = WordPiece(["[UNK]", "[CLS]", "[SEP]", "fig"])
    >>> [row.tolist() for row in sequences(pieces, ["fig fig fig", ""], 4)]
    [[1, 3, 3, 2], [1, 2]]
    """
    first, last = pieces.vocabulary.find_all(["[CLS]", "[SEP]"]).tolist()
    if first < 0 or last < 0:
        raise InputError("The vocabulary must have [CLS] and [SEP]. Got another: SiDR reads BERT's.")
    offsets, ids = pieces.ids(texts)
    ends = np.minimum(offsets[1:], offsets[:-1] + max_tokens - 2)
    spans = zip(offsets[:-1].tolist(), ends.tolist(), strict=True)
    return [np.concatenate([[first], ids[start:end], [last]]).astype(np.int64) for start, end in spans]
