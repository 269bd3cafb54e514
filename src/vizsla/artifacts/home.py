"""Home: the folder that an artefact was saved to or loaded from, and what it held then."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, Self

from vizsla.artifacts.folder import read_folder
from vizsla.errors import FormatError


class Home(NamedTuple):
    """A folder, and the digest of the manifest it had.

    Parameters
    ----------
    path : str
        The folder, from the root of the file system.
    digest : str
        See `Manifest.digest`.
    """

    path: str
    digest: str

    @classmethod
    def of(cls, path: str | Path, digest: str) -> Self:
        """Remember a folder, whatever the working folder becomes."""
        return cls(str(Path(path).absolute()), digest)

    def stands(self) -> bool:
        """Whether the folder still holds what it held."""
        try:
            return read_folder(self.path, lambda folder: folder.manifest().digest) == self.digest
        except FormatError:
            return False
