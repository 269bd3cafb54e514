"""The catalog of these tests: as a retriever, as an engine, and as paths to both."""

from vizsla import Dataset, Engine, Recipe, bm25

ITEMS = [
    {"id": "fig", "text": "a small sweet fig from a fig tree", "price": 3, "kind": "fruit"},
    {"id": "pear", "text": "a sweet pear", "price": 7, "kind": "fruit"},
    {"id": "leek", "text": "a leek is not sweet", "price": 2, "kind": "vegetable"},
]
TEXTS = {row["id"]: row["text"] for row in ITEMS}


def retriever():
    return bm25(Dataset.of(ITEMS, keep_texts=True))


def truth(query="sweet", k=10, where=None, of=None):
    """The ids and scores that a retriever itself gives."""
    return [(hit.id, hit.score) for hit in (of or retriever())(query, k, where=where)[0]]


def engine(folder):
    made = Engine.create(folder, members={"words": Recipe.of("bm25"), "stem": Recipe.of("tfidf")}, default="words")
    made.add(ITEMS)
    return made


def targets(folder):
    """The same catalog in the forms that every adapter takes, each with what answers for it."""
    made, alone = engine(folder / "engine"), retriever()
    alone.save(folder / "artifact")
    return {
        "retriever": (alone, alone),
        "artifact": (folder / "artifact", alone),
        "path of an engine": (str(folder / "engine"), made),
        "engine": (made, made),
    }
