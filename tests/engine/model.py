"""An engine's model: a plain dict of what was acknowledged, and random steps that change both alike."""

import random
from pathlib import Path

import numpy as np

import vizsla
from vizsla import Dataset, Item, Recipe, where
from vizsla.engine.engine import Engine
from vizsla.errors import InputError

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # thousands of commits need not wait for a disk
FLUSH_ROWS = (2, 5, 20, 10_000)

WORDS = [
    "fig",
    "pear",
    "plum",
    "date",
    "lime",
    "kiwi",
    "pea",
    "bean",
    "corn",
    "leek",
    "red",
    "green",
    "small",
    "old",
    "sweet",
    "sour",
]
CONDITIONS = ["price<5", "price>=5 and brand=Ace", "brand in (Bo, Cy)", "price is null", "not brand=Ace"]
RECIPES = {
    "words": Recipe.of("bm25"),
    "weights": Recipe.of("tfidf"),
    "both": "0.5*words.normalized() + 0.5*weights.normalized()",
}

OPTIONS = {"members": RECIPES, "metadata": {"price": "number", "brand": "text"}, "durability": "process"}


def walk(folder, seed, *, steps, flush_rows):
    """Take random steps with two engines over one folder, either of which may write, and compare on the way."""
    chance = random.Random(seed)
    model = Model(chance)
    engines = [Engine.create(folder, flush_rows=flush_rows, maintenance="manual", **OPTIONS)]
    engines.append(Engine.open(folder, maintenance="manual"))
    for _ in range(steps):
        one = chance.randrange(2)
        act = chance.random()
        if act < 0.7:
            model.change(engines[one])
        elif act < 0.77:
            engines[one].flush()
        elif act < 0.82:
            engines[one].maintain()
        elif act < 0.84:
            engines[one].compact(erase=chance.random() < 0.3)
        elif act < 0.88:
            engines[one].close()
            engines[one] = Engine.open(folder, maintenance="manual")
        else:
            model.compare(engines[one])
    for engine in engines:
        model.compare(engine)
        assert engine.check() == []
        engine.close()


class Model:
    """What an engine must hold.

    Parameters
    ----------
    random : random.Random
        Chooses.
    """

    def __init__(self, random):
        self.random, self.items, self.clicks = random, {}, []
        self.next = 0

    def text(self):
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 8)))

    def fields(self):
        known = {"price": self.random.randint(0, 9), "brand": self.random.choice(["Ace", "Bo", "Cy"])}
        return {name: value for name, value in known.items() if self.random.random() < 0.8}

    def new_items(self, count):
        self.next += count
        return [Item(f"i{self.next - at}", self.text(), "", self.fields()) for at in range(count)]

    def some(self, most):
        known = list(self.items)
        return self.random.sample(known, min(len(known), self.random.randint(1, most)))

    def put(self, items):
        for item in items:
            self.items.pop(item.id, None)
            self.items[item.id] = item

    def drop(self, ids):
        for id in ids:
            del self.items[id]
        self.clicks = [click for click in self.clicks if click[1] not in ids]

    def matching(self, condition):
        if not self.items:
            return []
        catalog = self.dataset().item_ids
        try:
            mask = where(condition).mask(catalog)
        except InputError:
            return None
        return [id for id, kept in zip(self.items, mask, strict=True) if kept]

    def dataset(self):
        # Two items of all kinds settle what the fields are; without them the kind would depend on what is left.
        return Dataset.of(list(self.items.values()), meta=["price:number", "brand:text"])

    def change(self, engine):
        """Make one random change to both."""
        choice = self.random.random()
        if choice < 0.35 or not self.items:
            items = self.new_items(self.random.choice([1, 1, 2, 5]))
            engine.add(items)
            self.put(items)
        elif choice < 0.55:
            items = [Item(id, self.text(), "", self.fields()) for id in self.some(3)]
            engine.upsert(items)
            self.put(items)
        elif choice < 0.7:
            ids = self.some(4)
            engine.delete(ids)
            self.drop(ids)
        elif choice < 0.8:
            changed = {id: self.fields() for id in self.some(3)}
            engine.update_metadata(changed)
            for id, fields in changed.items():
                item = self.items[id]
                self.items[id] = item._replace(metadata={**item.metadata, **fields})
        elif choice < 0.9:
            click = (self.text(), self.random.choice(list(self.items)), float(self.random.randint(1, 3)), 1.0)
            engine.click(*click)
            self.clicks.append(click)
        elif choice < 0.93:
            ids = self.matching(CONDITIONS[0])
            if ids is not None:
                assert engine.delete(where=where(CONDITIONS[0])) == len(ids)
                self.drop(ids)
        else:
            self.change_many(engine)

    def change_many(self, engine):
        """Make several changes in one transaction."""
        new, gone = self.new_items(2), self.some(2)
        with engine.transaction() as changes:
            changes.add(new)
            changes.delete(gone)
            changes.upsert([Item(gone[0], "a fig again")])
        self.put(new)
        self.drop(gone)
        self.put([Item(gone[0], "a fig again")])

    def compare(self, engine):
        """Compare answers with those of a fresh build, bit for bit, and everything else that is stored."""
        assert engine.count() == len(self.items)
        assert list(engine.items) == list(self.items)
        assert engine.stats()["clicks"] == len(self.clicks)
        if not self.items:
            assert engine.search("fig").ids == [[]]
            return
        dataset = self.dataset()
        fresh = {name: recipe.build(dataset) for name, recipe in RECIPES.items() if not isinstance(recipe, str)}
        fresh["both"] = vizsla.parse(RECIPES["both"], fresh)
        queries = [self.text() for _ in range(3)]
        condition = self.random.choice([None, *CONDITIONS])
        ids = None if condition is None else self.matching(condition)
        for name, retriever in fresh.items():
            k = self.random.choice([1, 3, 10, 100])
            asked = {} if ids is None else {"where": where(condition)}
            wanted = retriever(queries, k, **({} if ids is None else {"where": ids}))
            found = engine.search(queries, k, using=name, **asked)
            assert found.ids == wanted.ids
            assert np.array_equal(found.scores, wanted.scores)
            scored = engine.member(name).score(queries, found)
            assert scored.ids == found.ids
            assert np.array_equal(scored.scores, found.scores)
        id = self.random.choice(list(self.items))
        assert engine.get(id) == self.items[id]._replace(metadata=dict(self.items[id].metadata))
