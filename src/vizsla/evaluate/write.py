"""Writes a whole file or nothing."""

from __future__ import annotations

import os
from pathlib import Path


def write_text(text: str, path: str | Path | None) -> str:
    """Write `text` to `path`, unless that is None, and return it."""
    if path is not None:
        write_bytes(text.encode(), path)
    return text


def write_bytes(data: bytes, path: str | Path) -> Path:
    """Write under a temporary name in the same folder, then rename: readers see the old file or the new one."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target
