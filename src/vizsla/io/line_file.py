"""A text file read line by line, plain or gzipped, as often as wanted."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from vizsla.errors import DataError

BOM = b"\xef\xbb\xbf"
GZIP = b"\x1f\x8b"
DAMAGE = (gzip.BadGzipFile, EOFError, zlib.error)
BLOCK_BYTES = 1 << 18


class Line(NamedTuple):
    """A line with its place, so that whoever reads it can say what is wrong and where."""

    path: Path | str | None
    number: int
    text: str = ""
    offset: int = 0

    def error(self, problem: str, remedy: str = "") -> DataError:
        """Return the error that names this line."""
        return DataError(problem, path=self.path, line=self.number, remedy=remedy)


class Block(NamedTuple):
    """Whole lines as bytes, with the number and the offset of the first."""

    data: bytes
    number: int
    offset: int


class LineFile:
    """UTF-8 lines without their ends (`\\n` or `\\r\\n`); a byte order mark at the start is dropped.

    A file that changes between two readings raises: ids and texts would no longer belong together.
    """

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self._state = self._stat()
        with self.path.open("rb") as stream:
            self.gzipped = stream.read(2) == GZIP

    def __iter__(self) -> Iterator[Line]:
        for block in self.blocks():
            offset = block.offset
            *whole, rest = block.data.split(b"\n")
            for number, raw in enumerate(whole, block.number):
                yield self._decoded(raw.removesuffix(b"\r"), number, offset)
                offset += len(raw) + 1
            if rest:
                yield self._decoded(rest, block.number + len(whole), offset)

    def blocks(self) -> Iterator[Block]:
        """Yield the same lines, many at a time and not decoded; a damaged gzip file first gives what it still can."""
        number, offset, pieces, damage = 1, 0, [b""], None
        with self._open() as stream:
            piece: bytes | None = None
            while damage is None and piece != b"":
                piece, damage = self._piece(stream)
                end = piece.rfind(b"\n") + 1
                pieces.append(piece[:end] if end else piece)
                if end:
                    data = b"".join(pieces)
                    yield Block(data, number, offset)
                    number, offset, pieces = number + data.count(b"\n"), offset + len(data), [piece[end:]]
        if damage is not None:
            raise self._damaged(damage, number)
        if rest := b"".join(pieces):
            yield Block(rest, number, offset)

    def at(self, offset: int) -> Line:
        """Return the line that begins at a byte of a plain file; its number is not known."""
        with self.path.open("rb") as stream:
            stream.seek(offset)
            return self.line(stream.readline(), 0, offset)

    def line(self, raw: bytes, number: int, offset: int) -> Line:
        """Return the line that these bytes, its end among them, are; what is not UTF-8 raises."""
        body = raw[:-2] if raw.endswith(b"\r\n") else raw.removesuffix(b"\n")
        return self._decoded(body, number, offset)

    def _decoded(self, body: bytes, number: int, offset: int) -> Line:
        if offset == 0:
            body = body.removeprefix(BOM)
        if b"\0" in body:
            raise self._not_text(number, "a NUL byte")
        try:
            return Line(self.path, number, body.decode(), offset)
        except UnicodeDecodeError as error:
            bad = f"invalid UTF-8 (byte 0x{body[error.start]:02x} at column {error.start + 1})"
            raise self._not_text(number, bad) from None

    def _not_text(self, number: int, what: str) -> DataError:
        return DataError(
            f"the line has {what}.", path=self.path, line=number, remedy="Convert the file to UTF-8 (see `iconv`)."
        )

    def _open(self) -> IO[bytes]:
        if self._stat() != self._state:
            raise DataError("the file changed after it was opened.", path=self.path, remedy="Open the dataset again.")
        return gzip.open(self.path, "rb") if self.gzipped else self.path.open("rb")  # type: ignore[return-value]

    def _piece(self, stream: IO[bytes]) -> tuple[bytes, Exception | None]:
        if not self.gzipped:
            return stream.read(BLOCK_BYTES), None
        # A larger read would lose more of what can still be unpacked before the damage.
        piece = bytearray()
        try:
            while len(piece) < BLOCK_BYTES and (part := stream.read1(io.DEFAULT_BUFFER_SIZE)):  # type: ignore[attr-defined]
                piece += part
        except DAMAGE as error:
            return bytes(piece), error
        return bytes(piece), None

    def _damaged(self, error: Exception, number: int) -> DataError:
        problem = f"the gzip stream is damaged ({error})."
        return DataError(problem, path=self.path, line=number, remedy="Fetch it again.")

    def _stat(self) -> tuple[int, int]:
        if not self.path.is_file():
            raise DataError("there is no such file.", path=self.path, remedy="Check the path.")
        status = self.path.stat()
        return status.st_size, status.st_mtime_ns
