"""The file that receives what could not be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from vizsla.arguments import path_of
from vizsla.errors import InputError


@contextmanager
def putting_aside(rejected: str | Path | None, sources: Sequence[str | Path | None]) -> Iterator[IO[bytes] | None]:
    """Open the file for rejected lines, if one is wanted; one of those that are read raises, and stays as it is."""
    if rejected is None:
        yield None
        return
    path = path_of(rejected, "rejected")
    for source in sources:
        if source is not None and path.exists() and Path(source).exists() and path.samefile(source):
            raise InputError(f"`rejected` must be another file than those that are read. Got {rejected}.")
    with path.open("wb") as file:
        yield file
