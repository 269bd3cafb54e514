"""An engine's model: a plain dict of what was acknowledged, and random steps that change both alike."""

import random
from pathlib import Path

import numpy as np

import vizsla
from tests.engine.live_rows import counted_letters, hashed
from vizsla import Dataset, Item, Recipe, where
from vizsla.base.queries import Queries
from vizsla.core.strings import Strings
from vizsla.engine.engine import Engine
from vizsla.engine.query_memory import RememberedRetriever
from vizsla.engine.vector_member import _read_book
from vizsla.errors import InputError
from vizsla.indexes.pq.codebook import PqCodes
from vizsla.indexes.pq.pq_index import PqIndex
from vizsla.learning.clicks import ClickLog
from vizsla.methods.pefa.options import XlSettings, XsSettings
from vizsla.methods.pefa.xl import PefaXl, query_index
from vizsla.methods.pefa.xs import PefaXs

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

ENCODER = counted_letters()
REALS = hashed()
WORLDS = (
    RECIPES,
    {
        "meaning": Recipe.of("dense", encoder=ENCODER),
        "marks": Recipe.of("tokens", epochs=0, b=0.5),
        "near": Recipe.of("pefa", base="meaning", variant="xs"),
        "past": Recipe.of("pefa", base="meaning", variant="xl"),
        "both": "0.5*meaning.normalized() + 0.5*marks.normalized()",
    },
    {
        "fields": Recipe.of("bm25", fields={"text": 1, "brand": 3}),
        "typos": Recipe.of("typo_tolerant", base=Recipe.of("bm25")),
    },
    {
        "coded": Recipe.of("dense", encoder=REALS, index="pq", bytes=4, bits=4, rounds=1),
        "small": Recipe.of("pq", base=Recipe.of("dense", encoder=REALS), bytes=3, opq=False),
        "half": Recipe.of("dense", encoder=REALS, storage="float16"),
        "clicked": Recipe.of("click_memory"),
        "best": "0.5*half.normalized() + 0.5*coded.normalized()",
    },
)
"""Members of a walk, which answer exactly after every change."""
EXTRA = Recipe.of("bm25", k1=0.9)
"""What comes and goes."""
BINDINGS = {ENCODER.fingerprint: ENCODER, REALS.fingerprint: REALS}
OPTIONS = {"metadata": {"price": "number", "brand": "text"}, "durability": "process", "bindings": BINDINGS}


def walk(folder, seed, *, steps, flush_rows):
    """Take random steps with two engines over one folder, either of which may write, and compare on the way."""
    chance = random.Random(seed)
    model = Model(chance, chance.choice(WORLDS))
    engines = [
        Engine.create(folder, members=model.members, flush_rows=flush_rows, maintenance="manual", **OPTIONS),
        Engine.open(folder, bindings=BINDINGS, maintenance="manual"),
    ]
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
            engines[one] = Engine.open(folder, bindings=BINDINGS, maintenance="manual")
        elif act < 0.91:
            model.change_members(engines[one])
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
    members : dict of str to Recipe or str
        What answers.
    """

    def __init__(self, random, members):
        self.random, self.items, self.clicks = random, {}, []
        self.members, self.snapshots = dict(members), {}
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

    def dataset(self, clicks=None):
        # Two items of all kinds settle what the fields are; without them the kind would depend on what is left.
        return Dataset.of(list(self.items.values()), clicks=clicks, meta=["price:number", "brand:text"])

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
        elif choice < 0.82:
            self.forget(engine)
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

    def forget(self, engine):
        """Delete the clicks of a query or an item."""
        which, place = self.random.choice([("query", 0), ("item", 1)])
        texts = [click[place] for click in self.clicks] or ["fig"]
        text = self.random.choice(texts)
        left = [click for click in self.clicks if click[place] != text]
        assert engine.delete_clicks(**{which: text}) == len(self.clicks) - len(left)
        self.clicks = left

    def change_members(self, engine):
        """Keep the members under a name, go back to such, or let one come or go; items and clicks stay."""
        act = self.random.choice(["snapshot", "rollback", "member", "rebuild"])
        if act == "snapshot":
            name = f"s{len(self.snapshots)}"
            engine.snapshot(name)
            self.snapshots[name] = dict(self.members)
        elif act == "rollback" and self.snapshots:
            name = self.random.choice(list(self.snapshots))
            engine.rollback(name)
            self.members = dict(self.snapshots[name])
        elif act == "rebuild":
            self.rebuild(engine)
        elif "extra" in self.members:
            engine.drop_member("extra")
            del self.members["extra"]
        else:
            engine.add_member("extra", EXTRA)
            self.members["extra"] = EXTRA

    def rebuild(self, engine):
        """Let a member settle anew: codebooks are trained on the items that there are."""
        name = self.random.choice([name for name, member in self.members.items() if not isinstance(member, str)])
        if self.members[name].kind != "pefa":  # whose settings are chosen on clicks, which takes seconds
            engine.rebuild(name)

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
        fresh = self.fresh(engine)
        queries = [self.text() for _ in range(3)]
        condition = self.random.choice([None, *CONDITIONS])
        ids = None if condition is None else self.matching(condition)
        for name, retriever in fresh.items():
            k = self.random.choice([1, 3, 10, 100])
            wanted = retriever(queries, k, **({} if ids is None else {"where": ids}))
            generation = engine.generation(metadata=ids is not None)
            member = generation.retriever(name)
            if isinstance(member, RememberedRetriever):
                member = member.part  # what was clicked for the very query has tests of its own
            found = member(queries, k, where=None if ids is None else generation.filter(where(condition)))
            assert found.ids == wanted.ids, name
            assert np.array_equal(found.scores, wanted.scores), name
            scored = member.score(queries, found)
            assert scored.ids == found.ids
            assert np.array_equal(scored.scores, found.scores)
        id = self.random.choice(list(self.items))
        assert engine.get(id) == self.items[id]._replace(metadata=dict(self.items[id].metadata))

    def fresh(self, engine):
        """Build every member of what there is, with what the engine has settled."""
        dataset, found = self.dataset(), {}
        for name, member in self.members.items():
            if isinstance(member, str):
                found[name] = vizsla.parse(member, found)
            elif member.kind == "pefa":
                found[name] = self.learned(engine, name, found[member.settings["base"]])
            elif member.kind == "click_memory":
                found[name] = member.build(self.dataset(clicks=self.clicks or None))
            elif member.kind == "pq" or member.settings.get("index") == "pq":
                found[name] = self.coded(engine, name, dataset)
            elif member.settings.get("fields"):
                held = {"text"}.union(*(item.metadata for item in self.items.values()))
                fields = {name: weight for name, weight in member.settings["fields"].items() if name in held}
                found[name] = member.but(fields=fields).build(dataset)
            else:
                found[name] = member.build(dataset)
        return found

    def coded(self, engine, name, dataset):
        """Code each item with the codebook that is settled; before there is one, they are vectors."""
        book = _read_book(engine.generation().definitions[name].settled)
        flat = vizsla.dense(dataset, REALS)
        if book is None:
            return flat
        # One by one: the last bit of a rotated row depends on those beside it, and few rows make equal centroids.
        codes = [book.assigned(row[None]) for row in flat.index.vectors]
        index = PqIndex(PqCodes.of(np.concatenate(codes), bits=book.bits), book)
        return vizsla.methods.Dense(Strings.of(list(self.items)), REALS, index)

    def learned(self, engine, name, base):
        chosen = engine.generation().definitions[name].settled["settings"]
        rows = [(query, item, weight) for query, item, weight, _ in self.clicks]
        log = ClickLog.of(rows, base.items, lambda texts: Queries(texts).encoded(ENCODER))
        if name == "near":
            return PefaXs.build(base, log, XsSettings(**chosen))
        return PefaXl(base, ENCODER, log, XlSettings(**chosen), query_index("flat", log))
