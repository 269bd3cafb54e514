"""WordPiece: texts cut into the pieces of a fixed vocabulary, with the same ids as BERT's tokenizers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.arguments import check_unicode
from vizsla.cached_property import cached_property
from vizsla.checked import checked
from vizsla.encoder import check_texts
from vizsla.errors import FormatError, InputError, check_positive
from vizsla.strings import Strings
from vizsla.text.analyser import Analyser
from vizsla.text.texts import call_with

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""BERT's own: found in a text as they are written, and never counted in a bag."""
MOST_CHARS = 10_000
Ids = tuple[NDArray[np.int64], NDArray[np.int32]]


class WordPiece(Analyser):
    """An analyser whose tokens are the pieces of a vocabulary, as BERT's uncased and cased tokenizers cut them.

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
        What a token begins with that continues a word.
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

    @checked
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
        if check_positive("max_chars", max_chars) > MOST_CHARS:
            raise InputError(f"`max_chars` must be at most {MOST_CHARS}. Got {max_chars}.")
        chosen = [token for token in SPECIAL if token in table] if special is None else list(special)
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
        from vizsla.text.wordpiece_files import read_tokenizer_json, read_vocab_txt, tokenizer_file

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
            The catalogue's texts, read once.
        size : int
            How many tokens at most.
        lower : bool
            Leave out capitals and accents.
        """
        from vizsla.text.wordpiece_files import trained_tokens

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
        raise FormatError(f"A WordPiece analyser must be read with its vocabulary. Got {values!r:.200} alone.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordPiece) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"WordPiece({len(self.vocabulary):,} tokens, {'uncased' if self.lower else 'cased'})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.vocabulary, self._rules)

    def write(self, writer: ArtifactWriter, name: str) -> None:
        """Store rules and vocabulary among an artefact's files."""
        writer.json(name, self.to_dict())
        writer.strings("pieces", self.vocabulary)

    @classmethod
    def read(cls, reader: ArtifactReader, values: Mapping[str, Any]) -> Self:
        """Read what `write` stored."""
        from vizsla.text.vocabulary import read_vocabulary

        rules = {name: values[name] for name in values if name not in ("kind", "fingerprint")}
        try:
            made = cls(read_vocabulary(reader, "pieces"), **rules)
        except (TypeError, ValueError) as error:
            raise FormatError(f"{reader.path}: not a sound WordPiece analyser ({error}).") from error
        if made.fingerprint != values.get("fingerprint"):
            raise FormatError(f"{reader.path}: the vocabulary is not that of the analyser.")
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
    """Counts of tokens for a bag, in the shape of the native look-up of words: nothing is unknown."""

    def __init__(self, model: _native.WordPiece):
        self._model = model

    def rows(self, texts: list[str]) -> tuple[bytes, bytes, bytes, tuple[str, ...]]:
        return (*call_with(self._model.rows, texts), ())


def _restored(tokens: Strings, rules: dict[str, Any]) -> WordPiece:
    return WordPiece(tokens, **rules)
