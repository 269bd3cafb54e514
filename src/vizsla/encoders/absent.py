"""AbsentEncoder: the encoder that a loaded retriever remembers but cannot bring back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from vizsla.encoders.token_encoder import TokenEncoder, TokenRows
from vizsla.errors import InputError
from vizsla.short_text import short_text

MOST_DIMENSIONS = 2**31 - 1
"""What column numbers can count."""


class AbsentEncoder(TokenEncoder):
    """Knows what an encoder was, and says so when a text is to be encoded.

    Parameters
    ----------
    description : dict
        Kind, dim and fingerprint of the encoder.

    Examples
    --------
    >>> AbsentEncoder({"kind": "FunctionEncoder", "dim": 3, "fingerprint": "function:mine:3"}).queries(["fig"])
    Traceback (most recent call last):
    vizsla.errors.InputError: The encoder 'function:mine:3' must be given ... `.with_encoder(encoder)`.
    """

    def __init__(self, description: dict[str, Any]):
        self.description = description
        dim, fingerprint = description.get("dim"), description.get("fingerprint")
        if type(dim) is not int or not 1 <= dim <= MOST_DIMENSIONS or not isinstance(fingerprint, str):
            raise InputError(
                f"An encoder's record must have a `fingerprint` and a `dim` from 1 to {MOST_DIMENSIONS}. Got others."
            )
        self._dim, self._fingerprint, self._bytes = dim, fingerprint, recorded_bytes(description)

    def __repr__(self) -> str:
        return short_text(f"{type(self).__name__}({self._fingerprint}", f", {self._dim:,} dimensions)")

    @property
    def dim(self) -> int:
        """The width of the absent encoder's rows."""
        return self._dim

    @property
    def fingerprint(self) -> str:
        """The absent encoder's fingerprint."""
        return self._fingerprint

    @property
    def nbytes(self) -> int:
        """Bytes of the model, as they were recorded; 0 where they were not."""
        return self._bytes

    def queries(self, texts: Sequence[str]) -> NoReturn:
        """Raise: a text cannot be encoded."""
        raise InputError(
            f"The encoder {self._fingerprint!r} must be given before texts can be encoded: it is not part of the "
            "artefact. Give it with `.with_encoder(encoder)`."
        )

    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Raise, as `queries` does."""
        self.queries(texts)

    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Raise, as `queries` does."""
        self.queries(texts)

    def query_words(self, text: str) -> list[str]:
        """Raise, as `queries` does."""
        self.queries([text])


def recorded_bytes(description: dict[str, Any]) -> int:
    """Return how many bytes a model's record says that it has; 0 where it says nothing.

    Examples
    --------
    >>> recorded_bytes({"kind": "onnx", "bytes": 90_000_000})
    90000000
    """
    size = description.get("bytes", 0)
    if type(size) is not int or not 0 <= size < 2**63:
        raise InputError(f"A model's record must have a whole number of `bytes`. Got {size!r:.50}.")
    return size
