"""LazyEncoder: a model that an artefact names, loaded when the first text comes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vizsla.encoder import Encoder
from vizsla.encoders.absent import AbsentEncoder
from vizsla.encoders.download import VARIABLE, download_allowed
from vizsla.encoders.token_encoder import TokenEncoder, TokenRows
from vizsla.errors import InputError
from vizsla.forking.lock import ForkLock

MODELS = ("sentence", "onnx")
OPTIONS = {"query_prompt", "item_prompt", "normalise", "max_tokens", "pooling"}
"""What an artefact may say about its model; anything else, such as `download`, is the user's to say."""


class LazyEncoder(AbsentEncoder):
    """Loads the named model at the first text, and only uses it if it is the one that the vectors were made with.

    Nothing is downloaded because an artefact says so: the model must be a folder or in the local cache, unless
    `VIZSLA_DOWNLOAD=1` is in the environment.

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
        if "\0" in name:
            raise InputError("A model's name must be one that a folder can have. Got a NUL character in it.")
        self._encoder: Encoder | None = None
        self._lock = ForkLock()

    def queries(self, texts: Sequence[str]) -> Any:
        """Encode query texts."""
        return self.loaded().queries(texts)

    def items(self, texts: Sequence[str]) -> Any:
        """Encode item texts."""
        return self.loaded().items(texts)

    def query_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the queries' tokens."""
        return self._with_tokens().query_tokens(texts)

    def item_tokens(self, texts: Sequence[str]) -> TokenRows:
        """Return the vectors of the items' tokens."""
        return self._with_tokens().item_tokens(texts)

    def query_words(self, text: str) -> list[str]:
        """Return the pieces that a query is cut into."""
        return self._with_tokens().query_words(text)

    def _with_tokens(self) -> TokenEncoder:
        model = self.loaded()
        if not isinstance(model, TokenEncoder):
            raise InputError(f"`encoder` must give a vector for every token. Got {model!r}, which gives none.")
        return model

    def loaded(self) -> Encoder:
        """Return the model itself."""
        with self._lock:
            if self._encoder is None:
                self._encoder = self._load()
            return self._encoder

    def _load(self) -> Encoder:
        name = self.description["name"]
        return self._checked(self._make(name, download=download_allowed()), repr(name))

    def _checked(self, encoder: Encoder, where: str) -> Encoder:
        if encoder.fingerprint != self.fingerprint:
            raise InputError(
                f"The model {where} must be the one that the vectors were made with ({self.fingerprint!r}). "
                f"Got {encoder.fingerprint!r}: bring that model back, or build the retriever anew."
            )
        return encoder

    def _make(self, name: str, *, download: bool) -> Encoder:
        options = dict(self.description["options"])
        if set(options) - OPTIONS:
            raise InputError(f"The artefact must describe its encoder. Got the options {sorted(options)}.")
        try:
            if self.description["kind"] == "onnx":
                from vizsla.encoders.onnx import OnnxEncoder

                return OnnxEncoder(name, **options)
            return _sentence(name, options, download=download)
        except TypeError as error:
            raise InputError(f"The artefact must describe its encoder. Got other options: {error}.") from error


def _sentence(name: str, options: dict[str, Any], *, download: bool) -> Encoder:
    from vizsla.encoders.sentence import SentenceEncoder

    if download:
        return SentenceEncoder(name, **options)
    try:
        return SentenceEncoder(name, download=False, **options)
    except InputError as error:
        raise InputError(
            f"{error} An artefact's model is never downloaded unasked. If you trust {name!r}, set {VARIABLE}=1, or "
            f"give the model itself: `.with_encoder(SentenceEncoder({name!r}))`."
        ) from error
