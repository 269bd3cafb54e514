"""Packed files, gzip or zstd, opened by what their first bytes say."""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path
from typing import IO, Any

from vizsla.extra import import_extra

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = (".gz", ".zst")


def packing_of(path: Path) -> str | None:
    """Return "gzip", "zstd", or None for a plain file."""
    with path.open("rb") as stream:
        head = stream.read(4)
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)


def open_unpacked(path: Path, packing: str | None) -> IO[bytes]:
    """Open a file for reading; what comes is unpacked."""
    if packing is None:
        return path.open("rb")
    if packing == "gzip":
        return gzip.open(path, "rb")  # type: ignore[return-value]
    stream: IO[bytes] = _zstd(path).open(path, "rb")
    return stream


def damage_of(packing: str, path: Path) -> tuple[type[Exception], ...]:
    """Return what reading a damaged packed file raises."""
    if packing == "gzip":
        return (gzip.BadGzipFile, EOFError, zlib.error)
    return (_zstd(path).ZstdError, EOFError)


def without_packing(name: str) -> str:
    """Return a file's name without the ending that says how it is packed.

    Examples
    --------
    >>> without_packing("items.csv.zst"), without_packing("items.csv")
    ('items.csv', 'items.csv')
    """
    return next((name.removesuffix(suffix) for suffix in SUFFIXES if name.endswith(suffix)), name)


def _zstd(path: Path) -> Any:
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return import_extra(module, f"Reading {path}", "zstd")
