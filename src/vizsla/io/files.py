"""Files as lines: plain, compressed, or standard input, with the place of each line for error messages."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import shutil
import sys
import weakref
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple

from vizsla._internal.lazy import import_extra
from vizsla.errors import DataError, InputError

RECORD_SIZE_VARIABLE = "VIZSLA_MAX_RECORD_MB"
DEFAULT_RECORD_MB = 8
DOCUMENT_RECORDS = 4
"""A document of a folder may be as long as this number of records."""
MAX_COMPRESSION_RATIO = 50
MIN_CHECKED_BYTES = 64 << 20


def max_record_bytes() -> int:
    """Return how long a line or a record may be: 8 MiB, or what `VIZSLA_MAX_RECORD_MB` says.

    A packed file may be of any length, since it is read piece by piece. What must be held in memory as a whole is one
    record: one that never ends is a decompression bomb.
    """
    said = os.environ.get(RECORD_SIZE_VARIABLE, "")
    if not said:
        return DEFAULT_RECORD_MB << 20
    if not said.isascii() or not said.isdigit() or not 0 < int(said[:9]) <= 1 << 20:
        raise InputError(f"{RECORD_SIZE_VARIABLE} must be a whole number of megabytes above 0. Got {said!r:.40}.")
    return int(said) << 20


def max_document_bytes() -> int:
    """Return how long a document of a folder may be: four records."""
    return DOCUMENT_RECORDS * max_record_bytes()


def is_bomb(stored: int, unpacked: int) -> bool:
    """Whether a packed file says to hold far more than matrices of numbers can be packed into so few bytes.

    Examples
    --------
    >>> is_bomb(1 << 20, 1 << 30), is_bomb(1 << 20, 1 << 25)
    (True, False)
    """
    return unpacked > MIN_CHECKED_BYTES and unpacked > MAX_COMPRESSION_RATIO * stored


STANDARD_INPUT_NAME = "standard input"
_kept: set[Path] = set()


def shown_name(path: str | Path) -> str:
    """Return what messages call a file: its path, or where it came from if it has none."""
    return STANDARD_INPUT_NAME if Path(path) in _kept else str(path)


class StandardInput:
    """What came in, as a file that is removed after its last use."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="vizsla-")
        self.path = Path(self._folder.name) / "input"
        _kept.add(self.path)
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        with self.path.open("wb") as out:
            if hasattr(stream, "read"):
                shutil.copyfileobj(stream, out, 1 << 20)
            else:
                out.writelines(line.encode() if isinstance(line, str) else line for line in stream)

    def kept_for(self, owner: object) -> None:
        """Keep the file for as long as something lives that reads it."""
        weakref.finalize(owner, self._folder.cleanup)


COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
COMPRESSION_SUFFIXES = (".gz", ".zst")


def packing_of(path: Path) -> str | None:
    """Return "gzip", "zstd", or None for a plain file."""
    with path.open("rb") as stream:
        head = stream.read(4)
    return next((kind for magic, kind in COMPRESSION_MAGIC.items() if head.startswith(magic)), None)


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
    return next((name.removesuffix(suffix) for suffix in COMPRESSION_SUFFIXES if name.endswith(suffix)), name)


def _zstd(path: Path) -> Any:
    module = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    return import_extra(module, f"Reading {path}", "zstd")


def found(folder: Path, name: str) -> Path | None:
    """Return `folder/name`, `folder/name.gz` or `folder/name.zst`, None if none is there; two at once raise."""
    paths = [path for suffix in ("", *COMPRESSION_SUFFIXES) if (path := folder / f"{name}{suffix}").is_file()]
    if len(paths) > 1:
        names = " and ".join(path.name for path in paths)
        raise DataError(f"there are both {names}.", path=folder, remedy="Keep one of them.")
    return paths[0] if paths else None


BOM = b"\xef\xbb\xbf"
WIDE_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
BLOCK_BYTES = 1 << 18


class Line(NamedTuple):
    """A line with its place, so that errors can say what is wrong and where."""

    path: Path | str | None
    number: int
    text: str = ""
    offset: int = 0
    end: str = "\n"
    """What ends the line: a quoted CSV field that goes on keeps it as it is."""

    def error(self, problem: str, remedy: str = "") -> DataError:
        """Return the error that names this line."""
        return DataError(problem, path=self.path, line=self.number, remedy=remedy)


class Block(NamedTuple):
    """Whole lines as UTF-8, with the number and the offset of the first."""

    data: bytes
    number: int
    offset: int


Refuse = Callable[[DataError, bytes], None]
"""Takes an error and the line that it is about: raises the error, or notes that the line is left out."""


class LineFile:
    """Lines without their ends: `\\n`, `\\r\\n`, and `\\r` at the end of the file. A byte order mark is dropped.

    A file that changes between two readings raises: ids and texts would no longer belong together.
    """

    def __init__(self, path: str | Path, *, encoding: str = "utf-8", name: str | None = None):
        self.path, self.name = Path(path), shown_name(path) if name is None else name
        self._state = self._stat()
        self.packing = packing_of(self.path)
        self.encoding = encoding

    @property
    def jumps(self) -> bool:
        """Whether a line can be read from its offset: packed and transcoded files are read from their start."""
        return self.packing is None and self.encoding == "utf-8"

    def __iter__(self) -> Iterator[Line]:
        return self.lines(_raise)

    def lines(self, refuse: Refuse) -> Iterator[Line]:
        """Yield the lines; one that is no text goes to `refuse`, with its bytes."""
        for block in self.blocks():
            if block.offset and block.data.isascii() and b"\0" not in block.data:
                yield from self._plain(block)
                continue
            offset = block.offset
            *whole, rest = block.data.split(b"\n")
            for number, raw in enumerate([*whole, rest] if rest else whole, block.number):
                try:
                    line = self._decoded(raw.removesuffix(b"\r"), number, offset, _line_end(raw.endswith(b"\r")))
                except DataError as error:
                    refuse(error, raw)
                else:
                    yield line
                offset += len(raw) + 1

    def blocks(self) -> Iterator[Block]:
        """Yield the same lines, many at a time and not decoded; a damaged packed file first gives what it still can."""
        number, offset, pieces, damage = 1, 0, [b""], None
        most, held = max_record_bytes(), 0
        with self._open() as stream:
            decoder = None if self.encoding == "utf-8" else codecs.getincrementaldecoder(self.encoding)()
            piece: bytes | None = None
            while damage is None and piece != b"":
                piece, damage = self._piece(stream)
                if decoder is None:
                    self._check_narrow(piece, offset, number)
                else:
                    piece = self._transcoded(decoder, piece, number + sum(part.count(b"\n") for part in pieces))
                end = piece.rfind(b"\n") + 1
                pieces.append(piece[:end] if end else piece)
                held += len(pieces[-1])
                if held > most + BLOCK_BYTES:
                    raise self._too_long(number, most)
                if end:
                    data = b"".join(pieces)
                    yield Block(data, number, offset)
                    number, offset, pieces = number + data.count(b"\n"), offset + len(data), [piece[end:]]
                    held = len(pieces[0])
        if damage is not None:
            problem = f"the {self.packing} stream is damaged ({damage})."
            raise DataError(problem, path=self.name, line=number, remedy="Fetch it again.")
        if rest := b"".join(pieces):
            yield Block(rest, number, offset)

    def at(self, offset: int) -> Line:
        """Return the line that begins at a byte of a plain file; its number is not known."""
        with self.path.open("rb") as stream:
            stream.seek(offset)
            return self.line(self._read_line(stream, max_record_bytes()), 0, offset)

    def lines_from(self, offset: int) -> Iterator[Line]:
        """Yield the lines from a byte of a plain file on; their numbers are not known."""
        with self.path.open("rb") as stream:
            stream.seek(offset)
            most = max_record_bytes()
            while raw := self._read_line(stream, most):
                yield self.line(raw, 0, offset)
                offset += len(raw)

    def line(self, raw: bytes, number: int, offset: int) -> Line:
        """Return the line that these bytes, its end among them, are; what is not UTF-8 raises."""
        body = raw.removesuffix(b"\n")
        return self._decoded(body.removesuffix(b"\r"), number, offset, _line_end(body.endswith(b"\r")))

    def _read_line(self, stream: IO[bytes], most: int) -> bytes:
        raw = stream.readline(most + BLOCK_BYTES + 1)
        if len(raw) > most + BLOCK_BYTES:
            raise self._too_long(None, most)
        return raw

    def _too_long(self, number: int | None, most: int) -> DataError:
        remedy = f"Split it, or allow longer lines with {RECORD_SIZE_VARIABLE}."
        return DataError(f"the line has more than {most >> 20} MB.", path=self.name, line=number, remedy=remedy)

    def _plain(self, block: Block) -> Iterator[Line]:
        """Yield the lines of a block of ASCII, whose characters are bytes: decoded at once."""
        offset, name = block.offset, self.name
        *whole, rest = block.data.decode().split("\n")
        for number, text in enumerate([*whole, rest] if rest else whole, block.number):
            yield Line(name, number, text.removesuffix("\r"), offset, _line_end(text.endswith("\r")))
            offset += len(text) + 1

    def _decoded(self, body: bytes, number: int, offset: int, end: str) -> Line:
        if offset == 0:
            body = body.removeprefix(BOM)
        if b"\0" in body:
            raise self._not_text(number, "a NUL byte", "Take it out", likely="utf-16-le")
        try:
            return Line(self.name, number, body.decode(), offset, end)
        except UnicodeDecodeError as error:
            bad = f"invalid UTF-8 (byte 0x{body[error.start]:02x} at column {error.start + 1})"
            raise self._not_text(number, bad, "Convert the file to UTF-8 (see `iconv`)") from None

    def _not_text(self, number: int, what: str, remedy: str, *, likely: str = "latin-1") -> DataError:
        remedy = f'{remedy}, or name its encoding, such as encoding="{likely}".'
        return DataError(f"the line has {what}.", path=self.name, line=number, remedy=remedy)

    def _check_narrow(self, piece: bytes, offset: int, number: int) -> None:
        if number == 1 and offset == 0 and piece.startswith(WIDE_BOMS):
            remedy = 'Pass encoding="utf-16".'
            raise DataError("the file is UTF-16, not UTF-8.", path=self.name, line=1, remedy=remedy)

    def _transcoded(self, decoder: codecs.IncrementalDecoder, piece: bytes, number: int) -> bytes:
        """Return a piece as UTF-8; a wrong byte names the line."""
        try:
            return decoder.decode(piece, final=not piece).encode()
        except UnicodeError as error:
            start = getattr(error, "start", 0)
            before = bytes(getattr(error, "object", b""))[:start].decode(self.encoding, "ignore")
            bad = f"the line has what is not {self.encoding} ({getattr(error, 'reason', error)})."
            line = number + before.count("\n")
            raise DataError(bad, path=self.name, line=line, remedy="Name another encoding.") from None

    def _open(self) -> IO[bytes]:
        if self._stat() != self._state:
            raise DataError("the file changed after it was opened.", path=self.name, remedy="Open the dataset again.")
        return open_unpacked(self.path, self.packing)

    def _piece(self, stream: IO[bytes]) -> tuple[bytes, Exception | None]:
        if self.packing is None:
            return stream.read(BLOCK_BYTES), None
        # A larger read would lose more of what can still be unpacked before the damage.
        piece = bytearray()
        try:
            while len(piece) < BLOCK_BYTES and (part := stream.read1(io.DEFAULT_BUFFER_SIZE)):  # type: ignore[attr-defined]
                piece += part
        except damage_of(self.packing, self.path) as error:
            return bytes(piece), error
        return bytes(piece), None

    def _stat(self) -> tuple[int, int]:
        if not self.path.is_file():
            raise DataError("there is no such file.", path=self.name, remedy="Check the path.")
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns


def _line_end(carriage: bool) -> str:
    return "\r\n" if carriage else "\n"


def _raise(error: DataError, raw: bytes) -> None:
    raise error
