"""Giving an encoder back to whatever was built with it, however deep it lies in a composition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.encoder import Encoder

T = TypeVar("T")


def given_encoder(part: T, encoder: Encoder) -> T:
    """Return the part with the encoder where it was built with it; any other part as it is."""
    if encoder.fingerprint not in fingerprints(part) or not hasattr(part, "with_encoder"):
        return part
    given: T = part.with_encoder(encoder)
    return given


def check_wanted(part: object, encoder: Encoder) -> None:
    """Raise unless something in the part was built with an encoder of this fingerprint."""
    wanted = list(dict.fromkeys(fingerprints(part)))
    if encoder.fingerprint not in wanted:
        raise InputError(
            f"`encoder` must be one that {part!r} was built with ({', '.join(map(repr, wanted)) or 'it has none'}). "
            f"Got {encoder.fingerprint!r}: build anew for another encoder."
        )


def fingerprints(part: Any) -> Iterator[str]:
    """Yield the fingerprints of the encoders of a retriever and of its parts.

    Examples
    --------
    >>> from vizsla.methods.bm25 import bm25
    >>> search = bm25(["a fig tree"])
    >>> set(fingerprints(search % 5)) == {search.encoder.fingerprint}
    True
    """
    encoder = getattr(part, "encoder", None)
    if encoder is not None:
        yield encoder.fingerprint
    inner = part._scorers() if hasattr(part, "_scorers") else [getattr(part, "base", None)]
    for each in inner:
        if each is not None:
            yield from fingerprints(each)
