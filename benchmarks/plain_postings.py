"""PlainPostings: the simplest inverted lists in C++, compiled when they are asked for; what ours are held against."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from vizsla.core.sparse import SparseRows

SOURCE = Path(__file__).parent / "peers" / "plain_postings.cpp"


class PlainPostings:
    """Lists of 32-bit item numbers, added one after another into a float for each item.

    Parameters
    ----------
    rows : SparseRows
        The items' tokens.
    norms : float32 array
        What each item's sum is multiplied by.
    """

    def __init__(self, rows: SparseRows, norms: np.ndarray):
        lists = rows.to_scipy().tocsc()
        self.offsets, self.items = lists.indptr.astype(np.int64), lists.indices.astype(np.uint32)
        self.norms, self.sums = norms, np.zeros(len(rows), np.float32)
        self._search = _compiled().plain_search

    def search(self, query: SparseRows, k: int) -> np.ndarray:
        """Return the best items of one query."""
        best = np.zeros(min(k, len(self.norms)), np.uint32)
        self._search(
            _of(self.offsets), _of(self.items), _of(self.norms), ctypes.c_int64(len(self.norms)),
            _of(query.columns), _of(query.values), ctypes.c_int64(len(query.columns)), _of(self.sums),
            ctypes.c_int64(len(best)), _of(best),
        )  # fmt: skip
        return best


def _of(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(np.ascontiguousarray(array).ctypes.data)


def _compiled() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "plain_postings.so"
        compiler = os.environ.get("CXX", "c++")
        options = ["-O3", "-march=native", "-std=c++20", "-shared", "-fPIC"]
        subprocess.run([compiler, *options, str(SOURCE), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))
