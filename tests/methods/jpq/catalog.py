"""A made catalog: vectors in a few dimensions, queries near them, clicks on some items."""

from __future__ import annotations

from functools import cache

import numpy as np

from vizsla.base.encoder import FunctionEncoder
from vizsla.data.dataset import Dataset
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.methods.dense import Dense, dense

ITEMS, QUERIES, DIM = 600, 1500, 32


@cache
def vectors() -> tuple[np.ndarray, np.ndarray]:
    """Return item vectors and the vectors of queries about the first nine tenths of them, all of length 1."""
    pick = np.random.default_rng(5)
    turn = pick.standard_normal((DIM, DIM)) * np.linspace(2, 0.2, DIM)
    items = pick.standard_normal((ITEMS, DIM)) @ turn
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    about = np.arange(QUERIES) % ITEMS
    queries = items[about] + 0.12 * pick.standard_normal((QUERIES, DIM))
    return items.astype(np.float32), (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)


def _encode(texts):
    items, queries = vectors()
    return np.array([(items if text[0] == "i" else queries)[int(text[1:])] for text in texts])


ENCODER = FunctionEncoder(_encode, dim=DIM, name="made")
IDS = [f"i{number}" for number in range(ITEMS)]
CLICKS = [(f"q{number}", f"i{number % ITEMS}") for number in range(QUERIES) if number % ITEMS < 540]


@cache
def flat() -> Dense:
    return dense({name: name for name in IDS}, ENCODER)


@cache
def coded(bits: int = 8, bytes: int = 2) -> Dense:
    index = PqIndex.build(vectors()[0], bytes=bytes, bits=bits, rounds=5)
    return Dense(flat().items, ENCODER, index)


@cache
def dataset() -> Dataset:
    texts = {f"q{number}": f"q{number}" for number in range(QUERIES)}
    return Dataset.of({name: name for name in IDS}, queries=texts, clicks=CLICKS)


def reciprocal_rank(retriever, numbers) -> float:
    """Return the mean reciprocal rank of the item that each of these queries is about."""
    found = retriever([f"q{number}" for number in numbers], k=10)
    wanted = [f"i{number % ITEMS}" for number in numbers]
    pairs = zip(wanted, found.ids, strict=True)
    return float(np.mean([1 / (row.index(item) + 1) if item in row else 0.0 for item, row in pairs]))
