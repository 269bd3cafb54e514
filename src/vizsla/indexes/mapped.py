"""Pages of a mapped file that were read and are not needed any more."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np


def let_go(array: Any) -> None:
    """Tell the system that the pages of a file mapped for reading need not stay in memory; anything else is left alone.

    A pass over a large file would otherwise leave all of it in the process's memory, until somebody else needs that.
    """
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and getattr(array, "mode", None) == "r":
            mapped = getattr(array, "_mmap", None)
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)
            return
        array = array.base
