"""Members made of members: adjusted answers, signals and confidence, at every moment those of a fresh build."""

from __future__ import annotations

import random

import pytest

from vizsla import Engine, Recipe, adjust, bm25, dense, signal, typo_tolerant
from vizsla.artifacts.artifact import load
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.engine.administration import dataset_of, read
from vizsla.errors import InputError
from vizsla.methods.pefa import pefa

ADJUSTMENTS = {
    "synonyms": ["tv, television", "spare => lamp"],
    "signals": [{"field": "sold", "shape": "log", "weight": 0.5}],
    "rules": [{"query": "tv", "pin": ["c"], "ban": ["e"]}, {"pattern": "lamp", "boost": "sold > 5", "by": 2}],
}
FIRST = [
    {"id": "a", "text": "a television", "sold": 3},
    {"id": "b", "text": "tv set", "sold": 100},
    {"id": "c", "text": "a lamp", "sold": 1},
    {"id": "e", "text": "tv tv", "sold": 7},
]
QUERIES = ["tv", "tv lamp", "spare", "lmap", "set"]


@pytest.fixture
def engine(tmp_path):
    members = {"words": Recipe.of("bm25"), "typos": Recipe.of("typo_tolerant", base="words")}
    with Engine.create(tmp_path / "shop", members=members, maintenance="manual") as engine:
        yield engine


def fresh(engine):
    """Return BM25 with typos, built of what the catalog holds, in the languages that the engine has settled."""
    dataset = read(engine._follower, dataset_of)
    return dataset, typo_tolerant(bm25(dataset, analyzer=engine._follower.members["words"].analyzer))


def answers(retriever):
    return [next(iter(retriever(query, 9).to_dict().values())) for query in QUERIES]


def test_adjusted_answers_and_signals_follow_every_change(engine, tmp_path):
    engine.add_member("shop", adjust(engine.member("typos"), ADJUSTMENTS))
    engine.add_member("popular", Recipe.of("signal", field="sold", shape="log"))
    engine.add_member("mix", "words.scaled() + 0.3*popular")
    assert engine.search("tv", using="shop").ids == [[]]  # no item, and no field, is there yet
    changes = [
        lambda: engine.add(FIRST),
        lambda: engine.add([{"id": "d", "text": "new television lamp", "sold": 10_000}, {"id": "f", "text": "tv"}]),
        lambda: engine.update_metadata({"d": {"sold": 0}, "c": {"sold": 50}}),
        lambda: engine.delete("b"),
        engine.flush,
    ]
    with Engine.open(tmp_path / "shop", maintenance="manual") as other:
        for change in changes:
            change()
            dataset, words = fresh(engine)
            expected = adjust(words, ADJUSTMENTS)
            for one in (engine, other):
                assert answers(one.member("shop")) == answers(expected)
            why = other.member("shop").explain("tv", "a")
            assert str(why) == str(expected.explain("tv", "a"))
            mixed = words.base.scaled() + 0.3 * signal(dataset, "sold", shape="log")
            assert answers(other.member("mix")) == answers(mixed)
    assert engine.search("lmap", using="shop").hints == ("Did you mean 'lamp'?",)
    page = engine.page("+lamp -new", using="shop", syntax="web", facets=["sold"], sort="sold")
    assert page.ids == ["c"] and page.facets["sold"].values[0].value == 50
    told = engine.stats()["members"]
    assert {name: told[name]["type"] for name in ("shop", "popular", "mix")} == dict.fromkeys(
        ("shop", "popular", "mix"), "composite"
    )
    assert engine.members["shop"] == "adjusted"


def test_snapshots_and_backups_keep_them(engine, tmp_path):
    engine.add(FIRST)
    engine.add_member("shop", adjust(engine.member("words"), ADJUSTMENTS))
    before = answers(engine.member("shop"))
    engine.snapshot("good")
    engine.drop_member("shop")
    engine.rollback("good")
    assert answers(engine.member("shop")) == before
    engine.backup(tmp_path / "copy")
    with Engine.open(tmp_path / "copy") as copy:
        assert answers(copy.member("shop")) == before
    with pytest.raises(InputError, match="no other is made of"):
        engine.drop_member("words")


def test_an_adjusted_member_is_replaced_at_once(engine):
    engine.add(FIRST)
    engine.add_member("shop", adjust(engine.member("words"), ADJUSTMENTS))
    engine.add_member("best", "shop % 1")
    engine.set_default("best")
    other = adjust(engine.member("words"), {"rules": [{"query": "tv", "pin": ["a"]}]})
    with pytest.raises(InputError, match="must be new"):
        engine.add_member("shop", other)
    engine.add_member("shop", other, replace=True)
    assert engine.search("tv").ids == [["a"]]
    with pytest.raises(InputError, match="not be made of itself"):
        engine.add_member("shop", adjust(engine.member("best"), ADJUSTMENTS), replace=True)
    with pytest.raises(InputError, match="drop it"):
        engine.add_member("words", Recipe.of("tfidf"), replace=True)
    assert engine.search("tv").ids == [["a"]]


def test_a_member_of_another_engine_is_none_of_this_one(engine, tmp_path):
    with (
        Engine.create(tmp_path / "other", members={"letters": Recipe.of("tfidf")}) as other,
        pytest.raises(InputError, match="members that are there"),
    ):
        engine.add_member("shop", adjust(other.member("letters"), ADJUSTMENTS))


def clicked(seed=0):
    """Return items, and clicks of queries that are some of their words."""
    pick = random.Random(seed)
    words = [f"word{number}" for number in range(60)]
    texts = {f"i{number}": " ".join(pick.sample(words, 8)) for number in range(120)}
    clicks = [(" ".join(pick.sample(text.split(), 4)), item) for item, text in list(texts.items()) * 2]
    return texts, clicks


def test_confidence_of_a_member_follows_changes_and_survives(engine, tmp_path):
    texts, clicks = clicked()
    engine.add(texts)
    dataset = Dataset.of(texts, clicks=clicks)
    engine.add_member("sure", engine.member("words").with_confidence(dataset))
    engine.add_member("whole", bm25(dataset).with_confidence(dataset))
    engine.add({"new": "word1 word2 word1"})
    with Engine.open(tmp_path / "shop") as other:
        found = other.search("word1 word2", 5, using="sure")
        assert found.ids[0][0] == "new" and found.ids == other.search("word1 word2", 5, using="words").ids
        assert all(0 <= hit.confidence <= 1 for hit in found[0])
        least = found[0][1].confidence
        page = other.page("word1 word2", 5, using="sure", min_confidence=least)
        sure = [(hit.id, hit.confidence) for hit in found[0] if hit.confidence >= least]
        assert [(hit.id, hit.confidence) for hit in page][: len(sure)] == sure and len(sure) < len(found[0])
        later = other.search("word1 word2", 2, offset=1, using="sure", syntax="web")[0]
        assert [hit.confidence for hit in later] == [hit.confidence for hit in found[0][1:3]]
        built_whole = other.search(["word3 word4", "+word5"], 5, using="whole", syntax="web")
        assert all(hit.confidence is not None for hits in built_whole for hit in hits)


def test_a_member_that_learns_is_judged_by_a_twin(tmp_path):
    texts, clicks = clicked()
    dataset = Dataset.of(texts, clicks=clicks)
    base = dense(texts, LsaEncoder.fit(texts.values(), dim=16))
    recipe = pefa(base, dataset, variant="xs", weight=0.9, calibrated=False).recipe
    with Engine.create(tmp_path / "engine", members={"words": Recipe.of("bm25")}) as engine:
        engine.add(texts)
        engine.clicks(clicks)
        engine.add_member("clicks", recipe)
        member = engine.member("clicks")._retriever()
        twin = member.refit_on(Dataset.of(texts, clicks=clicks[:1]))
        assert twin is not member
        query, item = clicks[1]
        assert twin(query, 120).to_dict()["0"][item] < member(query, 120).to_dict()["0"][item]


def test_a_saved_adjusted_retriever_is_that_of_the_engine(engine, tmp_path):
    engine.add(FIRST)
    engine.add_member("shop", adjust(engine.member("words"), ADJUSTMENTS))
    _, words = fresh(engine)
    adjust(words.base, ADJUSTMENTS).save(tmp_path / "saved")
    assert answers(load(tmp_path / "saved")) == answers(engine.member("shop"))
