"""Vocabularies among the files of an artefact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vizsla import _native
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader


def read_vocabulary(reader: ArtifactReader, name: str) -> Strings:
    """Return a string table whose strings are UTF-8, distinct, and found by its slots; another raises ValueError."""
    strings = reader.strings(name)
    _native.check_vocabulary(strings.data, strings.offsets, strings.slots)
    return strings
