"""How an artefact remembers its encoder: inside it if it can be saved, by name and fingerprint otherwise."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla.artifact import Artifact
from vizsla.encoder import Encoder
from vizsla.encoders.absent import AbsentEncoder
from vizsla.encoders.lazy import MODELS, LazyEncoder
from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.saving import Saving
    from vizsla.artifacts.writer import ArtifactWriter

NAME = "encoder"


def write_encoder(writer: ArtifactWriter, encoder: Encoder, *, name: str = NAME) -> None:
    """Store an encoder that is an artefact as a child, and a model if that is wanted; of any other, how to find it."""
    inside = encoder if isinstance(encoder, Artifact) else _bundled(encoder, writer.saving)
    if inside is None:
        writer.parameters(**{name: from_here(describe(encoder), writer.saving), f"{name}_saved": False})
        return
    writer.parameters(**{name: describe(inside), f"{name}_saved": True})
    writer.child(name, inside)


def describe(encoder: Any) -> dict[str, Any]:
    """Return kind, width, fingerprint, and whatever else the encoder says is needed to make it again.

    Examples
    --------
    >>> from vizsla.encoder import FunctionEncoder
    >>> describe(FunctionEncoder(lambda texts: [[1.0] for _ in texts], dim=1, name="ones"))
    {'kind': 'FunctionEncoder', 'dim': 1, 'fingerprint': 'function:ones:1'}
    """
    if isinstance(encoder, AbsentEncoder):
        return encoder.description
    basics = {"kind": type(encoder).__name__, "dim": encoder.dim, "fingerprint": encoder.fingerprint}
    reference: dict[str, Any] = getattr(encoder, "reference", {})
    return {**basics, **reference}


def read_encoder(reader: ArtifactReader, *, name: str = NAME) -> Encoder:
    """Return the encoder, or one that only knows its name and raises when it is asked to encode."""
    description = reader.parameter(name, dict)
    if reader.parameter(f"{name}_saved", bool):
        child = reader.child(name)
        if not isinstance(child, Encoder) or describe(child) != description:
            raise FormatError(f"{reader.path / name}: not the encoder that the manifest describes.")
        return child
    if description.get("kind") not in MODELS:
        return AbsentEncoder(description)
    return LazyEncoder(from_root(description, reader.loading.root.path))


def _bundled(encoder: Encoder, saving: Saving) -> Artifact | None:
    """Return the encoder's model as an artefact, if it is one and is to be stored inside."""
    description = describe(encoder)
    kind, name = description.get("kind"), description.get("name")
    if kind not in MODELS or not isinstance(name, str):
        return None
    from vizsla.encoders.bundled import BundledModel
    from vizsla.encoders.model_files import files_to_store

    named = isinstance(encoder, LazyEncoder)
    if saving.bundle_models is None and not named and kind != "onnx":
        return None
    files = files_to_store(kind, name, saving, named_by_artifact=named)
    return None if files is None else saving.stand_in(encoder, lambda: BundledModel.of(description, files))


def from_here(description: dict[str, Any], saving: Saving, kinds: tuple[str, ...] = MODELS) -> dict[str, Any]:
    """Name a model's folder by the way from the artefact, where some folder is around both."""
    name = description.get("name")
    if description.get("kind") not in kinds or not isinstance(name, str) or not Path(name).is_absolute():
        return description
    root = os.path.realpath(saving.root)
    if not saving.lasting or os.path.commonpath([root, os.path.realpath(name)]) == os.sep:
        return description
    others = {key: value for key, value in description.items() if key != "name"}
    return {**others, "path": os.path.relpath(os.path.realpath(name), root)}


def from_root(description: dict[str, Any], root: Path) -> dict[str, Any]:
    """Return a description that `from_here` made, with the name of the model's folder on this machine."""
    path = description.get("path")
    if not isinstance(path, str) or "\0" in path:
        return description
    others = {key: value for key, value in description.items() if key != "path"}
    return {**others, "name": os.path.normpath(Path(os.path.realpath(root), path))}
