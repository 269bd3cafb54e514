"""How an artefact remembers its encoder: inside it if it can be saved, by name and fingerprint otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla.artifact import Artifact
from vizsla.encoder import Encoder
from vizsla.encoders.absent import AbsentEncoder
from vizsla.encoders.lazy import MODELS, LazyEncoder
from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

NAME = "encoder"


def write_encoder(writer: ArtifactWriter, encoder: Encoder) -> None:
    """Store an encoder that is an artefact as a child; of any other, what it takes to find it again."""
    writer.parameters(encoder=describe(encoder), encoder_saved=isinstance(encoder, Artifact))
    if isinstance(encoder, Artifact):
        writer.child(NAME, encoder)


def describe(encoder: Encoder) -> dict[str, Any]:
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


def read_encoder(reader: ArtifactReader) -> Encoder:
    """Return the encoder, or one that only knows its name and raises when it is asked to encode."""
    description = reader.parameter("encoder", dict)
    if reader.parameter("encoder_saved", bool):
        child = reader.child(NAME)
        if not isinstance(child, Encoder) or describe(child) != description:
            raise FormatError(f"{reader.path / NAME}: not the encoder that the manifest describes.")
        return child
    return LazyEncoder(description) if description.get("kind") in MODELS else AbsentEncoder(description)
