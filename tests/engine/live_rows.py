"""A catalog of rows in a live member, changed as an engine changes it, and compared with what is built anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import vizsla
from vizsla.core.strings import Strings
from vizsla.engine.member import SlotRetriever
from vizsla.engine.slots import SlotMap

QUERIES = ["fig", "fig tree", "pear or plum", "", "zzz", "0 1 2 3"]


class LiveRows:
    """Slots, segments and deletions of one member, as an engine keeps them."""

    def __init__(self, make, folder: Path):
        self.make, self.folder, self.member = make, folder, make()
        self.texts: list[str] = []
        self.live: list[bool] = []
        self.segments: list[tuple[Path, int]] = []
        self.written = 0
        self.member.open([], [])

    @property
    def stored(self) -> int:
        """How many slots are in segments."""
        return sum(size for _, size in self.segments)

    @property
    def slots(self) -> np.ndarray:
        """The slots that are left."""
        return np.flatnonzero(self.live).astype(np.int32)

    def append(self, texts):
        self.member.append(texts)
        self.texts += texts
        self.live += [True] * len(texts)

    def remove(self, picks):
        slots = np.unique([self.slots[pick % len(self.slots)] for pick in picks if len(self.slots)]).astype(np.int32)
        if len(slots):
            self.member.remove(slots, lambda: [self.texts[slot] for slot in slots])
            for slot in slots:
                self.live[slot] = False
        return slots

    def write(self, slots):
        folder = self.folder / f"segment {self.written}"
        folder.mkdir()
        self.written += 1
        self.member.write(folder, np.array(slots, np.int32))
        return folder, len(slots)

    def flush(self):
        """Write the memory part into a segment; holes in it are left out."""
        kept = [slot for slot in range(self.stored, len(self.texts)) if self.live[slot]]
        self.reopen([*self.segments, self.write(kept)], [*range(self.stored), *kept])

    def merge(self, first, last):
        """Write some segments as one, without holes."""
        starts = np.cumsum([0, *(size for _, size in self.segments)]).tolist()
        kept = [slot for slot in range(starts[first], starts[last]) if self.live[slot]]
        merged = self.write(kept)
        tail = range(starts[last], len(self.texts))
        segments = [*self.segments[:first], merged, *self.segments[last:]]
        self.reopen(segments, [*range(starts[first]), *kept, *tail])

    def restart(self):
        """Begin in another process: a new member opens the segments and reads the rest."""
        self.member = self.make()
        self.reopen(self.segments, list(range(len(self.texts))))

    def reopen(self, segments, slots):
        """Open segments; slots say what became of the old ones. Rows that are in none are appended again."""
        texts, live = [self.texts[slot] for slot in slots], [self.live[slot] for slot in slots]
        self.segments = segments
        stored = self.stored
        self.member.open([folder for folder, _ in segments], [size for _, size in segments])
        tail = [slot for slot in range(stored, len(texts)) if live[slot]]
        self.texts = texts[:stored] + [texts[slot] for slot in tail]
        self.live = live[:stored] + [True] * len(tail)
        gone = np.array([slot for slot in range(stored) if not self.live[slot]], np.int32)
        if len(gone):
            self.member.remove(gone, lambda: [self.texts[slot] for slot in gone])
        if tail:
            self.member.append(self.texts[stored:])

    @property
    def ids(self) -> list[str]:
        return [f"id {slot}" for slot in self.slots.tolist()]

    def items(self) -> dict[str, str]:
        return {f"id {slot}": self.texts[slot] for slot in self.slots.tolist()}

    def retriever(self) -> SlotRetriever:
        whole = all(self.live)
        view = self.member.view(None if whole else np.array(self.live))
        return SlotRetriever(Strings.of(self.ids), view, None if whole else SlotMap.of(np.array(self.live)))


def same_answers(found, truth, seed: int = 0) -> None:
    """Compare two retrievers over the same items, bit for bit: searches, filters, scores and explanations."""
    rng, count = np.random.default_rng(seed), len(truth.items)
    assert list(found.items) == list(truth.items)
    for k in (1, 3, count + 2):
        assert found(QUERIES, k=k) == truth(QUERIES, k=k)
        assert found(QUERIES[0], k=k) == truth(QUERIES[0], k=k)
    for share in (0.1, 0.5, 0.9) if count else ():
        mask = rng.random(count) < share
        assert found(QUERIES, k=3, where=mask) == truth(QUERIES, k=3, where=mask)
        assert found(QUERIES[1], k=3, where=mask, threads=2) == truth(QUERIES[1], k=3, where=mask)
        everything = found(QUERIES, k=count, where=mask)
        assert found.score(QUERIES, everything).to_dict() == everything.to_dict()
        assert truth.score(QUERIES, everything).to_dict() == everything.to_dict()
    if count:
        item = truth.items[int(rng.integers(count))]
        one, other = found.explain("fig tree", item), truth.explain("fig tree", item)
        assert (one.score, str(one)) == (other.score, str(other))


def counted_letters(letters: str = "abcdefgilmnoprstuxz0123"):
    """An encoder of small whole numbers: ties are common."""
    return vizsla.encoders.FunctionEncoder(
        lambda texts: [[text.count(letter) for letter in letters] for text in texts], dim=len(letters), name="letters"
    )


def hashed(dim: int = 24):
    """An encoder of pseudo-random vectors, which are zeros for the empty text."""

    def rows(texts):
        drawn = [np.random.default_rng([len(text), *text.encode()]).normal(size=dim) for text in texts]
        return [row * bool(text) for row, text in zip(drawn, texts, strict=True)]

    return vizsla.encoders.FunctionEncoder(rows, dim=dim, name="hashed")
