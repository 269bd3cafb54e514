"""The `.npy` format, version 1.0, for plain numbers only; read without evaluating anything."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NAMES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
DTYPES = {np.dtype(name).str: np.dtype(name) for name in _NAMES}
"""The types of numbers that an artifact may hold, by the name that the header gives them."""

_ALIGNMENT = 64
_MAGIC = b"\x93NUMPY\x01\x00"
_LENGTH = b"(?:0|[1-9][0-9]{0,18})"
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z][1248])', 'fortran_order': False, "
    rb"'shape': \(((?:%b,|%b(?:, %b)+)?)\), \} *\n" % (_LENGTH, _LENGTH, _LENGTH)
)


def header(values: NDArray[Any]) -> bytes:
    """Return what comes before the numbers; written here so that every numpy version gives the same bytes.

    Examples
    --------
    >>> len(header(np.zeros(3, np.float32)))
    128
    """
    name = values.dtype.str
    if name not in DTYPES:
        raise ValueError(f"arrays of {values.dtype} cannot be stored; the types are {', '.join(DTYPES)}")
    text = f"{{'descr': '{name}', 'fortran_order': False, 'shape': {values.shape}, }}".encode()
    length = -(-(len(_MAGIC) + 2 + len(text) + 1) // _ALIGNMENT) * _ALIGNMENT - len(_MAGIC) - 2
    return _MAGIC + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n"


def parse(data: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the array inside a file's bytes, as a view of them; raise ValueError when they are not one."""
    start = bytes(data[: len(_MAGIC) + 2])
    if start[:-2] != _MAGIC or len(start) != len(_MAGIC) + 2:
        raise ValueError("it does not begin like a .npy file of version 1.0")
    begin = len(start) + int.from_bytes(start[-2:], "little")
    match = _HEADER.fullmatch(bytes(data[len(start) : begin]))
    if begin > len(data) or begin % _ALIGNMENT or match is None or match[1].decode() not in DTYPES:
        raise ValueError("its header does not describe a plain C-ordered array of numbers")
    dtype = DTYPES[match[1].decode()]
    shape = tuple(int(length) for length in match[2].split(b",") if length)
    promised = prod(shape) * dtype.itemsize
    if promised != len(data) - begin:
        raise ValueError(f"its header promises {promised} bytes of numbers; it has {len(data) - begin}")
    # Native code may take any other byte in a flag for something that is neither true nor false.
    if dtype == np.bool_ and data[begin:].max(initial=0) > 1:
        raise ValueError("a flag is neither 0 nor 1")
    return data[begin:].view(dtype).reshape(shape)
