"""One BLAS thread, so that CPU time is what a query costs: imported before anything that loads numpy."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
BLAS_THREADS = int(os.environ["OPENBLAS_NUM_THREADS"])
