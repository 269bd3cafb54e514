"""Damage done to every file of a saved artifact, at many places: loading each must raise FormatError."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from tests.artifacts.signing import replace
from tests.artifacts.workbench import Change, changed_copies


def mutations(saved: Path, scratch: Path, *, flips: int = 12) -> Iterator[Path]:
    """Yield damaged copies of the artifact, one after another; each is named after its damage and then repaired.

    The damage is what disks, copies and people do: nobody repaired a checksum. Loading must raise FormatError; only a
    copy in which two equal files were swapped is still the same artifact, and must answer the same.
    """
    return changed_copies(saved, scratch, _damages(saved, flips))


def _damages(saved: Path, flips: int) -> Iterator[Change]:
    files = sorted(file.relative_to(saved) for file in saved.rglob("*") if file.is_file())
    files.remove(Path("provenance.json"))  # part of no digest: what stands there is not vouched for
    for file in files:
        for name, data in _byte_changes((saved / file).read_bytes(), flips):
            yield f"{file} {name}", [file], lambda copy, file=file, data=data: replace(copy / file, data)
        for name, change in _file_changes(saved / file):
            yield f"{file} {name}", [file], lambda copy, file=file, change=change: change(copy / file)
    for one, other in pairwise(files):
        yield f"{one} swapped with {other}", [one, other], lambda copy, pair=(one, other): _swap(copy, *pair)
    for folder in sorted(entry.relative_to(saved) for entry in saved.rglob("*") if entry.is_dir()):
        for name, change in _folder_changes(saved / folder):
            yield f"{folder} {name}", [folder], lambda copy, folder=folder, change=change: change(copy / folder)


def _byte_changes(data: bytes, flips: int) -> Iterator[tuple[str, bytes]]:
    for length in sorted({0, 1, len(data) // 2, len(data) - 1}):
        yield f"cut to {length}", data[:length]
    yield "with a byte more", data + b"\0"
    yield "of zeros", bytes(len(data))
    random = np.random.default_rng(len(data))
    places = {0, len(data) - 1, *random.integers(0, len(data), flips).tolist()}
    for place in sorted(places):
        flipped = bytearray(data)
        flipped[place] ^= 1 << int(random.integers(8))
        yield f"flipped at {place}", bytes(flipped)


def _file_changes(original: Path) -> Iterator[tuple[str, Callable[[Path], object]]]:
    yield "deleted", Path.unlink
    yield "as a folder", lambda file: (file.unlink(), file.mkdir())
    yield "as a link", lambda file: (file.unlink(), file.symlink_to(original.resolve()))
    yield "as a pipe", lambda file: (file.unlink(), os.mkfifo(file))


def _folder_changes(original: Path) -> Iterator[tuple[str, Callable[[Path], object]]]:
    yield "removed", shutil.rmtree
    yield "as a file", lambda folder: (shutil.rmtree(folder), folder.write_bytes(b""))
    yield "as a link", lambda folder: (shutil.rmtree(folder), folder.symlink_to(original.resolve()))


def _swap(copy: Path, one: Path, other: Path) -> None:
    middle = (copy / one).rename(copy / "middle")
    (copy / other).rename(copy / one)
    middle.rename(copy / other)
