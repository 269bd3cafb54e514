"""What was clicked for a query, as a live member and beside a graph of vectors: equal to a fresh build."""

import random

import numpy as np
import pytest

import vizsla
from tests.engine.live_rows import hashed
from vizsla import Dataset, Recipe
from vizsla.engine.engine import Engine

WORDS = ["fig", "pear", "plum", "date", "lime"]
QUERIES = ["fig", " FIG ", "pear plum", "Pear  Plum", "nothing", "date"]


@pytest.mark.parametrize("half_life", [None, 2.0])
def test_after_any_changes_it_answers_as_a_fresh_build(tmp_path, half_life):
    recipe, chance = Recipe.of("click_memory", prior=2.0, half_life=half_life), random.Random(4)
    engine = Engine.create(tmp_path / "engine", members={"clicks": recipe}, durability="process", maintenance="manual")
    other = Engine.open(tmp_path / "engine", maintenance="manual")
    items, clicks = {}, []
    for step in range(80):
        writer = chance.choice([engine, other])
        if len(items) < 5 or step % 6 == 0:
            items[f"i{step}"] = "a text"
            writer.add({f"i{step}": "a text"})
        elif step % 17 == 0:
            gone = chance.choice(list(items))
            writer.delete(gone)
            del items[gone]
            clicks = [click for click in clicks if click[1] != gone]
        elif step % 23 == 0:
            writer.delete_clicks(query="fig")
            clicks = [click for click in clicks if click[0] != "fig"]
        elif step % 19 == 0:
            writer.maintain()
        else:
            click = chance.choice(QUERIES), chance.choice(list(items)), chance.choice([1.0, 0.3]), 86400.0 * step / 9
            writer.click(*click)
            clicks.append(click)
        if step % 4 == 0 and clicks:
            fresh = recipe.build(Dataset.of(items, clicks=clicks))
            for each in (engine, other):
                found, wanted = each.search(QUERIES, 10), fresh(QUERIES, 10)
                assert found.ids == wanted.ids
                assert np.array_equal(found.scores, wanted.scores)
                kept = list(items)[::2]
                assert each.search(QUERIES, 3, where=kept).to_dict() == fresh(QUERIES, 3, where=kept).to_dict()
                best = next(iter(items))
                assert str(each.explain("fig", best)) == str(fresh.explain("fig", best))
                assert each.member("clicks").score(QUERIES, found).to_dict() == wanted.to_dict()
    assert engine.stats()["members"]["clicks"]["type"] == "live"
    assert engine.check() == []
    engine.close()
    other.close()


@pytest.mark.parametrize("index", ["hnsw", "ivf"])
def test_a_graph_of_vectors_finds_items_that_came_or_changed_later(tmp_path, index):
    encoder = hashed()
    texts = {f"i{number}": f"{WORDS[number % 5]} {number}" for number in range(60)}
    with Engine.create(tmp_path / "engine", durability="process", maintenance="manual") as engine:
        engine.add(dict(list(texts.items())[:50]))
        engine.add_member("near", Recipe.of("dense", encoder=encoder, index=index))
        for id in list(texts)[50:]:
            engine.add({id: texts[id]})
            assert engine.search(texts[id], 1).ids == [[id]]
        engine.upsert({"i3": "quite another text"})
        engine.upsert({"i55": "changed twice"})
        engine.delete(["i4", "i56"])
        texts |= {"i3": "quite another text", "i55": "changed twice"}
        left = {id: text for id, text in texts.items() if id not in ("i4", "i56")}
        for _ in range(2):
            flat = vizsla.dense(left, encoder)
            for query in ("quite another text", "changed twice", texts["i4"], texts["i56"], texts["i7"]):
                found, wanted = engine.search(query, 1), flat(query, 1)
                assert found.to_dict() == wanted.to_dict()
                assert engine.explain(query, found.ids[0][0]).score == found.scores[0]
                assert engine.member("near").score([query], flat(query, 58)).to_dict() == flat(query, 58).to_dict()
            assert {"i4", "i56"}.isdisjoint(engine.search("fig", 100).ids[0])
            assert engine.stats()["members"]["near"]["items_since"] in (0, 10)
            engine.rebuild("near")
