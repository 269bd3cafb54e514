"""Which files make a model, so that it can be stored inside an artefact: weights and tokenisers, never code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.artifacts.manifest import MANIFEST, NAME
from vizsla.encoders.modules import module_paths
from vizsla.encoders.onnx import MODEL, SETTINGS, TOKENIZER
from vizsla.errors import InputError
from vizsla.extra import import_extra

ALLOWED = (".safetensors", ".onnx", ".onnx_data", ".onnx.data", ".json", ".txt", ".model")
"""How names of stored files end. The last two are vocabularies of tokenisers."""
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
DEEPEST = 4
PAIR_SETTINGS = "pairs.json"
"""What a cross-encoder has instead of an encoder's settings."""


def model_files(kind: str, name: str) -> dict[str, Path]:
    """Return a model's files by their path within its folder.

    Parameters
    ----------
    kind : {"onnx", "sentence"}
        What reads the model.
    name : str
        Its folder, or its hub id if it is in the local cache.
    """
    if kind == "onnx":
        found = dict(_onnx_files(Path(name)))
    else:
        folder = Path(name) if Path(name).is_dir() else _snapshot(name)
        found = {key: file for path in ("", *module_paths(folder)) for key, file in _sentence_files(folder, path)}
    for path in found:
        check_path(path)
    return found


def model_bytes(files: dict[str, Path]) -> int:
    """Return the bytes of all files."""
    return sum(file.stat().st_size for file in files.values())


@contextmanager
def unpacked(files: Mapping[str, NDArray[np.uint8]]) -> Iterator[str]:
    """Put a model's files into a temporary folder, where nothing else lies, for as long as it is being loaded."""
    with TemporaryDirectory(prefix="vizsla.") as folder:
        for path, data in files.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            data.tofile(file)
        yield folder


def check_path(path: str) -> None:
    """Raise ValueError unless a stored file may lie at this path of a model's folder.

    Examples
    --------
    >>> check_path("1_Pooling/config.json")
    >>> check_path("pytorch_model.bin")
    Traceback (most recent call last):
    vizsla.errors.InputError: A model's file must be one of .safetensors, ... Got 'pytorch_model.bin'.
    """
    parts = path.split("/")
    if not path.endswith(ALLOWED):
        raise InputError(f"A model's file must be one of {', '.join(ALLOWED)}. Got {path!r}.")
    if len(parts) > DEEPEST or not all(NAME.fullmatch(part) for part in parts) or parts[-1] == MANIFEST:
        raise InputError(f"A model's file must have a plain name. Got {path!r:.100}.")


def _onnx_files(folder: Path) -> Iterator[tuple[str, Path]]:
    # Large models keep their weights beside model.onnx, under a name that begins like it.
    for file in sorted(folder.glob(f"{MODEL}*")):
        yield file.name, file
    for name in (TOKENIZER, SETTINGS, PAIR_SETTINGS):
        if (folder / name).exists():
            yield name, folder / name


def _sentence_files(folder: Path, path: str) -> Iterator[tuple[str, Path]]:
    files = [file for file in sorted((folder / path).glob("*")) if file.is_file()]
    pickles = [file for file in files if file.suffix in PICKLES]
    if pickles and not any(file.suffix == ".safetensors" for file in files):
        raise InputError(
            f"A model must keep its weights as safetensors to be stored inside an artefact. Got {pickles[0]}, a "
            "pickle, which can run code when it is loaded: save the model anew as safetensors, export it to ONNX, or "
            "leave it outside with bundle_models=False."
        )
    for file in files:
        if file.name.endswith(ALLOWED) and ".onnx" not in file.name and file.name != MANIFEST:
            yield str(PurePosixPath(path) / file.name), file


def _snapshot(name: str) -> Path:
    hub: Any = import_extra("huggingface_hub", f"Storing {name!r} inside an artefact", "neural")
    try:
        return Path(hub.snapshot_download(name, local_files_only=True))
    except (OSError, ValueError) as error:
        raise InputError(f"The model {name!r} must be on this machine to be stored inside. Got {error}.") from error
