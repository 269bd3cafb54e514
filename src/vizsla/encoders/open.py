"""An encoder by name: a saved one, an ONNX folder, or a model that sentence-transformers knows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vizsla._internal.lazy import files_state, shared_model
from vizsla.artifacts.manifest import MANIFEST
from vizsla.base.encoder import Encoder
from vizsla.core.validation import validate_args
from vizsla.encoders.onnx import MODEL
from vizsla.errors import InputError


@validate_args
def open_encoder(name: str | Path, **options: Any) -> Encoder:
    """Return the encoder that a folder holds, or the model with this hub id; opened twice, it is in memory once.

    Parameters
    ----------
    name : str or path
        The folder of a saved `LsaEncoder`, a folder with `model.onnx`, or what sentence-transformers can load.
    **options
        Options of `OnnxEncoder` or `SentenceEncoder`, such as `query_prompt`.
    """
    folder = Path(name)
    if (folder / MANIFEST).exists():
        return _saved(folder, options)
    key = ("encoder", files_state(folder), repr(sorted(options.items())))
    return shared_model(key, lambda: _opened(str(name), options))


def encoder_of(given: str | Path | Mapping[str, Any]) -> Encoder:
    """Return the encoder that a setting names: as `open_encoder` takes it, with options, or a service by its address.

    Examples
    --------
    >>> encoder_of({"url": "https://api.openai.com/v1/embeddings", "model": "text-embedding-3-small", "dim": 1536})
    HttpEncoder(https://api.openai.com/v1/embeddings, text-embedding-3-small, 1,536 dimensions)
    """
    if not isinstance(given, Mapping):
        return open_encoder(given)
    options = dict(given)
    try:
        if "url" in options:
            from vizsla.encoders.http import HttpEncoder

            return HttpEncoder(**options)
        return open_encoder(**options)
    except TypeError as error:
        raise InputError(
            f"`encoder` must be a name, or have `name` or `url` and options of the encoder. Got {options!r:.100}: "
            f"{error}."
        ) from None


def _opened(name: str, options: dict[str, Any]) -> Encoder:
    if (Path(name) / MODEL).exists():
        from vizsla.encoders.onnx import OnnxEncoder

        return OnnxEncoder(name, **options)
    from vizsla.encoders.sentence import SentenceEncoder

    return SentenceEncoder(name, **options)


def _saved(folder: Path, options: dict[str, Any]) -> Encoder:
    from vizsla.artifacts.artifact import load

    saved = load(folder)
    if not isinstance(saved, Encoder):
        raise InputError(f"`name` must be an encoder. Got an artifact of kind {saved.kind!r} in {folder}.")
    if options:
        raise InputError(f"A saved encoder must be used as it is. Got the options {', '.join(options)}.")
    return saved
