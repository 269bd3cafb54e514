"""Encoder: texts in, a matrix out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.terminal import abbreviate
from vizsla.core.sparse import SparseRows
from vizsla.core.validation import check_unicode, validate_args
from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.base.queries import Queries
    from vizsla.text.highlights import Highlighter

Rows = NDArray[np.float32] | SparseRows
"""What an encoder makes: a row a text."""


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list; a single str, what is no text, and half a surrogate pair raise.

    Examples
    --------
    >>> check_texts(("fig", "pear"))
    ['fig', 'pear']
    >>> check_texts("fig")
    Traceback (most recent call last):
    vizsla.errors.InputError: `texts` must hold many texts. Got one str: put it into a list.
    """
    if isinstance(texts, str):
        raise InputError("`texts` must hold many texts. Got one str: put it into a list.")
    listed = list(texts)
    for position, text in enumerate(listed):
        if not isinstance(text, str):
            raise InputError(f"`texts` must hold str. Got {type(text).__name__} at position {position}.")
        check_unicode("texts", text, f" at position {position}")
    return listed


def checked_rows(encoder: Encoder, rows: Any, count: int) -> Any:
    """Check an encoder's output: one row per text, `dim` wide, of finite numbers; anything else raises.

    Examples
    --------
    >>> ones = FunctionEncoder(lambda texts: [[1.0] for _ in texts], dim=1, name="ones")
    >>> checked_rows(ones, [[1.0], [2.0]], 1)
    Traceback (most recent call last):
    vizsla.errors.InputError: Encoder 'function:ones:1' must return shape (1, 1). Got (2, 1).
    """
    if type(rows) is SparseRows and encoder.sparse and rows.width == encoder.dim and len(rows.offsets) == count + 1:
        return rows
    name = f"Encoder {encoder.fingerprint!r}"
    if encoder.sparse:
        matrix: Rows = SparseRows.of(rows, name="queries")
    else:
        try:
            matrix = np.ascontiguousarray(rows, np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} must return rows of {encoder.dim} numbers. Got {error!s:.200}.") from error
        if not np.isfinite(matrix).all():
            raise InputError(f"{name} must return finite numbers. Got NaN or infinity.")
    if matrix.shape != (count, encoder.dim):
        raise InputError(f"{name} must return shape ({count}, {encoder.dim}). Got {matrix.shape}.")
    return matrix


class Encoder(ABC):
    """Turns texts into the rows of a matrix: a float32 array, or SparseRows when `sparse`."""

    sparse: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.dim:,} dimensions)"

    @property
    @abstractmethod
    def dim(self) -> int:
        """The width of the matrix."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever the same text would be encoded differently."""

    @property
    def nbytes(self) -> int:
        """Bytes needed to encode a query, including model weights; 0 for Python functions."""
        return 0

    @property
    def stored_form(self) -> Encoder:
        """The encoder that an artifact stores: itself, or the encoder that it wraps."""
        return self

    def _byte_counts(self) -> dict[Any, int]:
        """Return the bytes of each object that `nbytes` counts, including those it is made of."""
        return {self.fingerprint: self.nbytes}

    def _live_parts(self) -> Iterable[Any]:
        """Return the encoders and analyzers that it is made of: a recipe finds its live objects among them."""
        return ()

    @abstractmethod
    def queries(self, texts: Sequence[str]) -> Rows:
        """Encode query texts."""

    def items(self, texts: Sequence[str]) -> Rows:
        """Encode item texts; like queries unless overridden."""
        return self.queries(texts)

    def highlighter(self, query: str) -> Highlighter | None:
        """Return a matcher of a query's words in texts; None for encoders without words."""
        return None

    def encoded(self, queries: Queries) -> Rows:
        """Encode and check the queries of a call; an encoder made of another one reuses its encodings."""
        texts = getattr(queries, "texts", None)
        if texts is None:
            raise InputError(f"`queries` must be Queries. Got {type(queries).__name__}: see `queries(texts)`.")
        if not texts and not self.sparse:  # not every model knows what to return for nothing
            return np.zeros((0, self.dim), np.float32)
        rows: Rows = checked_rows(self, self.queries(texts), len(texts))
        return rows


class FunctionEncoder(Encoder):
    """An encoder from a Python function.

    Parameters
    ----------
    function : callable
        From a list of texts to an array with a row a text.
    dim : int
        The width of its rows.
    name : str
        Becomes the fingerprint: change it when the function changes.
    items : callable, optional
        Another function for item texts.

    Examples
    --------
    >>> lengths = FunctionEncoder(lambda texts: [[len(t)] for t in texts], dim=1, name="length")
    >>> lengths.queries(["fig", "apple"]).ravel().tolist()
    [3.0, 5.0]
    """

    @validate_args
    def __init__(
        self,
        function: Callable[[Sequence[str]], object],
        *,
        dim: int,
        name: str,
        items: Callable[[Sequence[str]], object] | None = None,
    ):
        self._queries, self._items, self._dim, self.name = function, items or function, dim, name

    def __repr__(self) -> str:
        return abbreviate(f"FunctionEncoder({self.name}", f", {self._dim:,} dimensions)")

    @property
    def dim(self) -> int:
        """The declared width."""
        return self._dim

    @property
    def fingerprint(self) -> str:
        """The name and the width."""
        return f"function:{self.name}:{self._dim}"

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Call the function for queries and check what it returns."""
        return self._call(self._queries, texts)

    def items(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Call the function for items and check what it returns."""
        return self._call(self._items, texts)

    def _call(self, function: Callable[[Sequence[str]], object], texts: Sequence[str]) -> NDArray[np.float32]:
        listed = check_texts(texts)
        if not listed:  # not every function knows what to return for nothing
            return np.zeros((0, self._dim), np.float32)
        return self._checked(function(listed), len(listed))

    def _checked(self, rows: object, count: int) -> NDArray[np.float32]:
        try:
            matrix = np.ascontiguousarray(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise InputError(f"Encoder {self.name!r} must return rows of {self._dim} numbers. Got {error}.") from error
        if matrix.shape != (count, self._dim):
            raise InputError(f"Encoder {self.name!r} must return shape ({count}, {self._dim}). Got {matrix.shape}.")
        if not np.isfinite(matrix).all():
            raise InputError(f"Encoder {self.name!r} must return finite numbers. Got NaN or infinity.")
        return matrix
