"""What both XR-Linear contestants share: reading the exchange, recall, CPU time of queries, bytes, peak memory."""

import json
import time
from pathlib import Path

import numpy as np
from clock import peak_bytes
from scipy.sparse import load_npz


def texts_of(folder, name):
    return json.loads((Path(folder) / f"{name}.json").read_text())


def matrix_of(folder, name):
    return load_npz(Path(folder) / f"{name}.npz").tocsr().astype(np.float32)


def recall(found, relevant, k):
    """Mean share of the relevant items among the first k of each row of `found`."""
    total = 0.0
    for row, items in enumerate(found):
        wanted = relevant.indices[relevant.indptr[row] : relevant.indptr[row + 1]]
        total += np.isin(wanted, items[:k]).mean()
    return float(total / len(found))


def microseconds(ask, queries):
    """CPU time of one query after another, by the query."""
    start = time.process_time()
    for query in queries:
        ask(query)
    return (time.process_time() - start) / len(queries) * 1e6


def folder_bytes(folder):
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def peak_above(work):
    """Do the work; return its result, CPU seconds, and the peak of memory above what was held before."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = peak_bytes()
    start = time.process_time()
    result = work()
    return result, time.process_time() - start, peak_bytes() - before
