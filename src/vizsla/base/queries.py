"""Queries: one call's query texts, and what encoders made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import SparseRows
from vizsla.core.stages import STAGE_TIMER
from vizsla.core.validation import check_listed
from vizsla.errors import InputError
from vizsla.io.frames import series_of

if TYPE_CHECKING:
    from vizsla.base.encoder import Encoder, Rows

T = TypeVar("T")


class Queries:
    """The query texts of a call, with encodings shared by all parts, so that each encoder runs once.

    Parameters
    ----------
    texts : list of str
        The queries.

    Attributes
    ----------
    typed : list of str
        The queries as they were typed: with the signs of the web syntax, which `texts` are without.
    spent : dict
        The cost of each query in this call, by the limit that it counts towards.

    Examples
    --------
    >>> from vizsla.base.encoder import FunctionEncoder
    >>> calls = []
    >>> def lengths(texts):
    ...     calls.append(list(texts))
    ...     return [[len(text)] for text in texts]
    >>> encoder, queries = FunctionEncoder(lengths, dim=1, name="length"), Queries(["fig", "pear"])
    >>> queries.encoded(encoder).ravel().tolist(), queries.encoded(encoder).ravel().tolist(), len(calls)
    ([3.0, 4.0], [3.0, 4.0], 1)
    """

    __slots__ = ("_memory", "_rows", "_whole", "spent", "texts", "typed")

    def __init__(self, texts: list[str], typed: list[str] | None = None):
        self.texts = texts
        self.typed = texts if typed is None else typed
        self._rows: dict[str, Rows] = {}
        self._whole: tuple[Queries, int] | None = None
        self._memory: dict[Any, Any] = {}
        self.spent: dict[Any, Any] = {}

    @classmethod
    def of(cls, queries: str | Sequence[str] | Queries, *, rows: int | None = None) -> Queries:
        """Take a text, many, or what was made of them; anything else, or another count than `rows`, raises.

        Queries that are given again keep all that is known of them, encodings and scores; but it is another call, so
        nothing is spent yet.

        Examples
        --------
        >>> Queries.of("fig tree").texts
        ['fig tree']
        """
        if isinstance(queries, str):
            asked = cls([queries])
        else:
            asked = queries._for_another_call() if isinstance(queries, Queries) else cls(_listed(queries))
        if rows is not None and (not isinstance(rows, int) or len(asked.texts) != rows):
            raise InputError(f"`queries` must be as many as the candidates' rows ({rows}). Got {len(asked.texts)}.")
        return asked

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Queries({len(self)} texts, {len(self._rows)} encodings)"

    def encoded(self, encoder: Encoder) -> Rows:
        """Return the encoder's rows, computed once for each fingerprint."""
        fingerprint = encoder.fingerprint
        rows = self._rows.get(fingerprint)
        if rows is None:
            timer = STAGE_TIMER.get()
            if timer is None:
                rows = self._encoded(encoder)
            else:
                with timer.stage(f"encode: {type(encoder).__name__}"):
                    rows = self._encoded(encoder)
            self._rows[fingerprint] = rows
        return rows

    def _encoded(self, encoder: Encoder) -> Rows:
        if self._whole is None:
            return encoder.encoded(self)
        whole, number = self._whole
        rows = whole._rows.get(encoder.fingerprint)
        if rows is None:
            rows = whole._rows[encoder.fingerprint] = encoder.encoded(whole)
        return _rows_at(rows, np.array([number]))

    def apart(self) -> list[Queries]:
        """Return each query as queries of its own; the first that needs an encoder's row lets it encode them all.

        Requests that are answered one by one, as pages are, so share one call of an encoder.

        Examples
        --------
        >>> from vizsla.base.encoder import FunctionEncoder
        >>> calls = []
        >>> def lengths(texts):
        ...     calls.append(list(texts))
        ...     return [[len(text)] for text in texts]
        >>> encoder = FunctionEncoder(lengths, dim=1, name="length")
        >>> [one.encoded(encoder).item() for one in Queries(["fig", "pear"]).apart()], calls
        ([3.0, 4.0], [['fig', 'pear']])
        """
        parts = [Queries([text]) for text in self.texts]
        for number, part in enumerate(parts):
            part._whole = (self, number)
        return parts

    def seed(self, encoder: Encoder, rows: Rows) -> None:
        """Give the rows that an encoder's would be: those of items that the queries stand for."""
        self._rows.setdefault(encoder.fingerprint, rows)

    def take(self, numbers: NDArray[np.int64]) -> Queries:
        """Return some of the queries with what encoders made of them: nothing is encoded again.

        Examples
        --------
        >>> Queries(["fig", "pear", "plum"]).take(np.array([2, 0])).texts
        ['plum', 'fig']
        """
        rows = numbers.tolist()
        part = Queries([self.texts[row] for row in rows], [self.typed[row] for row in rows])
        for fingerprint, rows in self._rows.items():
            part._rows[fingerprint] = _rows_at(rows, numbers)
        return part

    def reworded(self, numbers: Sequence[int], texts: Sequence[str]) -> Queries:
        """Return some of the queries in other words; the same rows in the same words always share what is memoized.

        Examples
        --------
        >>> queries = Queries(['"fig tree"', "pear"])
        >>> queries.reworded([0], ["fig tree"]).memoize("seen", 1), queries.reworded([0], ["fig tree"]).memo("seen")
        (1, 1)
        """
        rows, words = tuple(numbers), list(texts)
        if words == self.texts and rows == tuple(range(len(words))):
            return self
        key = (Queries, rows, tuple(words))
        known: Queries | None = self.memo(key)
        if known is None:
            same = words == [self.texts[row] for row in rows]
            typed = [self.typed[row] for row in rows]
            known = self.memoize(key, self.take(np.array(rows, np.int64)) if same else Queries(words, typed))
        return known._for_another_call()

    def joined(self, others: Queries) -> Queries:
        """Return these queries and others after them, with the dense rows that both have.

        Examples
        --------
        >>> Queries(["fig"]).joined(Queries(["pear"])).texts
        ['fig', 'pear']
        """
        both = Queries(self.texts + others.texts)
        for fingerprint, rows in self._rows.items():
            more = others._rows.get(fingerprint) if len(others) else None
            if isinstance(rows, np.ndarray) and isinstance(more, np.ndarray):
                both._rows[fingerprint] = np.concatenate([rows, more])
        return both if len(others) else self

    def memo(self, key: Any) -> Any:
        """Return what a part of this call remembered under this key, or None."""
        return self._memory.get(key)

    def memoize(self, key: Any, value: T) -> T:
        """Keep something for later in this call: begin the key with the object that remembers."""
        self._memory[key] = value
        return value

    def _for_another_call(self) -> Queries:
        other = Queries(self.texts, self.typed)
        other._rows, other._memory, other._whole = self._rows, self._memory, self._whole
        return other


def _rows_at(rows: Rows, numbers: NDArray[np.int64]) -> Rows:
    return rows.take(numbers) if isinstance(rows, SparseRows) else rows[numbers]


def _listed(queries: Any) -> list[str]:
    if not isinstance(queries, list | tuple):
        queries = series_of(queries)
        check_listed("queries", queries)
    try:
        texts = list(queries)
    except TypeError:
        kind = type(queries).__name__
        raise InputError(f"`queries` must be a text or a sequence of texts. Got {kind}.") from None
    wrong = [type(text).__name__ for text in texts if not isinstance(text, str)]
    if wrong:
        raise InputError(f"`queries` must be a text or a sequence of texts. Got {wrong[0]} in it.")
    return texts
