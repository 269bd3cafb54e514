"""What steps choose from: the files of a copy, and arrays that may be none any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np


class NothingLeftError(Exception):
    """Earlier steps left nothing to change."""


def pick(random: np.random.Generator, choices: list) -> Any:
    """Return one of these."""
    if not choices:
        raise NothingLeftError
    return choices[int(random.integers(len(choices)))]


def files_of(root: Path) -> list[Path]:
    """Return all files; what a step before put in a file's place is none."""
    return sorted(entry for entry in root.rglob("*") if entry.is_file() and not entry.is_symlink())


def load_array(file: Path) -> np.ndarray | None:
    """Return an array, or None where a step before broke its header."""
    try:
        return np.load(file)
    except Exception:  # numpy raises whatever a hostile header leads to
        return None
