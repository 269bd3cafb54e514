"""Run by the tests in processes of its own: scores overlapping pairs through one cache, and notes what it sent.

Arguments: cache file, log file, seed, rounds, chunk, milliseconds that a chunk takes. Each pair that is sent is noted
with the time before it was looked up, each that is stored with the time after; a line is written at once.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.scorers.cache import ScoreCache, ScoreStore
from vizsla.scorers.text import FunctionScorer

ITEMS = {f"i{n}": f"text {n}" for n in range(120)}
QUERIES = [f"query {n}" for n in range(4)]


def truth(query: str, text: str) -> float:
    return int(query.split()[1]) + int(text.split()[1]) / 7


def main(path: Path, log: Path, seed: int, rounds: int, chunk: int, ms: int) -> None:
    with log.open("w", buffering=1) as out:

        def scored(pairs):
            asked = cache._store.asked
            out.write("".join(f"sent {asked} {query}|{text}\n" for query, text in pairs))
            time.sleep(ms / 1e3)
            return [truth(query, text) for query, text in pairs]

        class Noted(ScoreStore):
            def get(self, fingerprint, pairs):
                self.asked = time.monotonic_ns()
                return super().get(fingerprint, pairs)

            def put(self, fingerprint, pairs, scores):
                super().put(fingerprint, pairs, scores)
                now = time.monotonic_ns()
                out.write("".join(f"stored {now} {query}|{text}\n" for query, text in pairs))

        cache = ScoreCache(FunctionScorer(scored, ITEMS, takes="pairs", name="seventh 1"), path, chunk=chunk)
        cache._store = Noted(path)
        pick = np.random.default_rng(seed)
        for _ in range(rounds):
            rows = [np.sort(pick.choice(len(ITEMS), 40, replace=False)).astype(np.int32) for _ in QUERIES]
            found = cache.score(QUERIES, Candidates.from_rows(rows, catalog=Strings.of(ITEMS)))
            for query, hits in zip(QUERIES, found, strict=True):
                for hit in hits:
                    if hit.score != np.float32(truth(query, ITEMS[hit.id])):
                        sys.exit(f"wrong score of {query!r}, {hit.id!r}: {hit.score}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:]))
