"""One BLAS thread, so that CPU time is what a query costs; OPENBLAS_NUM_THREADS asks for more.

The environment alone is read when numpy is loaded, which whoever imports this may have done before.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
BLAS_THREADS = int(os.environ["OPENBLAS_NUM_THREADS"])

from vizsla._internal.blas import loaded_pool  # noqa: E402 - numpy, if it was not loaded yet, reads the environment

_pool = loaded_pool()
if _pool is not None:
    _pool.set(BLAS_THREADS)
