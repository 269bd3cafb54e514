"""Limits of what is read at a time, so that a small packed file cannot fill the memory."""

from __future__ import annotations

import os

from vizsla.errors import InputError

VARIABLE = "VIZSLA_MAX_RECORD_MB"
DEFAULT_MB = 8
DOCUMENT_RECORDS = 4
"""A document of a folder may be as long as so many records."""
DENSEST = 50
SMALL = 64 << 20


def max_record_bytes() -> int:
    """Return how long a line or a record may be: 8 MiB, or what `VIZSLA_MAX_RECORD_MB` says.

    A packed file may be of any length, since it is read piece by piece. What must be held in memory as a whole is one
    record: one that never ends is a decompression bomb.
    """
    said = os.environ.get(VARIABLE, "")
    if not said:
        return DEFAULT_MB << 20
    if not said.isascii() or not said.isdigit() or not 0 < int(said[:9]) <= 1 << 20:
        raise InputError(f"{VARIABLE} must be a whole number of megabytes above 0. Got {said!r:.40}.")
    return int(said) << 20


def max_document_bytes() -> int:
    """Return how long a document of a folder may be: four records."""
    return DOCUMENT_RECORDS * max_record_bytes()


def is_bomb(stored: int, unpacked: int) -> bool:
    """Whether a packed file says to hold far more than matrices of numbers can be packed into so few bytes.

    Examples
    --------
    >>> is_bomb(1 << 20, 1 << 30), is_bomb(1 << 20, 1 << 25)
    (True, False)
    """
    return unpacked > SMALL and unpacked > DENSEST * stored
