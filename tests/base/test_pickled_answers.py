"""A pickled answer carries its hits, not the catalog; what it says of them stays the same."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from vizsla import Dataset, bm25, load
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.errors import InputError

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def catalog(count: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"item-{number}",
            "title": f"Fig number {number}",
            "text": f"a {'red' if number % 3 else 'green'} fig tree, number {number % 97}",
            "price": "n/a" if number == 0 else f"{number % 50}.50",
            "stock": number,
            "color": None if number % 5 == 0 else "red",
        }
        for number in range(count)
    ]


def search(count: int) -> Retriever:
    return bm25(Dataset.of(catalog(count), keep_texts=True))


def same(found: Candidates, again: Candidates, capsys: pytest.CaptureFixture[str]) -> None:
    assert again == found and again.ids == found.ids and list(again) == list(found)
    assert again.to_dict() == found.to_dict() and again.to_trec() == found.to_trec()
    assert list(again.query_ids) == list(found.query_ids) and again.stats == found.stats
    for row in range(len(found)):
        assert again.metadata(row) == found.metadata(row)
        assert again.metadata(row, ["text", "PRICE", "stock"]) == found.metadata(row, ["text", "PRICE", "stock"])
    for fields in (None, ["title", "price"], []):
        found.show(fields=fields)
        shown = capsys.readouterr().out
        again.show(fields=fields)
        assert capsys.readouterr().out == shown and "item-" in shown
    assert again.top(2).ids == found.top(2).ids and again[1:].ids == found[1:].ids
    assert again.unscored().ids == found.unscored().ids


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_everything_that_an_answer_says_is_the_same(protocol: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = search(200)(["red fig 3", "green tree", "nothing such"], k=7).with_query_ids(["q1", "q2", "q3"])
    again = pickle.loads(pickle.dumps(found, protocol))
    same(found, again, capsys)
    same(found, pickle.loads(pickle.dumps(again, protocol)), capsys)
    part = pickle.loads(pickle.dumps(again[1:2], protocol))
    assert part == found[1:2] and len(part.catalog) == 7 and part.metadata(0) == found.metadata(1)


def test_its_size_is_that_of_its_hits() -> None:
    """The same answer from a catalog a hundred times as large takes no more bytes."""
    small, large = search(200), search(20_000)
    ids = [f"item-{number}" for number in (3, 1, 4, 15, 92)]
    sizes = [len(pickle.dumps(engine.score("red fig", ids))) for engine in (small, large)]
    assert sizes[1] <= 1.02 * sizes[0] and sizes[1] < 4000
    assert len(pickle.dumps(large.items)) > 100 * sizes[1]


def test_ties_keep_their_order_and_scorers_take_it(capsys: pytest.CaptureFixture[str]) -> None:
    engine = search(300)
    found = engine(["fig", "red"], k=20)  # all alike: ordered by number
    again = pickle.loads(pickle.dumps(found))
    assert engine.score(["fig", "red"], again) == engine.score(["fig", "red"], found)
    assert Candidates.ranked(again.offsets, again.items, again.scores, catalog=again.catalog).ids == found.ids


def test_what_needs_the_whole_catalog_raises() -> None:
    engine = search(50)
    found = engine("fig", k=3)
    again = pickle.loads(pickle.dumps(found))
    with pytest.raises(InputError, match="`to_csr` must have the whole catalog .* hits only"):
        again.to_csr()
    whole = Candidates.from_dict(again.to_dict(), catalog=engine.items)
    assert np.array_equal(whole.to_csr().toarray(), found.to_csr().toarray())
    with pytest.raises(InputError, match=r"must be one that the items have \(.*price.*\). Got 'weight'"):
        again.metadata(0, ["weight"])


def test_other_answers_are_pickled_too() -> None:
    plain = bm25({"fig": "a fig", "pear": "a pear"})("fig")
    numbers = Candidates.from_rows([np.array([7, 2], np.int32)])
    empty = Candidates.from_dict({})
    for found in (plain, plain.unscored(), numbers, empty):
        again = pickle.loads(pickle.dumps(found))
        assert again == found and again.ids == found.ids
        assert not again.items.flags.writeable and not again.offsets.flags.writeable
    with pytest.raises(InputError, match="only ids were saved"):
        pickle.loads(pickle.dumps(plain)).metadata(0, ["price"])


def test_a_copy_is_the_answer_itself() -> None:
    found = search(20)("fig")
    assert copy.copy(found) is found and copy.deepcopy({"x": found})["x"] is found


def answer(path: str) -> Candidates:
    return load(path)(["red fig", "green"], k=4)


def test_processes_hand_answers_over(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = search(100)
    engine.save(tmp_path / "index")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        again = pool.apply(answer, [str(tmp_path / "index")])
    found = engine(["red fig", "green"], k=4).with_stats(again.stats)
    same(found, again, capsys)


def test_answers_differ_by_their_ids() -> None:
    one, other = Candidates.from_dict({"q": {"a": 1.0}}), Candidates.from_dict({"q": {"b": 1.0}})
    assert one != other and pickle.loads(pickle.dumps(one)) != other and one == pickle.loads(pickle.dumps(one))
