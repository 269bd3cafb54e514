"""LazyEncoder: a model that an artefact names, loaded when the first text comes."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

from vizsla.encoder import Encoder
from vizsla.encoders.absent import AbsentEncoder
from vizsla.errors import InputError

MODELS = ("sentence", "onnx")


class LazyEncoder(AbsentEncoder):
    """Loads the named model at the first text, and only uses it if it is the one that the vectors were made with.

    Parameters
    ----------
    description : dict
        Kind ("sentence" or "onnx"), dim, fingerprint, name and options of the encoder.
    """

    def __init__(self, description: dict[str, Any]):
        super().__init__(description)
        name, options = description.get("name"), description.get("options")
        if description.get("kind") not in MODELS or not isinstance(name, str) or not isinstance(options, dict):
            raise InputError("A model's description must have kind, name and options. Got another.")
        self._encoder: Encoder | None = None
        self._lock = Lock()

    def queries(self, texts: Sequence[str]) -> Any:
        """Encode query texts."""
        return self.loaded().queries(texts)

    def items(self, texts: Sequence[str]) -> Any:
        """Encode item texts."""
        return self.loaded().items(texts)

    def loaded(self) -> Encoder:
        """Return the model itself."""
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load()
            return self._encoder

    def _load(self) -> Encoder:
        name = self.description["name"]
        encoder = self._make(name)
        if encoder.fingerprint != self.fingerprint:
            raise InputError(
                f"The model {name!r} must be the one that the vectors were made with ({self.fingerprint!r}). "
                f"Got {encoder.fingerprint!r}: bring that model back, or build the retriever anew."
            )
        return encoder

    def _make(self, name: str) -> Encoder:
        try:
            if self.description["kind"] == "onnx":
                from vizsla.encoders.onnx import OnnxEncoder

                return OnnxEncoder(name, **self.description["options"])
            from vizsla.encoders.sentence import SentenceEncoder

            return SentenceEncoder(name, **self.description["options"])
        except TypeError as error:
            raise InputError(f"The artefact must describe its encoder. Got other options: {error}.") from error
