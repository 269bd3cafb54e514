"""How an artefact remembers its cross-encoder: the model's files inside it, or its name and fingerprint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.encoders.absent import recorded_bytes
from vizsla.encoders.download import download_allowed
from vizsla.encoders.foreign import stored_model
from vizsla.encoders.model_files import check_path, files_to_store, unpacked
from vizsla.encoders.reference import from_here, from_root
from vizsla.errors import FormatError, InputError
from vizsla.forking.lock import ForkLock
from vizsla.pairs.pair_model import Floats, PairModel
from vizsla.short_text import short_text

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

Files = dict[str, NDArray[np.uint8]]
OPTIONS: dict[str, dict[str, type]] = {
    "onnx": {"max_tokens": int},
    "torch": {"max_tokens": int, "form": str, "layers": int},
}


def write_pair_model(writer: ArtifactWriter, model: PairModel) -> None:
    """Store the model's files where that is wanted, and how to find the model in any case."""
    described = {**model.reference, "fingerprint": model.fingerprint}
    files = model.files if isinstance(model, StoredPairModel) and model.files else _files(model, described, writer)
    names = {path: path.replace("/", ".") for path in files}
    if len(set(names.values())) < len(names):
        raise InputError("A model's files must have names that differ by more than '/' and '.'. Got others.")
    if files:
        described = described | {"name": ""}
    writer.parameters(model=from_here(described, writer.saving, kinds=tuple(OPTIONS)), files=names)
    for path, data in files.items():
        writer.raw(names[path], data)


def read_pair_model(reader: ArtifactReader) -> StoredPairModel:
    """Return the model, which is loaded when the first pair comes."""
    names = reader.parameter("files", dict)
    if not all(isinstance(path, str) and isinstance(name, str) for path, name in names.items()):
        raise FormatError(f"{reader.path}: the names of a model's files must be texts.")
    described = from_root(reader.parameter("model", dict), reader.loading.root.path)
    return StoredPairModel(described, {path: reader.raw(name) for path, name in names.items()})


class StoredPairModel(PairModel):
    """A cross-encoder that an artefact holds or names; only used if it is the one that was saved.

    Nothing is downloaded because an artefact says so, unless `VIZSLA_DOWNLOAD=1` is in the environment.

    Parameters
    ----------
    described : dict
        Kind ("onnx" or "torch"), name, options and fingerprint.
    files : mapping of str to uint8 array
        The model's files by their path; none where it lies outside.
    """

    def __init__(self, described: dict[str, Any], files: Files):
        kind, options = described.get("kind"), described.get("options")
        known = OPTIONS.get(kind) if isinstance(kind, str) else None
        if known is None or not isinstance(options, dict) or set(options) - set(known):
            raise InputError("A cross-encoder's record must have kind and options that are known. Got others.")
        if any(type(value) is not known[name] for name, value in options.items()):
            raise InputError("A cross-encoder's options must be of their types. Got others.")
        if not isinstance(described.get("name"), str) or not isinstance(described.get("fingerprint"), str):
            raise InputError("A cross-encoder's record must have a name and a fingerprint. Got another.")
        if "\0" in described["name"]:
            raise InputError("A model's name must be one that a folder can have. Got a NUL character in it.")
        for path in files:
            check_path(path)
        self._described, self.files, self._bytes = described, files, recorded_bytes(described)
        self._model: PairModel | None = None
        self._lock = ForkLock()

    def __repr__(self) -> str:
        where = "inside the artefact" if self.files else self._described["name"]
        return short_text(f"StoredPairModel({self._described['kind']}, {where}", ")")

    @property
    def fingerprint(self) -> str:
        """That of the model which was saved."""
        return str(self._described["fingerprint"])

    @property
    def nbytes(self) -> int:
        """Bytes of the model, as they were recorded; 0 where they were not."""
        return self._bytes

    @property
    def reference(self) -> dict[str, Any]:
        """What an artefact remembers."""
        return {name: self._described[name] for name in ("kind", "name", "options", "bytes") if name in self._described}

    def scores(self, queries: Any, texts: Any) -> Floats:
        """Let the model itself score the pairs."""
        return self.loaded().scores(queries, texts)

    def score_batch(self, queries: list[str], texts: list[str]) -> Floats:
        """Let the model itself score a few pairs."""
        return self.loaded().score_batch(queries, texts)

    def loaded(self) -> PairModel:
        """Return the model itself."""
        with self._lock:
            if self._model is None:
                self._model = self._checked()
            return self._model

    def _checked(self) -> PairModel:
        if not self.files:
            return self._same(self._made(self._described["name"], download=download_allowed()))
        with stored_model("The model inside the artefact"), unpacked(self.files) as folder:
            return self._same(self._made(folder, download=False))  # the fingerprint is taken before the files go

    def _same(self, model: PairModel) -> PairModel:
        if model.fingerprint != self.fingerprint:
            raise InputError(
                f"The model must be the one that was saved ({self.fingerprint!r}). Got {model.fingerprint!r}."
            )
        return model

    def _made(self, name: str, *, download: bool) -> PairModel:
        options = self._described["options"]
        if self._described["kind"] == "onnx":
            from vizsla.pairs.onnx_pairs import OnnxPairModel

            return OnnxPairModel(name, **options)
        from vizsla.pairs.torch_pairs import TorchPairModel

        return TorchPairModel(name, download=download, **options)


def _files(model: PairModel, described: dict[str, Any], writer: ArtifactWriter) -> Files:
    """Return the files to be stored inside: those of small ONNX models, unless the user says otherwise."""
    kind, named = described["kind"], isinstance(model, StoredPairModel)
    if writer.saving.bundle_models is None and not named and kind != "onnx":
        return {}
    reads = "onnx" if kind == "onnx" else "sentence"
    files = files_to_store(reads, described["name"], writer.saving, named_by_artifact=named)
    if files:  # the folder may have changed since the model was loaded, or while it was copied
        try:
            StoredPairModel(described, files).loaded()
        except FormatError as error:
            raise InputError(f"The model's files must be those of the saved one. Got others. {error}") from None
    return files or {}
