"""A sharded collection answers as one engine that was given the same writes, bit for bit."""

import random

import numpy as np
import pytest

import vizsla
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.recipe import Recipe
from vizsla.engine.engine import Engine
from vizsla.errors import FormatError, InputError
from vizsla.scale import ShardedEngine, reshard
from vizsla.scale.rendezvous import moved, shard_of
from vizsla.text.analyzers import AnyLanguage

WORDS = [
    "fig",
    "pear",
    "plum",
    "apple",
    "tree",
    "trees",
    "green",
    "red",
    "ripe",
    "sweet",
    "garden",
    "shop",
    "old",
    "new",
    "der",
    "die",
    "das",
    "Baum",
    "Feige",
    "grün",
]
QUERIES = ["green fig", "ripe trees", "sweet", "der grüne Baum", "old garden shop plum", "nothing", ""]


def made_up(pick, number):
    return {
        "id": f"i{number}",
        "text": " ".join(pick.choices(WORDS, k=pick.randint(0, 9))),
        "price": pick.randint(1, 9),
    }


def answers(found):
    return [[(hit.id, np.float32(hit.score).tobytes()) for hit in row] for row in found]


def letters(texts):
    return [[text.count(letter) + 0.5 for letter in "aeirg"] for text in texts]


def members(analyzer=None):
    words = Recipe.of("bm25") if analyzer is None else Recipe.of("bm25", analyzer=analyzer)
    encoder = FunctionEncoder(letters, dim=5, name="letters")
    dense = vizsla.dense(["a"], encoder, storage="float32").recipe
    return {"dense": dense, "words": words}, {"encoder": encoder}


def changed(engine, pick, count):
    """Apply random writes, the same to every engine that is given the same random numbers."""
    for _ in range(count):
        step = pick.random()
        if step < 0.7:
            engine.upsert([made_up(pick, number) for number in pick.sample(range(120), pick.randint(1, 12))])
        else:
            ids = [f"i{number}" for number in pick.sample(range(120), 4)]
            engine.delete(ids) if isinstance(engine, ShardedEngine) else engine.delete(ids, unknown="ignore")


@pytest.mark.parametrize("analyzer", [None, AnyLanguage(["german", "english"])], ids=["english", "mixed"])
@pytest.mark.parametrize("shards", [1, 2, 5])
def test_answers_are_those_of_one_engine(tmp_path, shards, analyzer):
    recipes, bindings = members(analyzer)
    common = {"members": recipes, "flush_rows": 40, "bindings": bindings, "metadata": {"price": "number"}}
    one = Engine.create(tmp_path / "one", maintenance="manual", **common)
    with one, ShardedEngine.create(tmp_path / "several", shards, **common) as several:
        for seed in range(4):
            changed(one, random.Random(seed), 6)
            changed(several, random.Random(seed), 6)
            if seed == 2:
                one.maintain()
                several.maintain()
            assert several.count() == one.count()
            for using in ("words", "dense"):
                for where in (None, vizsla.where("price > 4"), ["i1", "i5", "i9", "i20", "i30", "i77"]):
                    found = several.search(QUERIES, 7, using=using, where=where)
                    known = where if not isinstance(where, list) else [i for i in where if one.get(i)]
                    assert answers(found.candidates) == answers(one.search(QUERIES, 7, using=using, where=known))
                    assert not found.partial and found.coverage == 1.0


def test_writes_and_reads_by_id(tmp_path):
    recipes = {"words": Recipe.of("bm25")}
    with ShardedEngine.create(tmp_path / "shop", 3, members=recipes, metadata={"price": "number"}) as shop:
        assert shop.add([{"id": "f", "text": "a fig", "price": 3}, {"id": "p", "text": "a pear"}]) == 2
        with pytest.raises(InputError, match="Every id must be new. Got 'p'"):
            shop.add({"q": "a quince", "p": "again"})
        assert shop.count() == 2 and shop.get("q") is None and shop.get("f").text == "a fig"
        assert shop.update_metadata({"f": {"price": 5}}) == 1 and shop.get("f").metadata == {"price": 5}
        assert shop.click("sweet", "f") == 1
        assert shop.delete(["p", "nowhere"]) == 1
        shop.backup(tmp_path / "copy")
    with ShardedEngine.open(tmp_path / "shop") as shop:
        assert shop.search("fig").ids == [["f"]]
    with ShardedEngine([tmp_path / "copy" / f"shard-{n:03d}" for n in range(3)]) as copy:
        assert copy.search("fig").ids == [["f"]]


def test_a_write_that_is_repeated_is_stored_once(tmp_path):
    with ShardedEngine.create(tmp_path / "shop", 2, members={"words": Recipe.of("bm25")}) as shop:
        shop.upsert({str(number): "a fig" for number in range(9)})
        items = [vizsla.Item("new", "a date")]
        at = shard_of("new", 2)
        for _ in range(2):
            assert shop._one(at, "upsert", items, [20]) == 1
        assert shop.count() == 10
        with pytest.raises(InputError, match="another process has written"):
            shop._one(at, "upsert", [vizsla.Item("other", "a lime")], [20])


def test_another_number_of_shards_changes_nothing(tmp_path):
    recipes = {"words": Recipe.of("bm25")}
    with ShardedEngine.create(tmp_path / "two", 2, members=recipes) as two:
        changed(two, random.Random(1), 20)
        two.click("sweet", next(iter(two.search("fig").ids[0])))
        before, size = answers(two.search(QUERIES, 20).candidates), two.count()
    assert reshard(tmp_path / "two", tmp_path / "three", 3) == size
    with ShardedEngine.open(tmp_path / "three") as three:
        assert answers(three.search(QUERIES, 20).candidates) == before
        changed(three, random.Random(2), 3)


def test_few_ids_move_when_a_shard_is_added():
    ids = [f"item {number}" for number in range(4000)]
    assert 0.15 < moved(ids, 4, 5) / len(ids) < 0.25
    sizes = np.bincount([shard_of(id, 5) for id in ids])
    assert sizes.min() > 700 and sizes.max() < 900


def test_what_cannot_be_a_member_is_refused(tmp_path):
    for recipe in (Recipe.of("tfidf"), Recipe.of("dense", index="hnsw", encoder=members()[1]["encoder"])):
        with pytest.raises(InputError, match="must score an item by itself"):
            ShardedEngine.create(tmp_path / "shop", 2, members={"other": recipe})
    with pytest.raises(InputError, match="has no shards.json"):
        ShardedEngine.open(tmp_path)
    (tmp_path / "shards.json").write_text('{"shards": 3}')
    with pytest.raises(FormatError, match="must list the shards"):
        ShardedEngine.open(tmp_path)
