"""Which files make a model, so that it can be stored inside an artefact: weights and tokenisers, never code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla.artifacts.folder import Folder
from vizsla.artifacts.manifest import MANIFEST, NAME
from vizsla.encoders.modules import module_paths
from vizsla.encoders.onnx import MODEL, SETTINGS, TOKENIZER, external_files
from vizsla.errors import FormatError, InputError
from vizsla.extra import import_extra

if TYPE_CHECKING:
    from vizsla.artifacts.saving import Saving

T = TypeVar("T")
Files = dict[str, NDArray[np.uint8]]
SMALL = 128_000_000
"""ONNX models of so many bytes at most are stored inside unless `bundle_models` says otherwise."""

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


def files_to_store(kind: str, name: str, saving: Saving, *, named_by_artifact: bool) -> Files | None:
    """Return copies of a model's files that are to be stored inside an artefact; None where the model stays outside.

    Parameters
    ----------
    kind, name : str
        As for `model_files`.
    saving : Saving
        What the caller wants, and which models the caller names.
    named_by_artifact : bool
        Whether only an artefact names the model. Then it is copied if the caller names it in this call, and never else.
    """
    if named_by_artifact:
        given = saving.may_copy(name)
        if given is None and saving.bundle_models is True:
            raise InputError(
                f"A model that only an artefact names must be named again to be stored inside. Got {name!r}: if you "
                f"trust it, pass bundle_models={name!r}, or give the model with `.with_encoder(encoder)`."
            )
        return None if given is None else read_files(kind, given)
    if saving.bundle_models is False:
        return None
    if saving.bundle_models is True:
        return read_files(kind, name)
    try:
        return read_files(kind, name, most=SMALL)
    except LinkError:
        return None  # unasked, only what is plainly there goes in


def read_files(kind: str, name: str, *, most: int | None = None) -> Files | None:
    """Return copies of a model's files, opened one folder at a time without following a link.

    Parameters
    ----------
    kind, name : str
        As for `model_files`.
    most : int, optional
        Return None if the files have more bytes, or if there are none.
    """
    paths = model_files(kind, name)
    hub = kind != "onnx" and not Path(name).is_dir()
    opened = {path: _opened(file, path, hub=hub) for path, file in paths.items()}
    sizes = [_readable(folder.size, file) for folder, file in opened.values()]
    if most is not None and not 0 < sum(sizes) <= most:
        return None
    if not paths:
        raise InputError(f"The model must be there to be stored inside. Got {name!r}, which holds none.")
    return {path: _readable(partial(folder.read, mmap=False), file) for path, (folder, file) in opened.items()}


class LinkError(InputError):
    """A file of a model that is to be copied is a link, or lies behind one."""


def _opened(file: Path, path: str, *, hub: bool) -> tuple[Folder, str]:
    """Return the folder that holds a file, and the file's name there.

    The hub's local cache keeps files as links to blobs of the same model; any other link could lead anywhere.
    """
    names = path.split("/")
    if hub and file.is_symlink():
        blob = file.resolve()
        around = file.parents[len(names)]  # "snapshots", which holds a folder for every revision
        if around.name != "snapshots" or blob.parent != (around.parent / "blobs").resolve():
            raise LinkError(f"A model's files must not be links to be stored inside. Got {file}.")
        return Folder(blob.parent), blob.name
    root = file.parents[len(names) - 1]
    folder = _readable(Folder, str(root))
    for name in names[:-1]:
        folder = _readable(folder.inner, name)
    return folder, names[-1]


def _readable(act: Callable[[str], T], name: str) -> T:
    try:
        return act(name)
    except FormatError as error:
        raise LinkError(f"A model's files must be plain files to be stored inside, no links. Got {error}") from error


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
    if not (folder / MODEL).exists():
        return
    for name in (MODEL, *external_files(folder)):
        yield name, folder / name
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
