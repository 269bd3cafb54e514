"""WordPiece in plain Python, for ASCII: what the native one must do, written the slow way."""

from __future__ import annotations

import string

UNKNOWN = "[UNK]"


def words(text: str, *, lower: bool = True) -> list[str]:
    """Return words and single punctuation marks; control characters go, white space separates."""
    kept = "".join(" " if c in "\t\n\r" else c for c in text if c in "\t\n\r" or (ord(c) >= 32 and ord(c) != 127))
    spaced = "".join(f" {c} " if c in string.punctuation else c for c in kept)
    return (spaced.lower() if lower else spaced).split(" ")


def pieces(word: str, vocabulary: set[str], *, longest: int = 100) -> list[str]:
    """Return the longest pieces from the left, or the unknown token."""
    found, start = [], 0
    while start < len(word):
        ends = range(len(word), start, -1)
        piece = next((p for end in ends if (p := ("##" if start else "") + word[start:end]) in vocabulary), None)
        if piece is None or len(word) > longest:
            return [UNKNOWN]
        found.append(piece)
        start += len(piece) - (2 if start else 0)
    return found


def tokens(text: str, vocabulary: set[str], *, lower: bool = True) -> list[str]:
    """Return all tokens of an ASCII text without special ones."""
    return [piece for word in words(text, lower=lower) if word for piece in pieces(word, vocabulary)]
