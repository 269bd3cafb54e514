"""BundledModel: a model that lies inside an artefact, loaded when the first text comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.artifact import Artifact
from vizsla.encoder import Encoder
from vizsla.encoders.foreign import stored_model
from vizsla.encoders.lazy import LazyEncoder
from vizsla.encoders.model_files import check_path, unpacked
from vizsla.errors import FormatError, InputError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class BundledModel(LazyEncoder, Artifact):
    """An ONNX or sentence-transformers model with its files; no pickle is among them, and no code.

    At the first text the files are put into a temporary folder, where nothing else lies, the model is loaded from
    there, and the folder is removed. So it makes no difference what becomes of the artefact's folder meanwhile.

    Parameters
    ----------
    description : dict
        Kind ("sentence" or "onnx"), dim, fingerprint and options of the encoder.
    files : mapping of str to uint8 array
        The files' bytes by their path within the model's folder.
    """

    kind = "model"

    def __init__(self, description: dict[str, Any], files: Mapping[str, NDArray[np.uint8]]):
        super().__init__({"name": "", **description})
        self.description = {key: value for key, value in description.items() if key != "name"}
        self.files = dict(files)
        for path in self.files:
            check_path(path)

    @classmethod
    def of(cls, description: dict[str, Any], files: Mapping[str, NDArray[np.uint8]]) -> Self:
        """Take copies of a model's files, which must be those of the model that is described."""
        made = cls(description, files)
        try:
            made._load()  # the folder may have changed since the model was loaded, or while it was copied
        except FormatError as error:
            raise InputError(f"The model's files must be those of the saved one. Got others. {error}") from None
        return made

    def __repr__(self) -> str:
        size = sum(len(data) for data in self.files.values())
        return f"BundledModel({self.description['kind']}, {self.dim:,} dimensions, {size / 1e6:,.1f} MB)"

    def _load(self) -> Encoder:
        with stored_model("The model inside the artefact"), unpacked(self.files) as folder:
            encoder = self._make(folder, download=False)
            if encoder.dim != self.dim:
                raise InputError(f"The model inside the artefact must give {self.dim} numbers. Got {encoder.dim}.")
            return self._checked(encoder, "inside the artefact")  # the fingerprint is taken before the files go

    def _write(self, writer: ArtifactWriter) -> None:
        names = {path: path.replace("/", ".") for path in self.files}
        if len(set(names.values())) < len(names):
            raise InputError("A model's files must have names that differ by more than '/' and '.'. Got others.")
        writer.parameters(encoder=self.description, files=names)
        for path, data in self.files.items():
            writer.raw(names[path], data)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        names = reader.parameter("files", dict)
        if set(reader.manifest.files) != {f"{name}.raw" for name in names.values()} or reader.manifest.parents:
            raise FormatError(f"{reader.path}: expected the model's files and nothing else.")
        return cls(reader.parameter("encoder", dict), {path: reader.raw(name) for path, name in names.items()})
