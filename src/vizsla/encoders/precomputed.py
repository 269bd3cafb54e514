"""PrecomputedEncoder: vectors that were made elsewhere, looked up by text or id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla._internal.lazy import cached_property
from vizsla.base.encoder import Encoder, check_texts
from vizsla.core.strings import Strings
from vizsla.core.validation import as_array, validate_args
from vizsla.errors import InputError


class PrecomputedEncoder(Encoder):
    """A table from texts (or ids used in their place) to the rows of an array.

    Parameters
    ----------
    texts : iterable of str
        One a row; of a text that comes twice the first row counts.
    vectors : array, texts × dimensions
        The rows, kept as they are: a memory-mapped array stays on the disk.

    Examples
    --------
    >>> encoder = PrecomputedEncoder(["fig", "pear"], [[1.0, 0.0], [0.0, 1.0]])
    >>> encoder.queries(["pear"]).tolist()
    [[0.0, 1.0]]
    >>> encoder.queries(["plum"])
    Traceback (most recent call last):
    vizsla.errors.InputError: Every text must have a vector. Got 'plum', which has none.
    """

    @validate_args
    def __init__(self, texts: Iterable[str], vectors: Any):
        self.texts = texts if isinstance(texts, Strings) else Strings.of(texts)
        self.vectors: NDArray[Any] = (
            vectors if isinstance(vectors, np.ndarray) else as_array("vectors", vectors, np.float32)
        )
        if self.vectors.dtype.kind not in "fiu":
            raise InputError(f"`vectors` must be numbers. Got {self.vectors.dtype}.")
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.texts) or not self.vectors.shape[1]:
            raise InputError(f"`vectors` must have {len(self.texts)} rows, one a text. Got shape {self.vectors.shape}.")

    @property
    def dim(self) -> int:
        """The width of the array."""
        return int(self.vectors.shape[1])

    @property
    def nbytes(self) -> int:
        """Bytes of the texts and their vectors."""
        return int(self.texts.nbytes + self.vectors.nbytes)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the vectors and the texts they belong to."""
        rows: Any = np.ascontiguousarray(self.vectors).reshape(-1).view(np.uint8)
        # The same bytes are other numbers in another type or shape.
        rules = repr((self.texts.fingerprint, self.vectors.dtype.str, self.dim)).encode()
        return f"precomputed:{_native.checksum(rows, _native.checksum(np.frombuffer(rules, np.uint8))):016x}"

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Look the texts up; one without a vector, or with one that is not finite, raises."""
        listed = check_texts(texts)
        numbers = self.texts.find_all(listed)
        if (numbers < 0).any():
            unknown = listed[int(np.argmax(numbers < 0))]
            raise InputError(f"Every text must have a vector. Got {unknown!r:.100}, which has none.")
        rows = np.asarray(self.vectors[numbers], np.float32)
        if not np.isfinite(rows).all():
            odd = listed[int(np.argmin(np.isfinite(rows).all(axis=1)))]
            raise InputError(f"Every vector must be finite. Got NaN or infinity for {odd!r:.100}.")
        return rows
