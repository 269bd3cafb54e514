"""StringTable: a table of strings as an artifact of its own, so that the parts of a whole can share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from vizsla.artifacts.artifact import Artifact
from vizsla.core.catalog import Catalog, details_of
from vizsla.core.strings import Strings
from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

STRINGS_NAME = "strings"
METADATA_NAME = "metadata"


class StringTable(Artifact):
    """Holds `Strings`; `writer.catalog` and `reader.catalog` put them in and take them out.

    A `Catalog` has its details beside it, inside this artifact.

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
        writer.strings(STRINGS_NAME, self.strings)
        if (details := details_of(self.strings)) is not None:
            writer.child(METADATA_NAME, details)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        from vizsla.data.metadata import ItemMetadata

        strings = reader.strings(STRINGS_NAME)
        if METADATA_NAME not in reader.manifest.parents:
            return cls(strings)
        details = reader.child(METADATA_NAME, ItemMetadata)
        if details.count != len(strings):
            raise FormatError(
                f"{reader.path / METADATA_NAME}: expected details of {len(strings)} items. Got {details.count}."
            )
        return cls(Catalog(strings, details))
