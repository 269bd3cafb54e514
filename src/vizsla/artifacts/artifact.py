"""Artifact: anything that can be saved as a folder of flat files and loaded again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from vizsla.artifacts.atomic_folder import Staging
from vizsla.artifacts.folder import Origin, read_folder
from vizsla.artifacts.kinds import check_saveable, class_of, known_kinds, register
from vizsla.artifacts.manifest import MANIFEST
from vizsla.artifacts.reader import ArtifactReader
from vizsla.artifacts.writer import ArtifactWriter, Saving, write_provenance
from vizsla.core.validation import validate_args
from vizsla.errors import FormatError, InputError, MissingExtraError

# What a constructor may raise when sound files hold values that make no sense together.
_UNREADABLE = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RuntimeError)


class Artifact(ABC):
    """Something that lives in a folder with a manifest.

    A class with a `kind` of its own implements `_write` and `_read` and can be saved and loaded from then on; the
    folder, the checksums, the atomic rename, the memory mapping and pickling are the same for all. Artifacts are never
    changed after they are made, so a deep copy is the artifact itself.
    """

    kind: ClassVar[str]
    _home: Origin | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls):
            register(cls)

    @validate_args
    def save(
        self,
        path: str | Path,
        *,
        overwrite: bool = False,
        bundle_models: bool | str | Path | Sequence[str | Path] | None = None,
    ) -> Path:
        """Write the artifact to a folder: it is there whole, or not at all.

        Beside the manifest, `provenance.json` says when, by which version and commit and on which machine it was saved.
        It is part of no digest: equal artifacts have equal digests wherever they were made.

        Parameters
        ----------
        path : path
            The folder to make.
        overwrite : bool
            Replace an artifact that is there already, in one step: a load meanwhile gets the old or the new one.
            Anything that is not an artifact is never replaced.
        bundle_models : bool, or models' folders or hub ids, optional
            Store the models of ONNX and sentence encoders inside, so that the folder can be moved as one thing. Unless
            given, ONNX models of up to 128 MB are. A model that stays outside is named by its path or its hub id. A
            model that only a loaded artifact names is stored inside if it is given here by its folder or hub id: no
            file is copied because an artifact says so, and none through a link.
        """
        check_saveable(self)
        with Staging(path, overwrite=overwrite) as folder:
            saving = Saving.of(folder, bundle_models)
            digest = ArtifactWriter(folder, self.kind, saving=saving).write(self)
            saving.check_copied()
            write_provenance(folder, digest, getattr(self, "items", None))
        object.__setattr__(self, "_home", Origin.of(path, digest))  # a kind may be a frozen dataclass
        return Path(path)

    @classmethod
    @validate_args
    def load(cls, path: str | Path, *, mmap: bool = True, verify: bool = True) -> Self:
        """Read an artifact of this kind.

        Parameters
        ----------
        path : path
            The folder.
        mmap : bool
            Map arrays from the file instead of copying them into memory.
        verify : bool
            Check every file's checksum. Sizes, offsets and ids are checked in any case.
        """
        return read_folder(path, lambda folder: cls._at_home(ArtifactReader(folder, mmap=mmap, verify=verify)))

    @classmethod
    def _at_home(cls, reader: ArtifactReader) -> Self:
        artifact = cls._from_reader(reader)
        object.__setattr__(artifact, "_home", Origin.of(reader.path, reader.manifest.digest))
        return artifact

    @classmethod
    def _from_reader(cls, reader: ArtifactReader) -> Self:
        kind = class_of_kind(reader)
        if not issubclass(kind, cls):
            raise FormatError(f"{reader.path}: expected a {cls.__name__}. Got an artifact of kind {reader.kind!r}.")
        reader.check_sizes()
        try:
            artifact = kind._read(reader)
            artifact._restore(reader.manifest.parameters)
        except MissingExtraError:
            raise
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error
        except _UNREADABLE as error:
            raise FormatError(f"{reader.path / MANIFEST}: not a sound {reader.kind!r} ({error}).") from error
        reader.verify_rest()
        return artifact

    @classmethod
    def _reads(cls, other: type[Artifact]) -> bool:
        """Whether `_read` gives back an object of the other class: its own, unless a kind stands for several."""
        return other is cls

    def _noted(self) -> dict[str, Any]:
        """Return parameters that the manifest keeps beside those of `_write`."""
        return {}

    def _restore(self, parameters: dict[str, Any]) -> None:
        """Take what `_noted` gave from the manifest."""
        return

    @abstractmethod
    def _write(self, writer: ArtifactWriter) -> None:
        """Hand all files and parameters to the writer."""

    @classmethod
    @abstractmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        """Build the object from the files and parameters; what its constructor refuses becomes a FormatError."""

    def __reduce__(self) -> tuple[Any, ...]:
        from vizsla.artifacts.pickling import reduced

        return reduced(self, self._home)

    def __copy__(self) -> Self:
        """Return a new object with the same parts, for methods that return a changed twin: it lives in no folder."""
        twin = object.__new__(type(self))
        vars(twin).update({name: value for name, value in vars(self).items() if name != "_home"})
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def class_of_kind(reader: ArtifactReader) -> type[Artifact]:
    """Return the class that reads this artifact."""
    found = class_of(reader.kind)
    if found is None:
        raise FormatError(
            f"{reader.path / MANIFEST}: unknown kind {reader.kind!r}, written by vizsla {reader.manifest.vizsla!r}. "
            f"Known are {', '.join(known_kinds())}: import the module that defines the kind, or upgrade with "
            "pip install --upgrade vizsla."
        )
    return found


def load(path: str | Path, *, mmap: bool = True, verify: bool = True) -> Artifact:
    """Load whatever artifact the folder holds; see `Artifact.load`."""
    artifact: Artifact = Artifact.load(path, mmap=mmap, verify=verify)
    return artifact
