"""A copy of an artifact that is damaged and repaired over and over, cheaper than a new copy each time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

Change = tuple[str, Iterable[Path], Callable[[Path], object]]
"""A name for the change, the entries of the artifact that it touches, and how to make it in a copy."""


def changed_copies(saved: Path, scratch: Path, changes: Iterable[Change]) -> Iterator[Path]:
    """Yield a copy of the artifact for every change, in a folder named after it; only the last one exists.

    Files are linked, not copied: a change must put new files in place of old ones, never write into them.
    """
    copy = scratch / "untouched"
    shutil.copytree(saved, copy, copy_function=os.link)
    for name, touched, change in changes:
        copy = copy.rename(scratch / name.replace("/", "+"))
        change(copy)
        yield copy
        for entry in touched:
            _restore(saved / entry, copy / entry)
    shutil.rmtree(copy)


def _restore(original: Path, entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink(missing_ok=True)
    if original.is_dir():
        shutil.copytree(original, entry, copy_function=os.link)
    else:
        entry.hardlink_to(original)
