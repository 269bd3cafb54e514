"""A small world with made-up vectors: texts are names of random directions."""

from __future__ import annotations

import zlib

import numpy as np

from vizsla.base.encoder import FunctionEncoder
from vizsla.methods.dense import Dense, dense

DIM = 6


def vector(text: str) -> np.ndarray:
    row = np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIM)
    return (row / np.linalg.norm(row)).astype(np.float32)


ENCODER = FunctionEncoder(
    lambda texts: np.array([vector(text) for text in texts]).reshape(-1, DIM), dim=DIM, name="random directions"
)
ITEMS = {f"i{n}": f"item {n}" for n in range(30)}


def make_base(**options: object) -> Dense:
    return dense(ITEMS, ENCODER, **options)


def make_clicks(count: int = 60, seed: int = 3, items: int = 20) -> list[tuple[str, str, float]]:
    """Clicks on the first items only; some queries click twice, some clicks weigh more."""
    rng = np.random.default_rng(seed)
    return [(f"query {n // 2}", f"i{rng.integers(items)}", float(rng.integers(1, 4))) for n in range(count)]
