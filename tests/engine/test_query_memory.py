"""QueryMemory: a click counts for its query in the next search, in every PEFA member; answers keep the laws."""

from __future__ import annotations

import random

import numpy as np
import pytest

import vizsla
from vizsla import Engine, Recipe, where
from vizsla.base.encoder import FunctionEncoder
from vizsla.data.dataset import SECONDS_PER_DAY
from vizsla.engine import click_table
from vizsla.engine.click_table import ClickTable
from vizsla.engine.query_memory import MIN_QUERY_SIMILARITY, PRIOR_CLICKS, RememberedRetriever

WORDS = ["fig", "pear", "plum", "quince", "kiwi", "date", "lime", "grape", "melon", "peach"]


def letters(texts):
    return [[1.0 + text.count(letter) for letter in "abcdefghijklmnop"] for text in texts]


ENCODER = FunctionEncoder(letters, dim=16, name="letters")
FORMS = {
    "xs over words": Recipe.of("pefa", base="words"),
    "xs over tf-idf": Recipe.of("pefa", base=Recipe.of("tfidf")),
    "xs over vectors": Recipe.of("pefa", base="meaning"),
    "max over vectors": Recipe.of("pefa", base="meaning", variant="max"),
    "xl over vectors": Recipe.of("pefa", base="meaning", variant="xl"),
    "xl over words": Recipe.of("pefa", base="words", variant="xl", encoder=ENCODER),
}


def items(seed=0, count=40):
    chance = random.Random(seed)
    texts = {f"i{n}": " ".join(chance.choices(WORDS, k=4)) for n in range(count)}
    return [{"id": id, "text": text, "price": n} for n, (id, text) in enumerate(texts.items())]


@pytest.fixture(params=FORMS, ids=FORMS)
def engine(request, tmp_path):
    members = {"words": Recipe.of("bm25"), "meaning": Recipe.of("dense", encoder=ENCODER)}
    with Engine.create(tmp_path / "engine", members=members, maintenance="manual") as engine:
        engine.add(items())
        engine.add_member("clicks", FORMS[request.param])
        engine.set_default("clicks")
        yield engine


def test_one_click_lifts_an_item_and_five_put_it_first(engine):
    for number, query in enumerate(("fig pear", "something new", "Kiwi, kiwi!")):
        ranked = engine.search(query, 40).ids[0]
        item = next(id for id in (*reversed(ranked), f"i{number}") if id)
        before = ranked.index(item) if item in ranked else 40
        engine.click(query, item)
        one = engine.search(query, 40).ids[0].index(item)
        assert one < before or before == 0
        for _ in range(4):
            engine.click(query, item)
        assert engine.search(query, 3).ids[0].index(item) < 3
        assert item in engine.search(query.lower(), 3).ids[0]


def test_answers_keep_the_laws(engine):
    chance = random.Random(1)
    queries = ["fig pear", "plum", "no such words", "kiwi date lime", "melon"]
    for _ in range(30):
        engine.click(chance.choice(queries), f"i{chance.randrange(40)}", chance.choice([1.0, 0.3, 2.5]))
    engine.delete("i7")
    engine.upsert({"i9": "fig fig fig"})
    member = engine.generation().retriever("clicks")
    assert isinstance(member, RememberedRetriever)
    whole = member(queries, k=39)
    for k in (1, 3, 12):  # law 1
        assert member(queries, k=k).ids == [row[:k] for row in whole.ids]
    again = member.score(queries, whole)
    assert again.ids == whole.ids and np.array_equal(again.scores, whole.scores)  # law 2
    cheap = where("price<20")
    filtered = engine.search(queries, 40, where=cheap).to_dict()
    allowed = {f"i{n}" for n in range(20)} - {"i9"}
    for query, row in whole.to_dict().items():  # law 3
        assert filtered[query] == {id: score for id, score in row.items() if id in allowed}
    for row, query in zip(whole.ids, queries, strict=True):  # law 4
        for item in row[:5]:
            said = member.explain(query, item)
            assert said.score == pytest.approx(sum(part.score for part in said.parts), rel=1e-5)
            assert said.score == pytest.approx(whole.to_dict()[str(queries.index(query))][item], rel=1e-5)
    part = member.part.score(queries, whole).to_dict()
    for query, row in whole.to_dict().items():  # no item falls
        assert all(score >= part[query][id] for id, score in row.items())


def test_the_lift_is_the_formula(tmp_path):
    made = {
        "words": Recipe.of("bm25"),
        "clicks": Recipe.of("pefa", base="words", variant="xs", weight=0.5, calibrated=False),
    }
    with Engine.create(tmp_path / "engine", members=made, maintenance="manual") as engine:
        engine.add(items())
        plain = engine.search("fig pear", 40, using="words").to_dict()["0"]
        engine.clicks([("fig pear", "i3", 3.0), ("fig pear", "i5", 1.0), ("fig plum kiwi pear", "i8", 1.0)])
        found = engine.search("fig pear", 40).to_dict()["0"]
        best = max(plain.values())
        cosine = 2 / (2 * 4) ** 0.5
        clicks = {"i3": 3.0, "i5": 1.0, "i8": (cosine - MIN_QUERY_SIMILARITY) / (1 - MIN_QUERY_SIMILARITY)}
        for item, count in clicks.items():
            own = plain.get(item, 0.0)
            goal = best * (1 + count / 3)
            assert found[item] == pytest.approx(own + count / (count + PRIOR_CLICKS) * (goal - own), rel=1e-5)
        assert {id: found[id] for id in plain if id not in clicks} == {
            id: score for id, score in plain.items() if id not in clicks
        }
        engine.rebuild("clicks")
        member = engine.generation().retriever("clicks")
        lifted = engine.search("fig pear", 40).to_dict()["0"]
        learned = member.part("fig pear", k=40).to_dict()["0"]
        assert lifted["i3"] > learned["i3"] and lifted["i8"] == learned["i8"]  # it has learned what is alike


def test_clicks_fade_without_a_change_of_the_log(tmp_path):
    made = {"meaning": Recipe.of("dense", encoder=ENCODER)}
    with Engine.create(tmp_path / "engine", members=made, maintenance="manual") as engine:
        engine.add(items())
        engine.add_member("clicks", Recipe.of("pefa", base="meaning", half_life=1.0))
        engine.set_default("clicks")
        worst = engine.search("fig", 40).ids[0][-1]
        for _ in range(5):
            engine.click("fig", worst, time=0.0)
        assert engine.search("fig", 1).ids[0] == [worst]
        engine.click("other", "i0", time=60 * SECONDS_PER_DAY)
        assert engine.search("fig", 1).ids[0] != [worst]


def test_a_correction_that_shall_not_count_clicks_is_its_base(tmp_path):
    made = {"words": Recipe.of("bm25"), "clicks": Recipe.of("pefa", base="words", variant="xs", weight=1)}
    with Engine.create(tmp_path / "engine", members=made, maintenance="manual") as engine:
        engine.add(items())
        engine.click("fig pear", "i3")
        assert engine.search("fig pear", 9).to_dict() == engine.search("fig pear", 9, using="words").to_dict()


def test_deleting_clicks_or_their_item_takes_the_lift_away(engine):
    before = engine.search("fig pear", 40).to_dict()
    last = engine.search("fig pear", 40).ids[0][-1]
    engine.click("fig pear", last, 5.0)
    assert engine.search("fig pear", 1).ids == [[last]]
    engine.upsert({last: next(item["text"] for item in items() if item["id"] == last)})
    assert engine.search("fig pear", 1).ids == [[last]]
    engine.delete_clicks(query="fig pear")
    assert engine.search("fig pear", 40).to_dict()["0"] == pytest.approx(before["0"], rel=1e-6)
    engine.click("fig pear", last, 5.0)
    engine.delete(last)
    engine.add({last: "an item with the same id"})
    assert engine.search("fig pear", 1).ids != [[last]]


def test_a_table_of_clicks_is_what_a_list_of_them_is(monkeypatch):
    monkeypatch.setattr(click_table, "MAX_UNSORTED_CLICKS", 64)
    chance, table, truth = random.Random(0), ClickTable(), {}
    old = []
    for step in range(400):
        if chance.random() < 0.75 or not truth:
            new = [step * 20 + at for at in range(chance.randrange(1, 20))]
            rows = {number: (chance.randrange(30), chance.randrange(50), 1.0, chance.random()) for number in new}
            truth |= rows
            columns = [np.array(each) for each in zip(*rows.values(), strict=True)]
            table.learn(np.array(new), *columns)
        elif chance.random() < 0.5:
            gone = chance.sample(sorted(truth), min(len(truth), 9))
            table.forget(numbers=np.array(sorted(gone)))
            truth = {number: row for number, row in truth.items() if number not in gone}
        else:
            slot = chance.randrange(50)
            lost = table.forget(slots=np.array([slot], np.int32))
            assert sorted(lost.numbers.tolist()) == sorted(n for n, row in truth.items() if row[1] == slot)
            truth = {number: row for number, row in truth.items() if row[1] != slot}
        if step % 30 == 0:
            old.append((table.frozen(), dict(truth)))
        assert table.latest == max((row[3] for row in truth.values()), default=-np.inf)
    for frozen, rows in old:
        queries, slots = np.array([2, 9]), np.array([4, 11, 30], np.int32)
        assert len(frozen) == len(rows)
        assert set(frozen.of_queries(queries).numbers.tolist()) == {n for n, row in rows.items() if row[0] in queries}
        assert set(frozen.of_slots(slots).numbers.tolist()) == {n for n, row in rows.items() if row[1] in slots}


def test_the_example_of_the_documentation(tmp_path):
    members = {"words": Recipe.of("bm25"), "clicks": Recipe.of("pefa", base="words"), "best": "0.4*words + 0.6*clicks"}
    with vizsla.Engine.create(tmp_path / "engine", members=members, default="best") as engine:
        engine.add(items())
        engine.click("sugary", "i4")
        assert engine.search("sugary").ids == [["i4"]]
