"""Vocabularies of WordPiece tokenizers: `vocab.txt`, `tokenizer.json`, or learned from texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vizsla.encoder import check_texts
from vizsla.errors import DataError, InputError
from vizsla.extra import import_extra
from vizsla.text.texts import batches

NAMES = ("tokenizer.json", "vocab.txt")


def tokenizer_file(path: str | Path) -> Path:
    """Return the file itself, or that of a folder; none raises."""
    given = Path(path)
    if given.is_dir():
        found = next((given / name for name in NAMES if (given / name).is_file()), None)
        if found is None:
            raise InputError(f"`path` must hold {' or '.join(NAMES)}. Got {given}, which has neither.")
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
