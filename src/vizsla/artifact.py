"""Artifact: anything that can be saved as a folder of flat files and loaded again."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Self

from vizsla.artifacts.folder import read_folder
from vizsla.artifacts.manifest import MANIFEST
from vizsla.artifacts.reader import ArtifactReader
from vizsla.artifacts.staging import Staging
from vizsla.artifacts.writer import ArtifactWriter
from vizsla.errors import FormatError, MissingExtraError

KINDS = {
    "inverted": "vizsla.indexes.inverted:InvertedIndex",
    "tree": "vizsla.indexes.tree:TreeIndex",
    "bm25": "vizsla.methods.bm25:Bm25",
    "bm25-statistics": "vizsla.methods.bm25_statistics:Statistics",
    "xrlinear": "vizsla.methods.xrlinear.model:XrLinear",
    "dense": "vizsla.methods.dense:Dense",
    "flat": "vizsla.indexes.flat:FlatIndex",
    "hnsw": "vizsla.indexes.hnsw:HnswIndex",
    "ivf": "vizsla.indexes.ivf:IvfIndex",
    "lsa": "vizsla.encoders.lsa:LsaEncoder",
    "grouped": "vizsla.indexes.grouped:GroupedIndex",
    "pefa-xs": "vizsla.methods.pefa.xs:PefaXs",
    "pefa-xl": "vizsla.methods.pefa.xl:PefaXl",
    "vectors": "vizsla.encoders.vectors:Vectors",
    "composition": "vizsla.compose:Composition",
}
"""Where each kind of artefact is implemented; a class is imported only when one is loaded."""

# What a constructor may raise when sound files hold values that make no sense together.
_UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError)


class Artifact(ABC):
    """Something that lives in a folder with a manifest.

    A kind implements `_write` and `_read` and is listed in `KINDS`; the folder, the checksums, the atomic rename and
    the memory mapping are the same for all.
    """

    kind: ClassVar[str]

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the artefact to a folder: it is there whole, or not at all.

        Parameters
        ----------
        path : path
            The folder to make.
        overwrite : bool
            Replace an artefact that is there already, in one step: who loads meanwhile gets the old or the new one.
            Anything that is not an artefact is never replaced.
        """
        with Staging(path, overwrite=overwrite) as folder:
            ArtifactWriter(folder, self.kind).write(self)
        return Path(path)

    @classmethod
    def load(cls, path: str | Path, *, mmap: bool = True, verify: bool = True) -> Self:
        """Read an artefact of this kind.

        Parameters
        ----------
        path : path
            The folder.
        mmap : bool
            Map arrays from the file instead of copying them into memory.
        verify : bool
            Check every file's checksum. Sizes, offsets and ids are checked in any case.
        """
        return read_folder(path, lambda folder: cls._from_reader(ArtifactReader(folder, mmap=mmap, verify=verify)))

    @classmethod
    def _from_reader(cls, reader: ArtifactReader) -> Self:
        kind = class_of_kind(reader)
        if not issubclass(kind, cls):
            raise FormatError(f"{reader.path}: expected a {cls.__name__}. Got an artefact of kind {reader.kind!r}.")
        reader.check_sizes()
        try:
            artifact = kind._read(reader)
        except MissingExtraError:
            raise
        except _UNREADABLE as error:
            raise FormatError(f"{reader.path / MANIFEST}: not a sound {reader.kind!r} ({error}).") from error
        reader.verify_rest()
        return artifact

    @abstractmethod
    def _write(self, writer: ArtifactWriter) -> None:
        """Hand all files and parameters to the writer."""

    @classmethod
    @abstractmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        """Build the object from the reader's files and parameters; raise FormatError on anything odd."""


def class_of_kind(reader: ArtifactReader) -> type[Artifact]:
    """Return the class that reads this artefact."""
    if reader.kind not in KINDS:
        raise FormatError(
            f"{reader.path / MANIFEST}: unknown kind {reader.kind!r}, written by vizsla {reader.manifest.vizsla!r}. "
            f"This version reads {', '.join(sorted(KINDS))}: upgrade with pip install --upgrade vizsla."
        )
    return _class(reader.kind)


def kinds_with(method: str) -> list[str]:
    """Return the kinds whose artefacts have a method; imports all of them, so it is for messages.

    Examples
    --------
    >>> "xrlinear" in kinds_with("with_items"), "bm25" in kinds_with("save")
    (True, True)
    """
    return [kind for kind in KINDS if hasattr(_class(kind), method)]


def _class(kind: str) -> type[Artifact]:
    module, _, name = KINDS[kind].partition(":")
    found: type[Artifact] = getattr(importlib.import_module(module), name)
    return found


def load(path: str | Path, *, mmap: bool = True, verify: bool = True) -> Artifact:
    """Load whatever artefact the folder holds; see `Artifact.load`."""
    artifact: Artifact = Artifact.load(path, mmap=mmap, verify=verify)
    return artifact
