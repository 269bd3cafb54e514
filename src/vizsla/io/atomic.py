"""Files and folders that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from vizsla.errors import InputError


@contextmanager
def writing(path: str | Path, *, overwrite: bool = False) -> Iterator[IO[bytes]]:
    """Open a file under a temporary name; it gets its own name when the block ends without an error."""
    path = _target(path, overwrite=overwrite)
    partial = _partial(path)
    try:
        with partial.open("wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def writing_folder(path: str | Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Make a folder under a temporary name; it gets its own name when the block ends without an error."""
    path = _target(path, overwrite=overwrite)
    partial = _partial(path)
    partial.mkdir()
    try:
        yield partial
        _replace_folder(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _target(path: str | Path, *, overwrite: bool) -> Path:
    path = Path(path)
    if path.exists() and not overwrite:
        raise InputError(f"`path` must be new. Got {path}, which exists: choose another, or pass overwrite=True.")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _partial(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.partial")


def _replace_folder(partial: Path, path: Path) -> None:
    old = path.with_name(f".{path.name}.{os.getpid()}.old")
    if path.exists():
        path.rename(old)
    partial.rename(path)
    if old.is_dir():
        shutil.rmtree(old)
    else:
        old.unlink(missing_ok=True)
