"""Memory of large arrays: alignment to cache lines, and releasing mapped pages."""

from __future__ import annotations

import mmap
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

CACHE_LINE_BYTES = 64
"""Bytes of a line: what a register of AVX-512 loads. One that lies across two lines costs two loads."""

T = TypeVar("T", bound=np.generic)


def zeros_in_lines(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return zeros from the beginning of a line on; numpy begins where it may.

    Examples
    --------
    >>> zeros_in_lines((3, 2), np.float32).ctypes.data % CACHE_LINE_BYTES
    0
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    room = np.zeros(size + CACHE_LINE_BYTES, np.uint8)
    first = -room.ctypes.data % CACHE_LINE_BYTES
    return room[first : first + size].view(dtype).reshape(shape)


def aligned(array: NDArray[T]) -> NDArray[T]:
    """Return the array itself if it lies so, else a copy that does.

    Examples
    --------
    >>> numbers = zeros_in_lines((4,), np.float32)
    >>> aligned(numbers) is numbers, aligned(numbers[1:]).ctypes.data % CACHE_LINE_BYTES
    (True, 0)
    """
    if array.flags.c_contiguous and array.ctypes.data % CACHE_LINE_BYTES == 0:
        return array
    copy: NDArray[T] = zeros_in_lines(array.shape, array.dtype)
    copy[...] = array
    return copy


def release_pages(array: Any) -> None:
    """Tell the system that the pages of a file mapped for reading need not stay in memory; anything else is left alone.

    A pass over a large file would otherwise leave all of it in the process's memory, until that is needed elsewhere.
    """
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and getattr(array, "mode", None) == "r":
            mapped = getattr(array, "_mmap", None)
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)
            return
        array = array.base
