"""A sharded collection answers as one engine that was given the same writes, bit for bit."""

import os
import random
import shutil
import threading

import numpy as np
import pytest

import vizsla
from tests.support.stuck import forked_status
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.recipe import Recipe
from vizsla.engine.engine import Engine
from vizsla.errors import EngineError, FormatError, InputError, ShardLostError
from vizsla.scale import ShardedEngine, reshard
from vizsla.scale.local import LocalPlacement
from vizsla.scale.rendezvous import moved, shard_of
from vizsla.scale.shard import EngineShard
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
        if step < 0.1 and (kept := engine.search("fig", 3, using="words")) is not None:
            best = getattr(kept, "candidates", kept).ids[0]
            engine.clicks([(pick.choice(QUERIES[:4]), id) for id in best])
        elif step < 0.7:
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
            assert several.count(vizsla.where("price > 4")) == one.count(vizsla.where("price > 4"))
            for query in QUERIES[:4]:
                for id in one.search(query, 3, using="words").ids[0]:
                    here, there = several.explain(query, id, using="words"), one.member("words").explain(query, id)
                    assert here.to_dict() == there.to_dict()


@pytest.mark.parametrize("variant", ["robertson", "atire", "bm25l", "bm25+", "guarded", "float16"])
def test_every_kind_of_member_answers_as_in_one_engine(tmp_path, variant):
    recipes, bindings = members()
    if variant in ("guarded", "float16"):
        options = {"guarded": True, "storage": "float32"} if variant == "guarded" else {"storage": variant}
        recipes["dense"] = vizsla.dense(["a"], bindings["encoder"], **options).recipe
    else:
        recipes["words"] = Recipe.of(
            "bm25", variant=variant, k1=0.9, b=0.6, analyzer=AnyLanguage(["german", "english"])
        )
    common = {"members": recipes, "flush_rows": 40, "bindings": bindings}
    one = Engine.create(tmp_path / "one", maintenance="manual", **common)
    with one, ShardedEngine.create(tmp_path / "several", 3, **common) as several:
        for engine in (one, several):
            changed(engine, random.Random(5), 9)
        for using in ("words", "dense"):
            for where in (None, vizsla.where("price > 4")):
                found = several.search(QUERIES, 7, using=using, where=where).candidates
                assert answers(found) == answers(one.search(QUERIES, 7, using=using, where=where))


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
    with ShardedEngine.open(tmp_path / "copy") as copy:
        assert copy.get("f").metadata == {"price": 5} and copy.members.keys() == {"words"}
        assert copy.stats()["items"] == 1 and len(copy.stats()["shards"]) == 3


def test_a_write_that_is_repeated_is_stored_once(tmp_path):
    with ShardedEngine.create(tmp_path / "shop", 2, members={"words": Recipe.of("bm25")}) as shop:
        shop.upsert({str(number): "a fig" for number in range(9)})
        items = [vizsla.Item("new", "a date")]
        at = shard_of("new", 2)
        for _ in range(2):
            assert shop._one(at, "upsert", items, [20], {}) == 1
        assert shop.count() == 10
        with pytest.raises(InputError, match="another process has written"):
            shop._one(at, "upsert", [vizsla.Item("other", "a lime")], [20], {})


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


def test_fields_that_nothing_declares_are_those_of_one_engine(tmp_path):
    rows = [{"id": f"i{number}", "text": "a fig", "size": "3" if number else "2,5"} for number in range(4)]
    more = [{"id": f"j{number}", "text": "a fig", "made": f"2026-0{number + 1}-01"} for number in range(3)]
    recipes = {"words": Recipe.of("bm25")}
    one, several = (
        Engine.create(tmp_path / "one", members=recipes),
        ShardedEngine.create(tmp_path / "several", 5, members=recipes),
    )
    with one, several:
        for engine in (one, several):
            engine.upsert(rows)
            engine.upsert(more)
            engine.update_metadata({"i1": {"color": "red"}, "j1": {"color": "green"}})
        for condition in (
            "size > 2",
            "made >= 2026-02-01",
            "color = green",
            "size is null",
            "made is null",
            "size in (3)",
        ):
            where = vizsla.where(condition)
            assert several.search("fig", 9, where=where).ids == one.search("fig", 9, where=where).ids
            assert several.count(where) == one.count(where)
        for engine in (one, several):
            with pytest.raises(InputError, match="field must be one that the items have"):
                engine.search("fig", where=vizsla.where("weight > 2"))
    with ShardedEngine.open(tmp_path / "several") as again:  # another process knows the fields, too
        again.upsert([{"id": "k", "text": "a fig", "size": "7"}])
        assert again.search("fig", 9, where=vizsla.where("size > 5")).ids == [["k"]]


def test_a_lost_shard_is_left_out_until_its_backup_is_there(tmp_path):
    items = {f"i{number}": f"a fig {number}" for number in range(40)}
    with ShardedEngine.create(tmp_path / "shop", 4, members={"words": Recipe.of("bm25")}) as shop:
        shop.upsert(items)
        before = answers(shop.search("fig 3", 9).candidates)
        shop.backup(tmp_path / "copy")
        shutil.rmtree(tmp_path / "shop/shard-002")
        found = shop.search("fig 3", 9, deadline_s=5)
        assert found.partial and 0.5 < found.coverage < 0.95 and not found.candidates.stats.exact
        lost = [id for id in items if shard_of(id, 4) == 2]
        for call in (
            lambda: shop.search("fig 3"), lambda: shop.upsert({lost[0]: "a pear"}), lambda: shop.get(lost[0]),
            lambda: shop.count(), lambda: shop.delete(lost[:1]),
        ):  # fmt: skip
            with pytest.raises(ShardLostError, match="restore a backup of the shard there"):
                call()
        kept = next(id for id in items if shard_of(id, 4) == 1)
        assert shop.get(kept) is not None and shop.upsert({kept: items[kept]}) == 1
        assert shop.stats()["shards"][2]["stats"] is None
    with ShardedEngine.open(tmp_path / "shop") as shop:  # also in a new process
        again = shop.search("fig 3", 9, deadline_s=5)
        assert again.partial and 0.6 < again.coverage < 0.9, "a shard that was never seen counts as the others do"
        Engine.restore(tmp_path / "copy/shard-002", tmp_path / "shop/shard-002").close()
        whole = shop.search("fig 3", 9)
        assert {id for id, _ in before[0]} == set(whole.ids[0]) and not whole.partial and shop.count() == 40


def test_one_process_writes_at_a_time(tmp_path):
    first = ShardedEngine.create(tmp_path / "shop", 2, members={"words": Recipe.of("bm25")})
    with ShardedEngine.open(tmp_path / "shop") as second:
        first.upsert({"f": "a fig"})
        with pytest.raises(EngineError, match=rf"One process may write .* Got process {os.getpid()}"):
            second.upsert({"p": "a pear"})
        assert second.search("fig").ids == [["f"]], "others may search"
        first.close()
        second.upsert({"p": "a pear", "q": "a fig"})
        assert second.search("fig").ids == [["f", "q"]]
    with pytest.raises(EngineError, match="must be open"):
        first.search("fig")


def test_folders_in_another_order_are_refused(tmp_path):
    with ShardedEngine.create(tmp_path / "shop", 3, members={"words": Recipe.of("bm25")}) as shop:
        shop.upsert({f"i{number}": "a fig" for number in range(30)})
    with ShardedEngine([tmp_path / f"shop/shard-00{number}" for number in (1, 0, 2)]) as swapped:
        for call in (lambda: swapped.get("i1"), lambda: swapped.upsert({"n": "a fig"}), lambda: swapped.delete(["i1"])):
            with pytest.raises(InputError, match="all shards of a collection, in order"):
                call()


def test_an_interrupted_reshard_is_no_collection(tmp_path, monkeypatch):
    with ShardedEngine.create(tmp_path / "two", 2, members={"words": Recipe.of("bm25")}) as two:
        two.upsert({f"i{number}": "a fig" for number in range(30)})
    from vizsla.scale import sharded_engine

    monkeypatch.setattr(sharded_engine, "ROWS_PER_READ", 4)
    stored = ShardedEngine._sum

    def fails(self, method, calls, fields=None):
        if len(self.folders) == 3 and self.sizes_stored > 2:
            raise KeyboardInterrupt
        self.sizes_stored += 1
        return stored(self, method, calls, fields)

    monkeypatch.setattr(ShardedEngine, "sizes_stored", 0, raising=False)
    monkeypatch.setattr(ShardedEngine, "_sum", fails)
    with pytest.raises(KeyboardInterrupt):
        reshard(tmp_path / "two", tmp_path / "three", 3)
    monkeypatch.setattr(ShardedEngine, "_sum", stored)
    with pytest.raises(FormatError, match="`reshard` was interrupted"):
        ShardedEngine.open(tmp_path / "three")
    shutil.rmtree(tmp_path / "three")
    assert reshard(tmp_path / "two", tmp_path / "three", 3) == 30
    with ShardedEngine.open(tmp_path / "three") as three:
        assert all(three.get(f"i{number}") is not None for number in range(30))
        assert three.delete([f"i{number}" for number in range(30)]) == 30


def test_what_only_an_engine_does_is_said(tmp_path):
    with ShardedEngine.create(tmp_path / "shop", 2, members={"words": Recipe.of("bm25")}) as shop:
        for call in (
            lambda: shop.page("fig"),
            lambda: shop.complete("f"),
            lambda: shop.search("fig", facets=["price"]),
        ):
            with pytest.raises(InputError, match="need(s)? an engine"):
                call()
        assert not hasattr(shop, "similar")
        calls = [
            lambda: shop.search("fig", deadline_s=float("nan")), lambda: shop.get(3), lambda: shop.delete([3]),
            lambda: shop.clicks([("sweet",)]), lambda: shop.clicks([("sweet", "nowhere")]),
            lambda: shop.update_metadata({"nowhere": {"price": 3}}), lambda: shop.count("price > 3"),
            lambda: ShardedEngine.create(tmp_path / "x", 2, members={"words": Recipe.of("bm25")}, on="auto"),
            lambda: ShardedEngine.create(tmp_path / "x", "2", members={"words": Recipe.of("bm25")}),
            lambda: ShardedEngine.create(tmp_path / "x", ["a", "a"], members={"words": Recipe.of("bm25")}),
        ]  # fmt: skip
        for call in calls:
            with pytest.raises(InputError):
                call()


def test_few_ids_move_when_a_shard_is_added():
    ids = [f"item {number}" for number in range(4000)]
    assert 0.15 < moved(ids, 4, 5) / len(ids) < 0.25
    sizes = np.bincount([shard_of(id, 5) for id in ids])
    assert sizes.min() > 700 and sizes.max() < 900


def test_what_cannot_be_a_member_is_refused(tmp_path):
    fields = Recipe.of("bm25", fields="title^2,text")
    for recipe in (Recipe.of("tfidf"), fields, Recipe.of("dense", index="hnsw", encoder=members()[1]["encoder"])):
        with pytest.raises(InputError, match="must score an item by itself"):
            ShardedEngine.create(tmp_path / "shop", 2, members={"other": recipe})
    with pytest.raises(InputError, match="has no shards.json"):
        ShardedEngine.open(tmp_path)
    (tmp_path / "shards.json").write_text('{"shards": 3}')
    with pytest.raises(FormatError, match="must list the shards"):
        ShardedEngine.open(tmp_path)


class Stuck(EngineShard):
    """A shard that never says why, until it is let go."""

    freed = threading.Event()

    def explain(self, *given):
        self.freed.wait()
        return super().explain(*given)


class OneStuck(LocalPlacement):
    """Threads, of which the first shard's is stuck."""

    def start(self, kind, *arguments, memory_mb=None):
        return super().start(kind if self._residents else Stuck, *arguments, memory_mb=memory_mb)


def test_explanations_leave_out_what_a_shard_does_not_give_in_time(tmp_path):
    items = {f"i{number}": f"fig {number}" for number in range(30)}
    with ShardedEngine.create(tmp_path / "shop", 3, members={"words": Recipe.of("bm25")}) as engine:
        engine.add(items)
        whole = engine.explanations("fig 1", [*items, "none"], using="words")
        assert whole == {id: engine.explain("fig 1", id, using="words") for id in items}
        with pytest.raises(InputError, match="must be an item"):
            engine.explain("fig 1", "none", using="words")
    try:
        with ShardedEngine.open(tmp_path / "shop", on=OneStuck(3)) as engine:
            engine.search("fig 1", using="words")
            found = engine.explanations("fig 1", list(items), using="words", deadline_s=1.0)
            late = {id for id in items if shard_of(id, 3) == 0}
            assert late and not late & found.keys()
            assert all(found[id] == whole[id] for id in found)
            Stuck.freed.set()
    finally:
        Stuck.freed.set()


def test_a_forked_child_searches_and_does_not_hold_its_parents_lock(tmp_path):
    """The lock of a file lasts until every copy of its handle is closed, and a child has copies of all."""
    engine = ShardedEngine.create(tmp_path / "shop", 2, members={"words": Recipe.of("bm25")})
    engine.add({"a": "a fig", "b": "a pear"})
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            found = engine.search("fig").ids
            try:
                engine.add({"c": "stored beside the parent"})
            except EngineError as error:
                code = 0 if found == [["a"]] and "One process may write" in str(error) else 2
            os.write(ready[1], b"x")
            os.read(go[0], 1)
        finally:
            os._exit(code)
    assert os.read(ready[0], 1) == b"x"
    engine.close()
    with ShardedEngine.open(tmp_path / "shop") as other:  # the child still lives
        assert other.add({"d": "another fig"}) == 1
    os.write(go[1], b"x")
    assert os.waitstatus_to_exitcode(forked_status(child)) == 0
