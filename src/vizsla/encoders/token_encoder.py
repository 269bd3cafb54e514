"""TokenEncoder: a text becomes as many vectors as it has tokens."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.base.encoder import Encoder
from vizsla.base.queries import Queries
from vizsla.core.sparse import are_offsets
from vizsla.errors import InputError
from vizsla.typing import Float32Array


class TokenRows:
    """The token vectors of some texts, one text's after another's.

    Parameters
    ----------
    offsets : int64 array
        Where each text's tokens begin, and where the last one's end.
    rows : float32 array, tokens × dimensions
        The vectors.

    Examples
    --------
    >>> tokens = TokenRows.of([np.ones((2, 3)), np.zeros((1, 3))], dim=3)
    >>> len(tokens), tokens.offsets.tolist(), tokens[np.array([1])].rows.tolist()
    (2, [0, 2, 3], [[0.0, 0.0, 0.0]])
    """

    def __init__(self, offsets: NDArray[np.int64], rows: Float32Array):
        self.offsets, self.rows = offsets, rows

    @classmethod
    def of(cls, parts: Sequence[NDArray[Any]], *, dim: int) -> TokenRows:
        """Join the vectors of single texts."""
        offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        rows = np.concatenate([np.zeros((0, dim), np.float32), *parts])
        return cls(offsets, np.ascontiguousarray(rows, np.float32))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def says(self) -> NDArray[np.bool_]:
        """Return which texts have a token that is more than zeros."""
        telling = np.concatenate([[0], np.cumsum(self.rows.any(axis=1))])
        return np.asarray(telling[self.offsets[1:]] > telling[self.offsets[:-1]])

    def __getitem__(self, numbers: NDArray[np.int64]) -> TokenRows:
        parts = [self.rows[self.offsets[number] : self.offsets[number + 1]] for number in numbers.tolist()]
        return TokenRows.of(parts, dim=self.rows.shape[1])


class TokenEncoder(Encoder):
    """An encoder that can also return a vector per token, before pooling."""

    @abstractmethod
    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the token vectors of query texts."""

    @abstractmethod
    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the token vectors of item texts."""

    @abstractmethod
    def query_words(self, text: str) -> list[str]:
        """Return the tokens of a query as texts, in their order."""


class QueryTokens:
    """Token vectors of a call's queries by way of `Queries.encoded`, so that they are computed once.

    Parameters
    ----------
    encoder : Encoder
        A `TokenEncoder`.
    """

    def __init__(self, encoder: Any):
        self.encoder = encoder
        self.fingerprint = f"tokens of {encoder.fingerprint}"

    def encoded(self, queries: Queries) -> TokenRows:
        """Encode the queries and check the result."""
        return checked_tokens(self.encoder, self.encoder.query_tokens(queries.texts), len(queries))


def checked_tokens(encoder: Encoder, tokens: object, count: int) -> TokenRows:
    """Return token rows if they have the right count and width and are finite; others raise."""
    what = f"Encoder {encoder.fingerprint!r} must return the token rows of {count} texts"
    if not isinstance(tokens, TokenRows) or tokens.rows.ndim != 2 or tokens.rows.shape[1] != encoder.dim:
        raise InputError(f"{what}, {encoder.dim} wide. Got others.")
    if not are_offsets(tokens.offsets, len(tokens.rows), rows=count):
        raise InputError(f"{what}. Got offsets that do not fit.")
    if not np.isfinite(tokens.rows).all():
        raise InputError(f"{what}, finite numbers. Got NaN or infinity.")
    return tokens


def check_gives_tokens(encoder: object) -> None:
    """Raise unless the encoder can give token vectors."""
    if not isinstance(encoder, TokenEncoder):
        raise InputError(
            "`encoder` must give a vector for every token, as an OnnxEncoder or a SentenceEncoder does. "
            f"Got {encoder!r}: WordEncoder(encoder) gives one for every word."
        )
