"""Vectors and clicks inside an engine: every answer after every transaction is that of a fresh build."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from tests.engine.live_rows import QUERIES, hashed
from vizsla.base.encoder import FunctionEncoder
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.encoders.cache import EmbeddingCache
from vizsla.engine.engine import Engine
from vizsla.engine.query_memory import RememberedRetriever
from vizsla.learning.clicks import ClickLog
from vizsla.learning.matrices import unit_rows
from vizsla.methods.pefa.options import XlSettings, XsSettings
from vizsla.methods.pefa.xl import PefaXl, query_index
from vizsla.methods.pefa.xs import PefaXs

ITEMS = {f"i{number}": f"text {number} of {number % 7}" for number in range(30)}
ASKED = [*QUERIES, "text 3 of 3", "text 9", "ripe"]


def unit_encoder():
    long = hashed()
    return FunctionEncoder(lambda texts: unit_rows(long.queries(texts)), dim=long.dim, name="unit")


def members(encoder):
    return {
        "words": Recipe.of("bm25"),
        "meaning": Recipe.of("dense", encoder=encoder),
        "own": Recipe.of("pefa", base=Recipe.of("dense", encoder=encoder, storage="float16")),
        "xs": Recipe.of("pefa", variant="xs", base="meaning"),
        "xl": Recipe.of("pefa", variant="xl", base="words", encoder=encoder),
        "best": "0.4*words.normalized() + 0.6*xs.normalized()",
    }


def fresh(engine, name, items, clicks, encoder):
    """Build a member anew, with what it has settled."""
    found = engine.generation().definitions[name]
    dataset = vizsla.Dataset.of(items)
    if name in ("words", "meaning"):
        return Recipe.stored(found.recipe).build(dataset, bindings={"encoder": encoder})
    base = {"own": "own", "xs": "meaning", "xl": "words"}[name]
    recipe = members(encoder)[base] if base != "own" else members(encoder)["own"].settings["base"]
    built = recipe.build(dataset, bindings={"encoder": encoder})
    log = ClickLog.of(clicks, built.items, lambda texts: Queries(texts).encoded(encoder))
    if name == "xl":
        return PefaXl(built, encoder, log, XlSettings.of(found.settled["settings"]), query_index("flat", log))
    return PefaXs.build(built, log, XsSettings.of(found.settled["settings"]))


def without_memory(engine, name):
    """Return a member without what it remembers of each query's own clicks, which tests of QueryMemory compare."""
    member = engine.generation().retriever(name)
    return member.part if isinstance(member, RememberedRetriever) else member


def test_members_follow_every_transaction(tmp_path):
    encoder, rng = unit_encoder(), np.random.default_rng(0)
    items, clicks = dict(ITEMS), []
    with Engine.create(tmp_path / "e", members=members(encoder), default="best") as engine:
        types = {name: each.type for name, each in engine.generation().definitions.items()}
        assert types == dict.fromkeys(["words", "meaning", "own", "xs", "xl"], "live") | {"best": "composite"}
        engine.add(items)
        for step in range(12):
            with engine.transaction() as change:
                for _ in range(3):
                    query, item = ASKED[rng.integers(len(ASKED))], list(items)[rng.integers(len(items))]
                    change.click(query, item)
                    clicks.append((query, item))
                if step % 3 == 1:
                    gone = list(items)[rng.integers(len(items))]
                    change.delete([gone])
                    del items[gone]
                    clicks = [click for click in clicks if click[1] != gone]
                if step % 3 == 2:
                    old = list(items)[rng.integers(len(items))]
                    items.pop(old)
                    items[old] = f"another text {step}"
                    change.upsert({old: items[old]})
            if step % 4 == 3:
                engine.flush()
            for name in ("words", "meaning", "own", "xs", "xl"):
                expected = fresh(engine, name, items, clicks, encoder)
                member = without_memory(engine, name)
                assert member(ASKED, k=9).to_dict() == expected(ASKED, k=9).to_dict(), (step, name)
                some = set(list(items)[::3])
                found = member(ASKED, k=4, where=some)
                assert found.to_dict() == expected(ASKED, k=4, where=some).to_dict(), (step, name)
        answers = {name: engine.member(name)(ASKED, k=9).to_dict() for name in types}
    with Engine.open(tmp_path / "e", bindings={"encoder": encoder}) as again:
        assert {name: again.member(name)(ASKED, k=9).to_dict() for name in types} == answers


def test_a_click_counts_at_once_and_can_be_taken_back(tmp_path):
    encoder = unit_encoder()
    with Engine.create(tmp_path / "e", members=members(encoder), default="best") as engine:
        engine.add(ITEMS)
        before = engine.member("xs")("blue and tart", k=30).ids[0]
        for name in ("own", "xs", "xl"):
            assert engine.member(name)("blue and tart", k=30).ids[0][:1] != [before[-1]]
        engine.click("blue and tart", before[-1])
        for name in ("own", "xs", "xl"):
            assert engine.member(name)("blue and tart", k=30).ids[0][0] == before[-1]
        engine.delete_clicks(query="blue and tart")
        assert engine.member("xs")("blue and tart", k=30).ids[0] == before


def test_pefa_xs_over_words_is_built_whole(tmp_path):
    with Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25")}, default="words") as engine:
        engine.add(ITEMS)
        engine.add_member("clicks", Recipe.of("pefa", base="words"))
        assert engine.generation().definitions["clicks"].type == "static"


@pytest.mark.parametrize("cached", [False, True])
def test_no_text_is_encoded_twice_with_a_cache(cached, tmp_path):
    seen: list[str] = []
    inner = unit_encoder()

    def rows(texts):
        seen.extend(texts)
        return inner.queries(texts)

    encoder = FunctionEncoder(rows, dim=inner.dim, name="seen")
    bound = {"encoder": encoder} | ({"cache": EmbeddingCache(encoder, tmp_path / "cache.db")} if cached else {})
    recipes = {
        "meaning": Recipe.of("dense", encoder=encoder),
        "half": Recipe.of("dense", encoder=encoder, storage="float16"),
    }
    with Engine.create(tmp_path / "e", members=recipes, default="meaning", bindings=bound) as engine:
        engine.add(ITEMS)
        engine.search("text 3")
        engine.rebuild("meaning")
        engine.search("text 3")
    with Engine.open(tmp_path / "e", bindings=bound) as engine:
        engine.search("text 3")
    texts = [text for text in seen if text in ITEMS.values()]
    assert (sorted(texts) == sorted(ITEMS.values())) == cached
