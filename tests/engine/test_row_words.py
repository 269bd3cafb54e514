"""Words of rows that come and go are those of a scan, whatever is read again; and an engine knows its titles."""

from __future__ import annotations

import random

import numpy as np
import pytest

from vizsla import Engine, Item, Recipe
from vizsla.engine import row_words
from vizsla.engine.row_words import RowWords
from vizsla.text.web_syntax import Clause

WORDS = ["red", "fig", "tree", "jam", "figs", "oil"]
CLAUSES = {
    Clause("phrase", "red fig"): lambda text: " red fig " in f" {text} ",
    Clause("phrase", "oil"): lambda text: "oil" in text.split(),
    Clause("word", "jam"): lambda text: "jam" in text.split(),
    Clause("prefix", "fi"): lambda text: "fi" in text,
}


@pytest.mark.parametrize("small", [1, 40, 4096])
def test_lists_of_rows_that_come_and_go_equal_a_scan(small, monkeypatch):
    monkeypatch.setattr(row_words, "SMALL", small)
    pick, texts, live = random.Random(small), {}, set()
    read = []

    def read_rows(numbers):
        read.extend(numbers.tolist())
        return [texts[number] for number in numbers.tolist()]

    words, seen = RowWords(read_rows), []
    for _ in range(60):
        for _ in range(pick.choice([0, 1, 3, 60])):
            number = max(texts, default=0) + pick.choice([1, 1, 5])
            texts[number] = " ".join(pick.choices(WORDS, k=pick.randint(0, 6)))
            live.add(number)
        for number in pick.sample(sorted(live), len(live) // pick.choice([3, 9, 50, 1000])):
            live.remove(number)
        rows = np.array(sorted(live), np.int64)
        seen.append(rows)
        for asked in (rows, pick.choice(seen)):  # now, and as it was
            lists = words.over(asked)
            for clause, holds in CLAUSES.items():
                wanted = [item for item, number in enumerate(asked.tolist()) if holds(texts[number])]
                assert lists.matching(clause).tolist() == wanted
        completed = words.over(rows).completed("fi")
        if small == 4096:
            counts = {word: sum(word in texts[row].split() for row in live) for word in ("fig", "figs")}
            assert set(completed) >= {word for word, count in counts.items() if count}
    if small == 1:
        assert len(read) < 12 * len(texts)  # each row a few times, not with every change


def test_an_engine_knows_words_of_titles_and_fields_through_changes(tmp_path):
    with Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25")}) as engine:
        engine.add([Item("a", "red oil", title="Fig jam", metadata={"brand": "Acme"}), Item("b", "fig oil, red")])

        def found(query, **options):
            return engine.page(query, syntax="web", using="words", **options).ids

        assert found("title:fig oil") == found('oil title:"fig jam"') == found("TITLE:fi* oil") == ["a"]
        assert found("oil -title:fig") == ["b"] and found("oil brand:acme") == ["a"]
        assert found('"jam red"') == ["a"]  # a title and its text are one text
        before = engine.member("words")
        engine.upsert([Item("a", "green oil", title="Plum", metadata={"brand": "Best"}), Item("c", "oil", title="Fig")])
        engine.delete("b")
        assert found("oil title:fig") == ["c"] and found("oil -title:fig") == ["a"] and found("oil brand:acme") == []
        assert found('"red oil" oil') == [] and set(found("oil")) == {"a", "c"}
        engine.update_metadata({"c": {"brand": "acme foods"}})
        assert found("oil brand:acme") == ["c"]
        engine.compact()
        assert found("oil title:fig") == ["c"] and found('"green oil"') == ["a"]
        assert before is not None


def test_a_generation_is_searched_when_rows_of_it_were_erased(tmp_path):
    with Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25")}) as engine:
        engine.add([Item("a", "red fig"), Item("b", "fig oil")])
        before = engine.generation().retriever("words")
        engine.delete("a")
        engine.add([Item(str(number), f"fig {number}") for number in range(30)])
        engine.compact()
        assert before.page('"fig oil"', syntax="web").ids == ["b"]
        assert len(engine.page('"fig oil"', syntax="web").ids) == 1
