"""A live member over words and the texts that it should hold: changed as an engine does, compared with fresh builds."""

import warnings

import numpy as np
from hypothesis import strategies as st

from vizsla.base.queries import Queries
from vizsla.core.candidates import Candidates
from vizsla.data.dataset import Dataset
from vizsla.text.analyzers import analyzer_of

WORDS = {
    "english": "the of is not national nations nation flexible flexibility running runs run dog dogs house houses war "
    "figs fig apple tree trees quick quickly wh-1000xm4 1980s 東京",
    "german": "der die das und ist war hunde hund laufen laufende häuser haus baum bäume nicht nation nationen apfel",
}
ENGLISH, GERMAN = (words.split() for words in WORDS.values())

texts = st.one_of(
    st.lists(st.sampled_from(ENGLISH), max_size=12).map(" ".join),
    st.lists(st.sampled_from(GERMAN), max_size=12).map(" ".join),
)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(texts, min_size=1, max_size=7)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 200), min_size=1, max_size=5)),
        st.tuples(st.sampled_from(["flush", "merge", "reopen"]), st.none()),
    ),
    min_size=1,
    max_size=10,
)


class World:
    """A member, and the texts that it should hold: what an engine does with it."""

    def __init__(self, kind, recipe, folder, sample=("the dog is running to the house", "der Hund ist nicht im Haus")):
        self.kind, self.recipe, self.folder = kind, recipe, folder
        self.settled = kind.settle(recipe, sample, {})
        self.fixed = recipe.but(**self.settled | {"analyzer": analyzer_of(self.settled["analyzer"])})
        self.member = kind(recipe, self.settled, {})
        self.member.open([], [])
        self.texts, self.live, self.stored = [], [], []

    def apply(self, change, values):
        if change == "append":
            self.member.append(values)
            self.texts += values
            self.live += [True] * len(values)
        elif change == "remove":
            self.remove(sorted({value % len(self.texts) for value in values} & set(self.alive)) if self.texts else [])
        elif change == "reopen":
            memory = self.texts[self.stored_rows :]
            self.member = self.kind(self.recipe, self.settled, {})
            self.open(list(range(len(self.texts))), memory)
        else:
            first = self.stored_rows if change == "flush" else 0
            slots = [slot for slot in self.alive if slot >= first]
            folder = self.folder / f"segment-{len(list(self.folder.iterdir()))}"
            self.member.write(folder, np.array(slots, np.int32))
            self.stored = [*(self.stored if change == "flush" else []), (folder, len(slots))]
            self.open([*range(first), *slots], [])

    def open(self, order, memory):
        self.texts, self.live = [self.texts[slot] for slot in order], [self.live[slot] for slot in order]
        self.member.open([folder for folder, _ in self.stored], [size for _, size in self.stored])
        self.member.append(memory)
        gone = [slot for slot, live in enumerate(self.live) if not live]
        if gone:
            self.member.remove(np.array(gone, np.int32), lambda: [self.texts[slot] for slot in gone])

    def remove(self, slots):
        self.member.remove(np.array(slots, np.int32), lambda: [self.texts[slot] for slot in slots])
        for slot in slots:
            self.live[slot] = False

    @property
    def stored_rows(self):
        return sum(size for _, size in self.stored)

    @property
    def alive(self):
        return [slot for slot, live in enumerate(self.live) if live]

    def view(self):
        return self.member.view(None if all(self.live) else np.array(self.live))

    def fresh(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.fixed.build(Dataset.of({str(slot): self.texts[slot] for slot in self.alive}))


def same(found, wanted, alive):
    """Whether slots are the fresh build's items, with the same scores to the last bit."""
    numbers = np.array(alive, np.int32)
    assert found.offsets.tolist() == wanted.offsets.tolist()
    assert found.items.tolist() == numbers[wanted.items].tolist()
    assert found.scores.tobytes() == wanted.scores.tobytes()


def check(world, queries, allowed=None):
    view, alive = world.view(), world.alive
    if not alive:
        assert len(view.search(Queries(queries), 5, None, 1).items) == 0
        return
    fresh = world.fresh()
    for k in (1, 4, 1000):
        same(view.search(Queries(queries), k, None, 1), fresh(queries, k), alive)
        same(view.search(Queries(queries), k, None, 2), fresh(queries, k), alive)
        if allowed is not None and allowed.any():
            wanted = fresh(queries, k, where=[str(slot) for slot in np.flatnonzero(allowed)])
            same(view.search(Queries(queries), k, allowed, 2), wanted, alive)
    for query in queries:
        same(view.search(Queries([query]), 3, None, 1), fresh([query], 3), alive)
    everything = np.array(alive, np.int32)
    scored = view.score(Queries(queries), Candidates.from_rows([everything] * len(queries)), 2)
    numbers = Candidates.from_rows([np.arange(len(alive), dtype=np.int32)] * len(queries))
    assert scored.scores.tobytes() == fresh.index.scores(fresh.encode(queries), numbers).scores.tobytes()
    found = view.search(Queries(queries), 1000, None, 1)
    again = view.score(Queries(queries), Candidates.from_rows(np.split(found.items, found.offsets[1:-1])), 1)
    assert again.scores.tobytes() == found.scores.tobytes()
    for query in queries:
        explained = view.explain(Queries([query]), alive[-1])
        assert str(explained) == str(fresh.explain(query, str(alive[-1])))
