"""Searches from sixteen threads while others save, load and fork; exits with 0 if every answer was right.

python -m tests.interrupts.busy_together FOLDER
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from pathlib import Path

import vizsla
from tests.contract.catalogue import ITEMS, QUERIES
from tests.contract.registry import RETRIEVERS

NAMES = (
    "bm25 lucene",
    "xrlinear",
    "dense flat",
    "dense hnsw",
    "dense ivf",
    "pefa-xl",
    "pefa-xs bm25",
    "sum",
    "fusion",
    "shards",
    "bag learned",
    "jpq",
    "dense pq 4 bits",
    "dense guarded",
    "late interaction",
    "adacur",
)
THREADS, ROUNDS, CHILD_PATIENCE = 16, 12, 120.0


class Together:
    """What the threads share: the retrievers, the right answers, and what went wrong."""

    def __init__(self, folder: Path):
        self.folder, self.wrong = folder, []
        self.made = {name: RETRIEVERS[name].make() for name in NAMES}
        self.right = {name: self.answers(made) for name, made in self.made.items()}
        for number, made in enumerate(self.made.values()):
            made.save(folder / str(number))

    @staticmethod
    def answers(made):
        allowed = list(ITEMS)[::2]
        return [made(QUERIES, k=7), made(QUERIES, k=7, threads=2), made(QUERIES[:3], k=4, where=allowed)]

    def check(self, made, name: str) -> None:
        if self.answers(made) != self.right[name]:
            self.wrong.append(f"{name}: another answer")

    def search(self, number: int) -> None:
        for turn in range(ROUNDS):
            name = NAMES[(number + turn) % len(NAMES)]
            self.check(self.made[name], name)

    def save_and_load(self, number: int) -> None:
        for turn in range(ROUNDS):
            at = (number + turn) % len(NAMES)
            self.made[NAMES[at]].save(self.folder / str(at), overwrite=True)
            self.check(vizsla.load(self.folder / str(at)), NAMES[at])

    def fork(self, number: int) -> None:
        for turn in range(ROUNDS // 2):
            name = NAMES[(number + turn) % len(NAMES)]
            child = os.fork()
            if not child:
                try:
                    os._exit(0 if self.answers(self.made[name]) == self.right[name] else 1)
                finally:
                    os._exit(2)
            self.wait_for(child, name)

    def wait_for(self, child: int, name: str) -> None:
        deadline = time.monotonic() + CHILD_PATIENCE
        while time.monotonic() < deadline:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                if status:
                    self.wrong.append(f"{name}: a forked child ended with {status}")
                return
            time.sleep(0.01)
        os.kill(child, 9)
        os.waitpid(child, 0)
        self.wrong.append(f"{name}: a forked child hangs")

    def guarded(self, work, number: int) -> None:
        try:
            work(number)
        except BaseException:
            self.wrong.append(traceback.format_exc())


def main() -> int:
    """Let everybody work, and tell what went wrong."""
    together = Together(Path(sys.argv[1]))
    works = [together.search] * THREADS + [together.save_and_load] * 2 + [together.fork] * 2
    threads = [threading.Thread(target=together.guarded, args=(work, n)) for n, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join(together.wrong[:5]), file=sys.stderr)
    return int(bool(together.wrong))


if __name__ == "__main__":
    sys.exit(main())
