"""An opened folder, whose files are reached through its descriptor, and the folder an artifact came from."""

from __future__ import annotations

import contextlib
import errno
import mmap as memory_map
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla.artifacts.manifest import MANIFEST, MAX_BYTES, Manifest
from vizsla.core.validation import check_type
from vizsla.errors import FormatError

T = TypeVar("T")

# A named pipe would block for ever without O_NONBLOCK; a link could lead anywhere without O_NOFOLLOW.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_ATTEMPTS = 20
_MAX_EXTENTS = 100_000
MAX_HOLES = 64 << 20
"""Bytes of a whole that may be holes, whatever is stored of it."""
MAX_FEW_HOLES = 384 << 20
"""Bytes that may be holes where at least an eighth of the whole is stored; more where half of it is."""


class Holes:
    """How much of the files that were read of one whole is stored, and how much is holes.

    A file of holes is a few bytes on the disk that would fill the memory. They are counted for the whole, since many
    small files can do what one large file does.
    """

    def __init__(self) -> None:
        self.stored = self.missing = 0

    def count(self, handle: int, status: os.stat_result) -> None:
        """Add a file; raise ValueError if the whole is little but holes by now."""
        stored = _stored(handle, status)
        self.stored, self.missing = self.stored + stored, self.missing + status.st_size - stored
        if self.missing > max(MAX_HOLES, min(7 * self.stored, MAX_FEW_HOLES), self.stored):
            raise ValueError(
                f"it has {status.st_size:,} bytes, of which all but {stored:,} are holes, and all files together have "
                f"{self.missing:,} bytes of holes; copy them without holes"
            )


class Folder:
    """A folder held open, so that one artifact is read even while another one takes its place.

    Parameters
    ----------
    path : path
        The folder.
    inside : Folder, optional
        The folder around it, if that is open; holes in their files are counted together.
    """

    _handle = -1  # for `__del__`, should Ctrl-C come before anything is set

    def __init__(self, path: str | Path, *, inside: Folder | None = None):
        self._holes: Holes = Holes() if inside is None else inside._holes
        self.path = Path(check_type("path", path, (str, os.PathLike), "a path"))
        try:
            if inside is None:
                self._handle = _open_or_replaced(self.path)
            else:
                self._handle = os.open(self.path.name, _FOLDER | os.O_NOFOLLOW, dir_fd=inside._handle)
        except FileNotFoundError as error:
            raise FormatError(f"{self.path}: there is no such file or folder. Check the path.") from error
        except (OSError, ValueError) as error:
            is_file = isinstance(error, NotADirectoryError)
            remedy = " An artifact is a folder: `vizsla index` makes one." if is_file else ""
            raise FormatError(f"{self.path}: not a folder that can be opened ({_reason(error)}).{remedy}") from error

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def names(self) -> list[str]:
        """Return the names of everything in the folder."""
        with os.scandir(self._handle) as entries:
            return sorted(entry.name for entry in entries)

    def size(self, name: str) -> int:
        """Return a file's bytes; anything but a regular file raises."""
        try:
            status = os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        except OSError as error:
            raise FormatError(f"{self.path / name}: the file is missing ({_reason(error)}).") from error
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(f"{self.path / name}: not a regular file; links are not followed inside an artifact.")
        return status.st_size

    def read(self, name: str, *, mmap: bool) -> NDArray[np.uint8]:
        """Return a file's bytes, read-only: mapped, or copied into memory."""
        try:
            handle = os.open(name, _FILE, dir_fd=self._handle)
        except OSError as error:
            raise FormatError(f"{self.path / name}: cannot be opened ({_reason(error)}).") from error
        with os.fdopen(handle, "rb") as file:
            try:
                return _contents(file, self._holes, mmap=mmap)
            except (OSError, ValueError) as error:
                raise FormatError(f"{self.path / name}: cannot be read ({_reason(error)}).") from error

    def manifest(self, measured: Callable[[bytes], None] | None = None) -> Manifest:
        """Return the manifest; its bytes go to `measured` before they are parsed, which may raise ValueError."""
        file = self.path / MANIFEST
        if not self.has(MANIFEST):
            raise FormatError(f"{self.path}: not an artifact (it has no {MANIFEST}).")
        if self.size(MANIFEST) > MAX_BYTES:
            raise FormatError(f"{file}: more than {MAX_BYTES} bytes.")
        data = self.read(MANIFEST, mmap=False).tobytes()
        try:
            if measured is not None:
                measured(data)
            return Manifest.parse(data)
        except ValueError as error:
            raise FormatError(f"{file}: {error}.") from error

    def has(self, name: str) -> bool:
        """Whether anything of this name is in the folder."""
        try:
            os.stat(name, dir_fd=self._handle, follow_symlinks=False)
        except OSError:
            return False
        return True

    def inner(self, name: str) -> Folder:
        """Open the folder of this name inside this one."""
        return Folder(self.path / name, inside=self)

    def replaced(self) -> bool:
        """Whether the path leads to another folder by now."""
        try:
            there, here = self.path.stat(), os.fstat(self._handle)
        except OSError:
            return True
        return (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)


def read_folder(path: str | Path, action: Callable[[Folder], T]) -> T:
    """Return what `action` makes of the folder, which may be replaced by a new save at any moment.

    A writer deletes the folder that it replaced: a reader that was busy in it starts again with the new one.
    """
    for _ in range(_ATTEMPTS):
        folder = Folder(path)
        try:
            return action(folder)
        except FormatError:
            if not folder.replaced():
                raise
    return action(Folder(path))


def _open_or_replaced(path: Path) -> int:
    # Without an atomic exchange the old artifact waits beside its path for the moment between two renames.
    waiting = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}\.replaced")
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(FileNotFoundError):
            return os.open(path, _FOLDER)
        found = next((entry for entry in path.parent.iterdir() if waiting.fullmatch(entry.name)), None)
        if found is None:
            break
        with contextlib.suppress(FileNotFoundError):
            return os.open(found, _FOLDER | os.O_NOFOLLOW)
    return os.open(path, _FOLDER)


def _contents(file: BinaryIO, holes: Holes, *, mmap: bool) -> NDArray[np.uint8]:
    status = os.fstat(file.fileno())
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is not a regular file")
    holes.count(file.fileno(), status)
    if mmap and status.st_size:
        return np.frombuffer(memory_map.mmap(file.fileno(), status.st_size, access=memory_map.ACCESS_READ), np.uint8)
    data: NDArray[np.uint8] = np.fromfile(file, np.uint8, count=status.st_size)
    data.flags.writeable = False
    return data


def _stored(handle: int, status: os.stat_result) -> int:
    """Return how many bytes of a file are no holes; a file system that does not know of holes says that all are."""
    size = status.st_size
    if status.st_blocks * 512 >= size:
        return size
    stored, at = 0, 0
    try:
        for _ in range(_MAX_EXTENTS):
            at = os.lseek(handle, at, os.SEEK_DATA)
            end = os.lseek(handle, at, os.SEEK_HOLE)
            stored, at = stored + end - at, end
            if at >= size:
                break
    except OSError as error:
        if error.errno != errno.ENXIO:  # nothing but a hole from here on
            return size
    finally:
        os.lseek(handle, 0, os.SEEK_SET)
    return min(stored, size)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class Origin(NamedTuple):
    """A folder, and the digest of the manifest it had.

    Parameters
    ----------
    path : str
        The folder, from the root of the file system.
    digest : str
        See `Manifest.digest`.
    """

    path: str
    digest: str

    @classmethod
    def of(cls, path: str | Path, digest: str) -> Self:
        """Remember a folder, whatever the working folder becomes."""
        return cls(str(Path(path).absolute()), digest)

    def stands(self) -> bool:
        """Whether the folder still holds what it held."""
        try:
            return read_folder(self.path, lambda folder: folder.manifest().digest) == self.digest
        except FormatError:
            return False
