"""StringTable: a table of strings as an artefact of its own, so that the parts of a whole can share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from vizsla.artifact import Artifact
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

NAME = "strings"


class StringTable(Artifact):
    """Holds `Strings`; `writer.catalogue` and `reader.catalogue` put them in and take them out.

    Parameters
    ----------
    strings : Strings
        The table.

    Examples
    --------
    >>> StringTable(Strings.of(["fig", "pear"]))
    StringTable(2 strings)
    """

    kind = "strings"

    def __init__(self, strings: Strings):
        self.strings = strings

    def __repr__(self) -> str:
        return f"StringTable({len(self.strings):,} strings)"

    def _write(self, writer: ArtifactWriter) -> None:
        writer.strings(NAME, self.strings)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        return cls(reader.strings(NAME))
