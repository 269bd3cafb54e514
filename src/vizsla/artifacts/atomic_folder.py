"""Write a folder atomically: fill it under a temporary name, then rename it; remove what killed writers left."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import shutil
from pathlib import Path
from types import TracebackType

from vizsla.artifacts import strict_json
from vizsla.artifacts.folder import Folder
from vizsla.artifacts.manifest import MANIFEST, MAX_BYTES, PROVENANCE
from vizsla.core.validation import as_path
from vizsla.errors import FormatError, InputError

_AT_FDCWD = -100
_NOREPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; return False where the system or its file system cannot."""
    return _renameat2(one, other, _EXCHANGE)


def rename_new(source: Path, target: Path) -> None:
    """Rename a folder to a name that must be free; a name that is taken raises FileExistsError."""
    if _renameat2(source, target, _NOREPLACE):
        return
    try:
        source.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.ENOTDIR):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        raise


def sync(folder: Path) -> None:
    """Flush a folder's entries to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_parents(folder: Path) -> None:
    """Make a folder and those above it, each flushed to the disk."""
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    for above in reversed(missing):
        above.mkdir(exist_ok=True)
        sync(above.parent)


def _renameat2(source: Path, target: Path, flags: int) -> bool:
    import ctypes

    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return False
    if function(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), ctypes.c_uint(flags)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))


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
        return handle  # A file system without locks: `clean` cannot lock either and leaves the folder alone.
    if folder.exists():
        return handle
    os.close(handle)
    return -1


def clean(target: Path) -> None:
    """Remove what dead writers to `target` left; give back the artifact if one died between two renames."""
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
    """Remove an artifact that was replaced, under a name that `clean` never restores while it is half gone."""
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
            rename_new(replaced, target)
            sync(target.parent)
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


_ATTEMPTS = 100


def check_outside(path: Path) -> None:
    """Raise if the path lies inside an artifact, whose manifest would not know what is there."""
    around = next((folder for folder in path.parents if _listed(folder) is not None), None)
    if around is not None:
        raise InputError(
            f"`path` must be outside of other artifacts. Got {path}, inside of {around}: choose another path, or save "
            "the outer artifact anew."
        )


def check_replaceable(path: Path, *, overwrite: bool) -> bool:
    """Return whether something is at the path; raise unless a save may go there."""
    listed, strays = None, list[str]()
    for _ in range(_ATTEMPTS):
        if not os.path.lexists(path):
            return False
        folder = _opened(path)
        listed = None if folder is None else _listed_in(folder)
        strays = [] if folder is None or listed is None else [name for name in folder.names() if name not in listed]
        if listed is not None and not strays:
            break
        # Another writer may have put its artifact there meanwhile, and be removing the one that was looked at.
        if not (path.is_dir() if folder is None else folder.replaced()):
            break
    if listed is None:
        raise InputError(
            f"`path` must be new or an artifact. Got {path}, which is something else: choose another path."
        )
    if not overwrite:
        raise InputError(f"`path` must be new. Got {path}, which exists: choose another, or pass overwrite=True.")
    if strays:
        raise InputError(
            f"`path` must hold nothing but an artifact. Got {path}, which also holds {strays[0]!r}: move it away."
        )
    return True


def _opened(path: Path) -> Folder | None:
    try:
        return Folder(path)
    except FormatError:
        return None


def _listed(path: Path) -> set[str] | None:
    folder = _opened(path)
    return None if folder is None else _listed_in(folder)


def _listed_in(folder: Folder) -> set[str] | None:
    # Many programs have a manifest.json: only one with our keys counts. A damaged artifact may still be replaced.
    try:
        if folder.size(MANIFEST) > MAX_BYTES:
            return None
        value = strict_json.parse(folder.read(MANIFEST, mmap=False).tobytes())
    except (FormatError, ValueError):
        return None
    if not isinstance(value, dict) or not {"kind", "format", "vizsla", "files", "parents"} <= value.keys():
        return None
    if not isinstance(value["files"], dict) or not isinstance(value["parents"], dict):
        return None
    # What a record points to elsewhere has no folder here: one of its name belongs to something else.
    inside = [name for name, record in value["parents"].items() if not (isinstance(record, dict) and "at" in record)]
    return {MANIFEST, PROVENANCE, *value["files"], *inside}


class Staging:
    """The folder `.name.token.partial` beside the target, locked for as long as its writer lives.

    Entering sweeps up what killed writers left and gives the folder to fill; leaving puts it in place, or removes it
    when an exception (Ctrl-C too) is on its way. Of several writers to one path the last to finish wins, whole.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False):
        # A link is written through, as `open(link, "w")` would.
        self.target, self._overwrite = Path(os.path.realpath(as_path(path))), overwrite
        if not self.target.name:
            raise InputError(f"`path` must name a folder. Got {str(path)!r}.")
        self._lock = -1
        self.folder = self._name()

    def __enter__(self) -> Path:
        check_outside(self.target)
        clean(self.target)
        check_replaceable(self.target, overwrite=self._overwrite)
        make_parents(self.target.parent)
        try:
            self._make()
        except BaseException:
            self._discard()
            raise
        return self.folder

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._put_in_place()
        finally:
            self._discard()

    def _make(self) -> None:
        while self._lock < 0:
            self.folder = self._name()
            self.folder.mkdir()
            self._lock = hold(self.folder)

    def _name(self) -> Path:
        return self.target.with_name(f".{self.target.name}.{new_token()}.partial")

    def _put_in_place(self) -> None:
        for _ in range(_ATTEMPTS):
            try:
                self._try_to_put_in_place()
            except (FileExistsError, FileNotFoundError):
                continue  # Another writer came or went between the look and the rename: look again.
            sync(self.target.parent)
            return
        raise InputError(f"`path` must hold still. Got {self.target}, which other writers keep replacing: try again.")

    def _try_to_put_in_place(self) -> None:
        if not check_replaceable(self.target, overwrite=self._overwrite):
            rename_new(self.folder, self.target)
        elif not exchange(self.folder, self.target):
            self._replace_in_two_steps()

    def _replace_in_two_steps(self) -> None:
        # Between the two renames readers find the old artifact under this name, and so does `clean` after a crash.
        replaced = self.folder.with_suffix(".replaced")
        self.target.rename(replaced)
        try:
            rename_new(self.folder, self.target)
        except BaseException:
            # Where another writer's artifact stands by now, the old one is not given back. It is discarded even if that
            # writer's artifact is being replaced in turn: the next attempt needs the name.
            with contextlib.suppress(FileExistsError, FileNotFoundError):
                rename_new(replaced, self.target)
            discard(replaced)
            raise
        discard(replaced)

    def _discard(self) -> None:
        # After an exchange this is the artifact that was replaced.
        try:
            remove(self.folder)
        finally:
            if self._lock >= 0:
                os.close(self._lock)
