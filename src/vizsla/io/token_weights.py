"""Sparse vectors that another model made, such as SPLADE: JSONL with a weight for each token."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.io.files import Line, LineFile
from vizsla.io.jsonl import json_object


class TokenWeights(NamedTuple):
    """Rows of token weights, of items or of queries.

    Attributes
    ----------
    ids : Strings
        Their ids.
    terms : Strings
        The tokens, by column.
    rows : SparseRows
        The weights.
    """

    ids: Strings
    terms: Strings
    rows: SparseRows


def read_token_weights(path: str | Path, *, terms: Strings | None = None) -> TokenWeights:
    """Read lines such as ``{"id": "d1", "vector": {"fig": 1.2, "tree": 0.3}}``; an inverted index takes the rows.

    Parameters
    ----------
    path : path
        A JSONL file, packed or not.
    terms : Strings, optional
        The tokens of the items, for queries: others are left out, since no item has them.

    Examples
    --------
    >>> import tempfile
    >>> from vizsla.indexes.inverted import InvertedIndex
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "items.jsonl"
    ...     lines = ['{"id": "f", "vector": {"fig": 1.5, "tree": 1}}', '{"id": "p", "vector": {"tree": 2}}']
    ...     _ = file.write_text(chr(10).join(lines))
    ...     items = read_token_weights(file)
    >>> found = InvertedIndex.build(items.rows).search(items.rows.take(np.array([1])), 5)
    >>> [items.ids[number] for number in found.items.tolist()], found.scores.tolist()
    (['p', 'f'], [4.0, 2.0])
    """
    known: dict[str, int] = {} if terms is None else {term: number for number, term in enumerate(terms)}
    fixed = terms is not None
    ids: list[str] = []
    offsets, columns, values = [0], list[int](), list[float]()
    for line in LineFile(path):
        id, vector = _checked(line)
        ids.append(id)
        entries = []
        for token, weight in vector.items():
            column = known.get(token, -1) if fixed else known.setdefault(token, len(known))
            if column >= 0 and weight > 0:
                entries.append((column, weight))
        for column, weight in sorted(entries):
            columns.append(column)
            values.append(weight)
        offsets.append(len(columns))
    found = Strings.of(list(known)) if terms is None else terms
    rows = SparseRows(
        np.array(offsets, np.int64), np.array(columns, np.int32), np.array(values, np.float32), len(found)
    )
    return TokenWeights(Strings.unique(ids), found, rows)


def _checked(line: Line) -> tuple[str, dict[str, float]]:
    remedy = 'Write {"id": "d1", "vector": {"token": 1.5}}.'
    record = json_object(line)
    vector = record.get("vector")
    if not isinstance(record.get("id"), str) or not isinstance(vector, dict):
        raise line.error("expected an id, and a vector of tokens and weights.", remedy)
    for token, weight in vector.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise line.error(f"the weight of {token!r:.40} must be a number from 0 on. Got {weight!r:.40}.", remedy)
    return record["id"], vector
