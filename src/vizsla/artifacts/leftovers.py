"""What killed writers leave beside a path: told from living ones by a lock, and swept up."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from pathlib import Path

from vizsla.artifacts import renames

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def hold(folder: Path) -> int:
    """Lock a folder that was just made and return the handle that holds the lock; -1 if it was swept up meanwhile.

    The kernel drops the lock when the process ends, however it ends; a process number could have been reused.
    """
    try:
        handle = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return -1
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return -1
    except OSError:
        return handle  # A file system without locks: `sweep` cannot lock either and leaves the folder alone.
    if folder.exists():
        return handle
    os.close(handle)
    return -1


def sweep(target: Path) -> None:
    """Remove what dead writers to `target` left; give back the artefact if one died between two renames."""
    if not target.parent.is_dir():
        return
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.(partial|replaced)")
    for entry in sorted(target.parent.iterdir(), key=lambda entry: entry.name.endswith(".partial")):
        if pattern.fullmatch(entry.name):
            _sweep_replaced(entry, target) if entry.suffix == ".replaced" else _remove_if_dead(entry)


def remove(folder: Path) -> None:
    """Remove a folder and all in it, if it is there; Ctrl-C waits until it is gone."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except KeyboardInterrupt:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def discard(replaced: Path) -> None:
    """Remove an artefact that was replaced, under a name that `sweep` gives nobody back while it is half gone."""
    stem = replaced.name.removesuffix(replaced.suffix)[: -len(new_token())]
    doomed = replaced.with_name(f"{stem}{new_token()}.partial")
    with contextlib.suppress(FileNotFoundError):  # another writer was faster, or has given it back
        replaced.rename(doomed)
        remove(doomed)


def new_token() -> str:
    """Return what tells a writer's folders from those of others."""
    return secrets.token_hex(4)


def _sweep_replaced(replaced: Path, target: Path) -> None:
    if _is_alive(replaced.with_suffix(".partial")):
        return
    with contextlib.suppress(OSError):
        if not target.exists():
            renames.rename_new(replaced, target)
            renames.sync(target.parent)
            return
    discard(replaced)


def _is_alive(partial: Path) -> bool:
    handle = _lock(partial)
    if handle is not None:
        os.close(handle)
    return handle is None and partial.exists()


def _remove_if_dead(partial: Path) -> None:
    handle = _lock(partial)
    if handle is None:
        return
    try:
        remove(partial)
    finally:
        os.close(handle)


def _lock(folder: Path) -> int | None:
    try:
        handle = os.open(folder, _FOLDER)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle
