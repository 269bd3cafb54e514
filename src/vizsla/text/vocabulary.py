"""Vocabularies: read from an artefact's files, and grown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla import _native
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader


def read_vocabulary(reader: ArtifactReader, name: str) -> Strings:
    """Return a string table whose strings are UTF-8, distinct, and found by its slots; another raises ValueError."""
    strings = reader.strings(name)
    _native.check_vocabulary(strings.data, strings.offsets, strings.slots)
    return strings


def joined(strings: Strings, more: Strings) -> Strings:
    """Return the strings followed by more; all bytes are copied as they lie.

    Examples
    --------
    >>> list(joined(Strings.of(["fig"]), Strings.of(["pear"])))
    ['fig', 'pear']
    """
    if not len(more):
        return strings
    data = np.concatenate([strings.data, more.data])
    offsets = np.concatenate([strings.offsets, more.offsets[1:] + strings.offsets[-1]])
    return Strings(data, offsets, _native.build_slots(data, offsets)[0])
