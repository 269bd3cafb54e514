"""Aliases of array types, by what the elements are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
Uint8Array = NDArray[np.uint8]
Uint32Array = NDArray[np.uint32]
Uint64Array = NDArray[np.uint64]
Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
Float32Array = NDArray[np.float32]
Float64Array = NDArray[np.float64]
