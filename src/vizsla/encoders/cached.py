"""CachedEncoder: a query that came before is not encoded again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.encoder import Encoder
from vizsla.encoders.encode import checked_rows
from vizsla.errors import InputError, check_positive

Floats = NDArray[np.float32]


class CachedEncoder(Encoder):
    """Keeps the rows of the queries that came last; several parts of one composition then encode a batch once.

    Parameters
    ----------
    encoder : Encoder
        A dense encoder. Items are handed through: they come once.
    size : int
        How many queries are kept.

    Examples
    --------
    >>> from vizsla.encoder import FunctionEncoder
    >>> calls = []
    >>> def lengths(texts):
    ...     calls.append(list(texts))
    ...     return [[len(text)] for text in texts]
    >>> encoder = CachedEncoder(FunctionEncoder(lengths, dim=1, name="length"))
    >>> encoder.queries(["fig", "pear", "fig"]).ravel().tolist(), encoder.queries(["pear"]).ravel().tolist()
    ([3.0, 4.0, 3.0], [4.0])
    >>> calls
    [['fig', 'pear']]
    """

    def __init__(self, encoder: Encoder, *, size: int = 10_000):
        if encoder.sparse:
            raise InputError("`encoder` must give dense vectors. Got a sparse one.")
        self.encoder, self._size = encoder, check_positive("size", size)
        self._rows: OrderedDict[str, Floats] = OrderedDict()
        self._lock = Lock()

    @property
    def dim(self) -> int:
        """The encoder's width."""
        return self.encoder.dim

    @property
    def fingerprint(self) -> str:
        """The encoder's fingerprint: a cache changes nothing."""
        return self.encoder.fingerprint

    def queries(self, texts: Sequence[str]) -> Floats:
        """Encode the texts that are not known yet, each once."""
        with self._lock:
            known = {text: self._rows[text] for text in texts if text in self._rows}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            rows = checked_rows(self.encoder, self.encoder.queries(missing), len(missing))
            known.update(zip(missing, rows, strict=True))
            self._keep(missing, known)
        return np.array([known[text] for text in texts], np.float32).reshape(len(texts), self.dim)

    def items(self, texts: Sequence[str]) -> Any:
        """Encode item texts, without keeping them."""
        return self.encoder.items(texts)

    def _keep(self, texts: list[str], rows: dict[str, Floats]) -> None:
        with self._lock:
            for text in texts:
                self._rows[text] = rows[text].copy()
            while len(self._rows) > self._size:
                self._rows.popitem(last=False)
