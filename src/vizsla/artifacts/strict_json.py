"""JSON without its traps: no repeated keys, no NaN, no giant numbers, no bottomless nesting."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

MAX_BYTES = 16 << 20
"""JSON is for parameters and small documents; whatever grows with the catalog belongs in arrays."""

MAX_VALUES = 1_000_000
"""Keys and values of a document. Two bytes of JSON can become a hundred in memory, so bytes alone are no limit."""

MAX_DEPTH = 64
MAX_WHOLE = 2**64


def parse(data: bytes) -> Any:
    """Return the value that UTF-8 JSON holds; raise ValueError for anything that JSON readers disagree on.

    Examples
    --------
    >>> parse(b'{"k1": 1.2}')
    {'k1': 1.2}
    >>> parse(b'{"k1": 1.2, "k1": 0.9}')
    Traceback (most recent call last):
    ValueError: the key 'k1' is given twice
    """
    if measure(data) > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES:,} values")
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=distinct)
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} deep") from None
    _check(value)
    return value


def read(file: Path) -> Any:
    """Return the value that a JSON file holds; raise ValueError as `parse` does, before a long file is read."""
    if file.stat().st_size > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes")
    return parse(file.read_bytes())


def measure(data: bytes) -> int:
    """Return how many keys and values JSON has at most, without parsing it; raise ValueError if too long or too deep.

    Examples
    --------
    >>> measure(b'{"k1": [1.2, "a, b"]}')
    5
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes")
    # Escapes are blanked pair by pair, so every quote that is left begins or ends a text.
    plain = data.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    letters = np.frombuffer(plain, np.uint8)
    inside = np.cumsum(letters == ord('"'), dtype=np.uint8) & 1  # whether a text is open: the parity survives overflow
    letters = letters[inside == 0]
    opened = (letters == ord("[")) | (letters == ord("{"))
    closed = (letters == ord("]")) | (letters == ord("}"))
    depth = np.cumsum(opened.astype(np.int8) - closed.astype(np.int8), dtype=np.int32)
    if depth.max(initial=0) > MAX_DEPTH:
        raise ValueError(f"nested more than {MAX_DEPTH} deep")
    separators = (letters == ord(",")) | (letters == ord(":"))
    return 1 + int(np.count_nonzero(opened)) + int(np.count_nonzero(separators))


def dump(value: Any) -> bytes:
    """Return the value as UTF-8 JSON that `parse` reads back; raise ValueError or TypeError where none exists.

    Examples
    --------
    >>> dump({"b": 0.75})
    b'{\\n "b": 0.75\\n}'
    """
    _check(value)
    data = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False, default=_plain).encode("utf-8")
    if len(data) > MAX_BYTES:
        raise ValueError(f"more than {MAX_BYTES} bytes")
    return data


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs of an object as a dict, for `json.loads`; a repeated key raises ValueError."""
    value = dict(pairs)
    if len(value) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {counts.most_common(1)[0][0]!r} is given twice")
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a number, text, bool, None, list or dict")


def _check(value: Any) -> None:
    # A list of what is left to visit instead of recursion: depth is what a hostile file attacks.
    left: list[tuple[Any, int]] = [(value, 0)]
    while left:
        value, depth = left.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} deep")
        left.extend((part, depth + 1) for part in _parts(value))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        if any(not isinstance(key, str) for key in value):
            raise TypeError("every key must be a text")
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, str):
        value.encode("utf-8")  # A lone surrogate parses but can never be printed.
    elif isinstance(value, int | np.integer) and abs(int(value)) >= MAX_WHOLE:
        raise ValueError("a whole number needs more than 64 bits")
    elif isinstance(value, float | np.floating) and not math.isfinite(value):
        raise ValueError("NaN and infinity are not JSON")
    return ()


def one_line(value: Any) -> str:
    """Return the value as JSON on one line.

    Examples
    --------
    >>> one_line({"b": [1, 2]})
    '{"b": [1, 2]}'
    """
    return json.dumps(value, ensure_ascii=False)
