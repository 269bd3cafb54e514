"""Kill workers of shards while items are written, and look for what was acknowledged."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Any

from vizsla.base.recipe import Recipe
from vizsla.engine.engine import Engine
from vizsla.scale import ShardedEngine

SHARDS = 3
WORDS = ("fig", "pear", "plum", "apple", "tree", "green", "red", "ripe", "sweet", "garden", "shop", "old", "new")
QUERIES = ["green fig", "ripe tree", "sweet", "old garden shop plum", "nothing"]
MEMBERS = {"words": Recipe.of("bm25")}


def hits(found: Any) -> list[list[tuple[str, float]]]:
    return [[(hit.id, hit.score) for hit in row] for row in found]


class Killing:
    """A collection on a cluster, and one engine that is given the same writes and never killed."""

    def __init__(self, folder: Path, on: Any, seed: int = 0):
        self.pick = random.Random(seed)
        self.shards = ShardedEngine.create(folder / "shards", SHARDS, members=MEMBERS, on=on)
        self.one = Engine.create(folder / "one", members=MEMBERS, durability="process")
        self.expected: dict[str, str] = {}
        self.kills = self.writes = 0

    def kill(self) -> None:
        """Write a few times, and end a shard's process at a random moment meanwhile."""
        shard = self.pick.randrange(SHARDS)
        process = self.shards._one(shard, "process")
        delay = self.pick.random() * 0.03

        def end() -> None:
            time.sleep(delay)
            os.kill(process, signal.SIGKILL)

        killer = threading.Thread(target=end)
        killer.start()
        for _ in range(3):
            self.write()
        killer.join()
        self.write()
        self.kills += 1

    def write(self) -> None:
        """Store eight items in both, and note that it was acknowledged."""
        items = {f"i{self.pick.randrange(400)}": " ".join(self.pick.choices(WORDS, k=6)) for _ in range(8)}
        self.shards.upsert(items)  # acknowledged when it returns
        self.one.upsert(items)
        self.expected |= items
        self.writes += 1

    def lost(self) -> list[str]:
        """Return the acknowledged items that are not there, or not as they were written."""
        found = {id: self.shards.get(id) for id in self.expected}
        return [id for id, text in self.expected.items() if found[id] is None or found[id].text != text]

    def differs(self) -> bool:
        """Return whether an answer is not that of the engine that was never killed."""
        return hits(self.shards.search(QUERIES, 10).candidates) != hits(self.one.search(QUERIES, 10))

    def close(self) -> None:
        self.shards.close()
        self.one.close()
