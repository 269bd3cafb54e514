"""A count of matches is how many a search for all items finds, whatever was removed, filtered and merged."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from vizsla.base.queries import Queries
from vizsla.base.retriever import Retriever
from vizsla.errors import InputError

WORDS = [
    "fig",
    "plum",
    "pear",
    "apple",
    "tree",
    "leaf",
    "root",
    "seed",
    "sweet",
    "sour",
    "green",
    "red",
    "the",
    "of",
    "and",
]
QUERIES = ["fig", "fig tree", "the of and", "plum pear apple sweet sour", "nothing else", "fig fig fig"]


def texts(count: int, seed: int) -> dict[str, str]:
    """Return items whose first words are common, and whose last ones are rare."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, len(WORDS) + 1)
    drawn = rng.choice(WORDS, size=(count, 4), p=shares / shares.sum())
    return {f"{seed}-{at}": " ".join(row) for at, row in enumerate(drawn.tolist())}


@pytest.fixture
def engine(tmp_path):
    variants = {name: vizsla.Recipe.of("bm25", variant=name) for name in ("lucene", "bm25l", "atire")}
    members = {**variants, "typos": vizsla.Recipe.of("typo_tolerant", base="lucene")}
    members["letters"] = vizsla.Recipe.of("tfidf")
    with vizsla.Engine.create(tmp_path / "engine", members=members) as made:
        made.add([{"id": id, "text": text, "price": len(text)} for id, text in texts(300, 1).items()])
        made.maintain()
        made.add([{"id": id, "text": text, "price": len(text)} for id, text in texts(90, 2).items()])
        made.delete([f"1-{at}" for at in range(0, 300, 3)] + ["2-5"])
        yield made


@pytest.mark.parametrize("member", ["lucene", "bm25l", "atire", "typos", "letters"])
def test_an_exact_count_is_what_a_search_for_everything_finds(engine, member):
    retriever = engine.generation(metadata=True).retriever(member)
    for where in (None, "price<18", "price<0"):
        filter = None if where is None else retriever.items.filter(vizsla.where(where))
        for query in QUERIES:
            found = retriever(query, k=len(retriever.items), where=filter)
            counted, again = (
                retriever._count_matches(Queries([query]), filter, len(retriever.items), 1) for _ in range(2)
            )
            assert counted == again  # of marks that were made, and then kept
            expected = Retriever._count_matches(retriever, Queries([query]), filter, len(retriever.items), 1)
            assert counted == expected
            if counted is not None:
                assert counted == (len(found.items), True)


def test_a_bounded_count_is_a_lower_bound_that_says_so(engine):
    for query in QUERIES:
        whole = engine.page(query, 3, using="lucene")
        assert whole.total_is_exact
        for most in (0, 1, 10, 50, 1000):
            page = engine.page(query, 3, using="lucene", count_to=most)
            assert page.ids == whole.ids
            assert page.total <= whole.total
            assert page.total == whole.total if page.total_is_exact else page.total > most
        assert engine.page(query, 3, using="lucene", count_to=1, facets=["price:5"]).total == whole.total


@pytest.mark.parametrize("wrong", [-1, 1.5, "10", True])
def test_a_count_is_up_to_a_whole_number(engine, wrong):
    with pytest.raises(InputError, match="count_to"):
        engine.page("fig", using="lucene", count_to=wrong)


def test_texts_and_metadata_of_a_page_are_those_of_its_items(engine):
    before = engine.page("fig tree sweet", 40, using="lucene", offset=3).to_dict()["hits"]
    before[0]["metadata"]["price"] = -1  # the caller's own
    engine.update_metadata({before[1]["id"]: {"price": 99}})
    page = engine.page("fig tree sweet", 40, using="lucene", offset=3)
    assert page[1].value("price") == 99
    assert len(page) == 40
    for hit, shown in zip(page.hits, page.to_dict()["hits"], strict=True):
        item = engine.get(hit.id)
        assert (hit.text, dict(hit.metadata)) == (item.text, dict(item.metadata))
        assert (shown["text"], shown["metadata"]) == (item.text, dict(item.metadata))
        assert hit.value("price") == item.metadata["price"]
