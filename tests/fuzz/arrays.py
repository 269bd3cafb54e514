"""Hostile changes of an array: other values, another order, another length, type or shape."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Change = Callable[[np.ndarray, np.random.Generator], np.ndarray]
DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
MOST_BYTES = 1 << 20


def changed(values: np.ndarray, random: np.random.Generator) -> tuple[str, np.ndarray]:
    """Return a changed copy, and what was done to it."""
    names = list(CHANGES)
    name = names[random.choice(len(names), p=WEIGHTS)]
    return name, CHANGES[name](values.copy(), random)


def _set(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if values.size:
        for _ in range(_few(random)):
            values.flat[_place(values, random)] = _value(values, random)
    return values


def _place(values: np.ndarray, random: np.random.Generator) -> int:
    ends = [0, values.size - 1, min(1, values.size - 1), max(0, values.size - 2)]
    return int(random.choice(ends) if random.random() < 0.4 else random.integers(values.size))


def _value(values: np.ndarray, random: np.random.Generator) -> object:
    kind, other = values.dtype.kind, values.flat[int(random.integers(values.size))]
    if kind == "b":
        return not other
    if kind == "f":
        most = np.finfo(values.dtype).max
        return random.choice([np.nan, np.inf, -np.inf, most, -most, 0.0, -0.0, 1e-40, -1.0, 1.0, 2.0, float(other)])
    info = np.iinfo(values.dtype)
    near = [int(other), int(other) + 1, int(other) - 1, values.size, values.size - 1, int(values.max()) + 1]
    wild = [info.min, info.max, info.max - 1, info.max // 2, 0, 1, -1, -2, 2**31, 2**32, 2**32 - 1, 255, 256]
    chosen = int(random.choice(np.array(near if random.random() < 0.5 else wild, dtype=object)))
    return min(max(chosen, info.min), info.max)


def _wrap_around(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Numbers whose differences overflow and so look like those of a rising row."""
    if values.dtype.kind == "i" and values.size >= 4:
        at = int(random.integers(1, values.size - 2))
        values.flat[at], values.flat[at + 1] = np.iinfo(values.dtype).max, -2
    return values


def _flip(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    raw = np.frombuffer(values.tobytes(), np.uint8).copy()
    for _ in range(_few(random) if len(raw) else 0):
        raw[int(random.integers(len(raw)))] ^= 1 << int(random.integers(8))
    return (raw & 1 if values.dtype.kind == "b" else raw).view(values.dtype).reshape(values.shape)


def _few(random: np.random.Generator) -> int:
    """Few more often than many: what is subtly wrong gets further in than what is plainly so."""
    return int(1 + random.exponential(3) // 1)


def _borrow(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Put values of the array itself in other places of it: each is in range, only the whole may make no sense."""
    flat = values.reshape(-1)
    for _ in range(_few(random) if len(flat) else 0):
        place, other = random.integers(len(flat), size=2)
        flat[place] = flat[min(place + 1, len(flat) - 1)] if random.random() < 0.3 else flat[other]
    return flat.reshape(values.shape)


def _nudge(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Make a few values a little larger or smaller."""
    flat = values.reshape(-1)
    with np.errstate(all="ignore"):
        for _ in range(_few(random) if len(flat) and values.dtype.kind != "b" else 0):
            flat[int(random.integers(len(flat)))] += (
                values.dtype.type(1) if random.random() < 0.5 else -values.dtype.type(1)
            )
    return flat.reshape(values.shape)


def _reorder(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    flat = values.reshape(-1)
    how = int(random.integers(5))
    if how == 0:
        random.shuffle(flat)
    elif how == 1 and len(flat) > 1:
        one, other = random.integers(len(flat), size=2)
        flat[[one, other]] = flat[[other, one]]
    else:
        flat = [flat[::-1], np.sort(flat), np.roll(flat, 1)][how - 2] if how > 1 else flat
    return flat.reshape(values.shape)


def _fill(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if values.size:
        values[...] = _value(values, random)
    return values


def _shift(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    with np.errstate(all="ignore"):
        if values.dtype.kind == "f":
            return (values * values.dtype.type(2.0 ** int(random.integers(-140, 140)))).astype(values.dtype)
        return values if values.dtype.kind == "b" else values + values.dtype.type(random.integers(1, 100))


def _resize(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    more = max(1, min(1000, MOST_BYTES // max(1, values.nbytes)))
    forms = [
        values[:0], values[:-1], values[1:], values[:1], np.concatenate([values, values]),
        np.concatenate([values, values[-1:]]), np.concatenate([values] * more), values[: len(values) // 2],
    ] if values.ndim else [values]  # fmt: skip
    return forms[int(random.integers(len(forms)))]


def _retype(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    with np.errstate(all="ignore"):
        return values.astype(DTYPES[int(random.integers(len(DTYPES)))])


def _reshape(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    flat = values.reshape(-1)
    if not len(flat):
        return flat[None]
    forms = [flat, flat[None], flat[:, None], flat[None, None], flat[: len(flat) // 2 * 2].reshape(-1, 2)]
    forms += [flat[: len(flat) // 2 * 2].reshape(2, -1), values.T.copy(), flat[:1].reshape(())]
    return forms[int(random.integers(len(forms)))]


CHANGES: dict[str, Change] = {
    "set": _set,
    "borrow": _borrow,
    "nudge": _nudge,
    "wrap around": _wrap_around,
    "flip": _flip,
    "reorder": _reorder,
    "fill": _fill,
    "shift": _shift,
    "resize": _resize,
    "retype": _retype,
    "reshape": _reshape,
}
WEIGHTS = np.array([6, 4, 3, 1.5, 3, 2, 1, 1, 1, 0.25, 0.25]) / 23
