"""Searches from sixteen threads while others save, load and fork; exits with 0 if every answer was right.

python -m tests.robustness.busy_together FOLDER

Every retriever of the contract suite takes part, and scorers whose scores or vectors live in SQLite files. Half of the
searches ask what was loaded from the folders that others save over; children ask what they inherited, and load anew.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import sys
import threading
import traceback
from pathlib import Path

import vizsla
from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import RETRIEVERS, SCORERS
from tests.support.stuck import forked_status

THREADS, ROUNDS = 16, 12
OTHERS = ["save_and_load"] * 4 + ["fork"] * 2
FILES = ("cache", "late parametric")
"""Scorers that keep an SQLite file."""


def systems():
    """Return everything that is asked: what can be saved, and what re-ranks with the help of a file."""
    found = {name: case.make() for name, case in RETRIEVERS.items()}
    return found, {name: RETRIEVERS["bm25 lucene"].make() >> SCORERS[name]() for name in FILES}


class Together:
    """What the threads share: the retrievers, the right answers, and what went wrong."""

    def __init__(self, folder: Path):
        self.folder, self.wrong, self.others = folder, [], len(OTHERS)
        saved, other = systems()
        self.made = {**saved, **other}
        self.right = {name: self.answers(made) for name, made in self.made.items()}
        self.places = {name: folder / str(number) for number, name in enumerate(saved)}
        self.loaded = {name: vizsla.load(saved[name].save(place)) for name, place in self.places.items()}
        self.names, self.saved, self.counting = list(self.made), list(self.places), threading.Lock()

    @staticmethod
    def answers(made):
        allowed = list(ITEMS)[::2]
        return [made(QUERIES, k=7), made(QUERIES, k=7, threads=2), made(QUERIES[:3], k=4, where=allowed)]

    def check(self, made, name: str) -> None:
        if not same(self.answers(made), self.right[name]):
            self.wrong.append(f"{name}: another answer")

    def search(self, number: int) -> None:
        """Search for as long as anybody saves, loads or forks."""
        for turn in itertools.takewhile(lambda turn: turn < ROUNDS or self.others, itertools.count()):
            name = self.names[(number * ROUNDS + turn) % len(self.names)]
            self.check(self.made[name], name)
            self.check(self.loaded.get(name, self.made[name]), name)

    def save_and_load(self, number: int) -> None:
        for turn in range(ROUNDS):
            name = self.saved[(number * ROUNDS + turn) % len(self.saved)]
            self.made[name].save(self.places[name], overwrite=True)
            self.check(vizsla.load(self.places[name]), name)

    def fork(self, number: int) -> None:
        for name in self.names[number % 2 :: 2]:
            child = os.fork()
            if not child:
                code = 2
                try:
                    code = self.in_child(name)
                finally:
                    os._exit(code)
            self.wait_for(child, name)

    def in_child(self, name: str) -> int:
        """Return 0 if what was inherited answers as it did, and so does what is loaded anew."""
        asked = [self.made[name]]
        if name in self.places:
            asked += [self.loaded[name], vizsla.load(self.places[name])]
        return int(not all(same(self.answers(made), self.right[name]) for made in asked))

    def wait_for(self, child: int, name: str) -> None:
        if status := forked_status(child):
            self.wrong.append(f"{name}: a forked child ended with {status}, 6 if it hung")

    def guarded(self, work, number: int) -> None:
        try:
            work(number)
        except BaseException:
            self.wrong.append(traceback.format_exc())
        if work != self.search:
            with self.counting:
                self.others -= 1


def same(found, right) -> bool:
    """Whether answers agree in every bit of their arrays, not only in value."""
    arrays = [
        (getattr(one, name), getattr(other, name))
        for one, other in zip(found, right, strict=True)
        for name in ("offsets", "items", "scores")
    ]
    return all((one is other is None) or one.tobytes() == other.tobytes() for one, other in arrays)


def main() -> int:
    """Let everybody work, and tell what went wrong."""
    faulthandler.enable()
    together = Together(Path(sys.argv[1]))
    works = [together.search] * THREADS + [getattr(together, name) for name in OTHERS]
    threads = [threading.Thread(target=together.guarded, args=(work, n)) for n, work in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join(together.wrong[:5]), file=sys.stderr)
    return int(bool(together.wrong))


if __name__ == "__main__":
    sys.exit(main())
