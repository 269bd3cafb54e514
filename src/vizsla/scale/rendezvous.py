"""Rendezvous hashing: which shard an id belongs to, and how few ids move when shards are added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TypeVar

from vizsla.errors import check_positive

T = TypeVar("T")


def shard_of(id: str, count: int) -> int:
    """Return the shard of an id: the one whose hash with the id is the largest.

    One more shard takes about one of `count + 1` ids from the others, and no id moves between the others.

    Parameters
    ----------
    id : str
        An item's id.
    count : int
        How many shards there are.

    Examples
    --------
    >>> [shard_of(id, 3) for id in ("fig", "pear", "plum", "apple")]
    [1, 0, 2, 2]
    >>> all(shard_of(id, 4) in (shard_of(id, 3), 3) for id in map(str, range(100)))
    True
    """
    data = id.encode("utf-8", "surrogatepass")
    hashes = [blake2b(data, digest_size=8, salt=shard.to_bytes(8, "big")).digest() for shard in range(count)]
    return hashes.index(max(hashes))


def routed(pairs: Iterable[tuple[str, T]], count: int) -> list[list[T]]:
    """Return what belongs to each shard, in order, by the id that stands before it.

    Examples
    --------
    >>> routed([("fig", 1), ("pear", 2), ("apple", 3)], 3)
    [[2], [1], [3]]
    """
    parts: list[list[T]] = [[] for _ in range(check_positive("count", count))]
    for id, one in pairs:
        parts[shard_of(id, count)].append(one)
    return parts


def moved(ids: Sequence[str], before: int, after: int) -> int:
    """Return how many of these ids belong to another shard when the number of shards changes.

    Examples
    --------
    >>> moved([str(number) for number in range(1000)], 4, 4)
    0
    """
    return sum(shard_of(id, before) != shard_of(id, after) for id in ids)
