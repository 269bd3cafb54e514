"""An engine and its members are evaluated and compared as any other retriever is."""

import vizsla
from vizsla import Dataset, Recipe
from vizsla.engine.engine import Engine

FRUIT = {"f": "a green fig", "p": "a ripe pear", "q": "a ripe quince", "r": "a red fig tree"}


def test_an_engine_is_compared_with_its_members(tmp_path):
    members = {"words": Recipe.of("bm25"), "letters": Recipe.of("tfidf")}
    dataset = Dataset.of(FRUIT, queries={"1": "fig"}, qrels={"1": {"f": 1, "r": 1}})
    with Engine.create(tmp_path / "engine", members=members, default="words", maintenance="manual") as engine:
        engine.add(FRUIT)
        systems = {"engine": engine, "letters": engine.member("letters"), "plain": vizsla.bm25(dataset)}
        report = vizsla.compare(systems, dataset, split="test")
        engines, plain = report.evaluations["engine"], report.evaluations["plain"]
        assert engines.measures == plain.measures
