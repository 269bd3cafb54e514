"""Candidates against a model of plain lists: what every method keeps, reorders and forgets, row by row."""

from __future__ import annotations

import copy
import pickle
from dataclasses import asdict, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vizsla import Dataset, bm25
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.strings import Strings
from vizsla.errors import InputError

ITEMS = 9
ROWS = st.lists(st.lists(st.integers(0, ITEMS - 1), unique=True, max_size=6), max_size=5)
SCORES = st.sampled_from([-2.0, -0.5, 0.0, 1.0, 1.5, 3.0])
COST = Stats(ms=1.5, scored=2, model_calls=3, postings=4, bytes=5, exact=True, estimated=6, widened=7)


@st.composite
def answers(draw):
    """Return Candidates with everything that an answer may hold, and the same as lists of (item, score, confidence)."""
    rows = [
        sorted(((item, draw(SCORES), draw(st.floats(0, 1, width=32))) for item in row), key=lambda e: (-e[1], e[0]))
        for row in draw(ROWS)
    ]
    flat = [entry for row in rows for entry in row]
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    items, scores, sure = (np.array([entry[at] for entry in flat]) for at in range(3))
    names = [f"q{number}" for number in range(len(rows))]
    catalog = Strings.of([f"i{number}" for number in range(ITEMS)])
    found = Candidates(
        offsets, items.astype(np.int32), scores.astype(np.float32), catalog=catalog, query_ids=names, stats=COST
    )
    bounds = np.arange(len(rows), dtype=np.float32)
    return found.with_confidences(sure.astype(np.float32)).with_upper_bounds(bounds).with_hints(("h",)), rows


def same(found, rows, *, ids=None, bounds=True, stats=COST, hints=("h",)):
    """Compare everything with the model."""
    names = [f"q{number}" for number in range(len(rows))] if ids is None else ids
    assert found.ids == [[f"i{item}" for item, *_ in row] for row in rows] and list(found.query_ids) == names
    flat = [entry for row in rows for entry in row]
    assert found.scores.tolist() == [entry[1] for entry in flat]
    assert found.confidences.tolist() == [entry[2] for entry in flat]
    assert (found.stats, found.hints) == (stats, hints)
    assert found.row_numbers().tolist() == [number for number, row in enumerate(rows) for _ in row]
    if bounds:
        assert found.upper_bounds.tolist() == [int(name[1:]) for name in names]
    for number, row in enumerate(rows):
        hits = found[number]
        assert [(hit.id, hit.score, hit.rank, hit.confidence) for hit in hits] == [
            (f"i{item}", score, rank, sure) for rank, (item, score, sure) in enumerate(row, 1)
        ]
        numbers, scores = found.row(number)
        assert found.catalog.take(numbers) == found.ids[number] and scores.tolist() == [score for _, score, _ in row]
        assert hits == found[number - len(rows)], "counted from the end"


@given(answers(), st.integers(1, 7))
def test_the_best_of_each_row_are_its_first(case, k):
    found, rows = case
    cut = found.top(k)
    same(cut, [row[:k] for row in rows], bounds=cut is found)
    assert (cut is found) == (max(map(len, rows), default=0) <= k)
    for at in range(len(rows)):
        one = found[at : at + 1].top(k)
        assert one.ids == [[f"i{item}" for item, *_ in rows[at][:k]]]


@given(answers(), st.integers(-6, 6), st.integers(-6, 6), st.sampled_from([1, 2, -1, -2, None]))
@settings(max_examples=60)
def test_slices_are_those_of_lists(case, start, stop, step):
    found, rows = case
    chosen = slice(start, stop, step)
    names = [f"q{number}" for number in range(len(rows))]
    same(found[chosen], rows[chosen], ids=names[chosen], bounds=False)
    assert found[chosen].upper_bounds is None or step == 1


@given(answers())
def test_copies_change_one_thing(case):
    found, rows = case
    same(found.with_stats(Stats()), rows, stats=Stats())
    same(found.with_ms(9.0), rows, stats=Stats(9.0, *list(asdict(COST).values())[1:]))
    same(found.with_hints(()), rows, hints=())
    names = [f"q{7 + number}" for number in range(len(rows))]
    bounds = np.arange(7, 7 + len(rows), dtype=np.float32)
    same(found.with_query_ids(names).with_upper_bounds(bounds), rows, ids=names)
    bare = found.unscored()
    assert bare.scores is None and bare.ids == found.ids and bare.stats == COST
    assert list(bare.query_ids) == list(found.query_ids)
    same(found, rows)  # and nothing was changed in place
    assert copy.copy(found) is copy.deepcopy(found) is found


@given(answers())
def test_pickled_answers_are_the_same_and_smaller_than_their_catalog(case):
    found, rows = case
    again = pickle.loads(pickle.dumps(found))
    assert again == found and list(again.query_ids) == list(found.query_ids)
    assert (again.stats, again.hints) == (COST, ("h",)) and again.confidences.tolist() == found.confidences.tolist()
    assert again.upper_bounds.tolist() == found.upper_bounds.tolist()
    assert len(again.catalog) == len({item for row in rows for item, *_ in row})
    assert again.top(2).ids == found.top(2).ids
    with pytest.raises(InputError, match="whole catalog"):
        again.to_csr()
    for array in (again.items, again.scores, again.offsets, found.items, found.scores, found.offsets):
        assert not array.flags.writeable


@given(answers(), st.permutations(range(ITEMS)))
def test_another_numbering_orders_ties_by_its_own_numbers(case, order):
    """Item n of the old catalog is number order[n] of the new one."""
    found, rows = case
    names = [""] * ITEMS
    for old, new in enumerate(order):
        names[new] = f"i{old}"
    numbers = np.array([order[number] for number in found.items.tolist()], np.int32)
    wanted = [sorted(row, key=lambda entry: (-entry[1], order[entry[0]])) for row in rows]
    same(found.renumbered(Strings.of(names), numbers), wanted, bounds=False)
    plain = found.with_confidences(None).renumbered(Strings.of(names), numbers)
    assert plain.ids == [[f"i{item}" for item, *_ in row] for row in wanted]
    assert plain.upper_bounds.tolist() == found.upper_bounds.tolist() and plain.stats == COST
    assert list(plain.query_ids) == list(found.query_ids)


@given(answers(), st.one_of(st.none(), st.integers(1, 4)), st.randoms(use_true_random=False))
def test_new_scores_rank_anew_and_cut(case, k, random):
    found, rows = case
    fresh = np.array([random.choice([0.0, 1.0, 2.0, -1.0]) for _ in found.items], np.float32)
    scored = found.with_scores(PairScores(fresh, Stats(scored=1)), k=k)
    at, wanted = 0, []
    for row in rows:
        own = [(item, float(fresh[at + place])) for place, (item, *_) in enumerate(row)]
        wanted.append(sorted(own, key=lambda entry: (-entry[1], entry[0]))[:k])
        at += len(row)
    assert scored.ids == [[f"i{item}" for item, _ in row] for row in wanted]
    assert scored.scores.tolist() == [score for row in wanted for _, score in row]
    assert (scored.stats, scored.hints, list(scored.query_ids)) == (Stats(scored=1), ("h",), list(found.query_ids))
    with pytest.raises(InputError, match="one number an item"):
        found.with_scores(PairScores(np.zeros(len(fresh) + 1, np.float32), Stats()))


@given(answers(), st.data())
def test_selected_pairs_stay_in_their_rows(case, data):
    found, _ = case
    flags = data.draw(st.lists(st.booleans(), min_size=len(found.items), max_size=len(found.items)))
    positions = np.flatnonzero(np.array(flags, bool)) if flags else np.zeros(0, np.int64)
    chosen = found.select(positions)
    flat, rows = [id for row in found.ids for id in row], found.row_numbers().tolist()
    wanted = [[] for _ in range(len(found))]
    for position in positions.tolist():
        wanted[rows[position]].append(flat[position])
    assert chosen.ids == wanted and chosen.scores is None


@given(answers())
def test_every_form_tells_the_same(case):
    found, rows = case
    told = {f"q{n}": {f"i{item}": score for item, score, _ in row} for n, row in enumerate(rows)}
    assert found.to_dict() == told and [list(row) for row in found.to_dict().values()] == found.ids
    lines = [line.split() for line in found.to_trec(tag="t").splitlines()]
    wanted = [[q, "Q0", item, str(rank)] for q, row in told.items() for rank, item in enumerate(row, 1)]
    assert [line[:4] for line in lines] == wanted and all(line[5] == "t" for line in lines)
    matrix = found.to_csr()
    assert matrix.shape == (len(rows), ITEMS) and matrix.nnz == len(found.items)
    dense = matrix.toarray()
    for number, row in enumerate(rows):
        assert all(dense[number, item] == np.float32(score) for item, score, _ in row)
    frame = found.to_pandas()
    assert frame["rank"].tolist() == [rank for row in rows for rank in range(1, len(row) + 1)]
    assert frame["id"].tolist() == [id for row in found.ids for id in row]
    assert frame["query"].tolist() == [q for q, row in told.items() for _ in row]


@given(answers(), answers())
def test_answers_are_equal_where_items_and_scores_are(one, two):
    (first, rows), (second, others) = one, two
    assert (first == second) == ([[e[:2] for e in row] for row in rows] == [[e[:2] for e in row] for row in others])
    assert first == first.with_stats(Stats()) and first != first.unscored() and first != rows
    if len(first.items):
        moved = first.scores + np.float32(1)
        assert first != Candidates(first.offsets, first.items, moved, catalog=first.catalog)
        assert first != first.with_catalog(Strings.of([f"j{number}" for number in range(ITEMS)]))
        assert first != first.with_catalog(None)


def test_costs_are_added_figure_by_figure():
    names = [field.name for field in fields(Stats)]
    one, two = Stats(*range(1, 6), True, 6, 7), Stats(*range(10, 60, 10), True, 60, 70)
    both = asdict(one + two)
    assert both == {name: getattr(one, name) + getattr(two, name) for name in names} | {"exact": True}
    for left, right in ((True, False), (False, True), (False, False)):
        assert not (one.with_exact(left) + two.with_exact(right)).exact
    assert one.with_exact(False) == Stats(*range(1, 6), False, 6, 7)
    assert one.with_ms(9) == Stats(9, 2, 3, 4, 5, True, 6, 7) and one.to_dict() == asdict(one)


@pytest.mark.parametrize(
    "wrong",
    [([1, 2], [0, 1]), ([0, 3], [0, 1]), ([0, 2, 1, 2], [0, 1]), ([0, 2], [0, -1]), ([0, 2], [0, 9]), ([], [])],
)
def test_arrays_that_are_no_answer_are_refused(wrong):
    offsets, items = (np.array(values) for values in wrong)
    catalog = Strings.of([f"i{number}" for number in range(ITEMS)])
    with pytest.raises(InputError):
        Candidates(offsets.astype(np.int64), items.astype(np.int32), None, catalog=catalog)


def test_hits_carry_what_is_known_of_them():
    shop = [{"id": "f", "text": "a fig", "price": 3, "brand": "x"}, {"id": "p", "text": "fig fig pear"}]
    found = bm25(Dataset.of(shop, keep_texts=True))("fig")
    for hits in (found[0], pickle.loads(pickle.dumps(found[0])), pickle.loads(pickle.dumps(found))[0]):
        known = {hit.id: hit for hit in hits}
        assert known["f"].metadata == {"price": 3, "brand": "x"} and known["p"].metadata == {}
        assert (known["f"].text, known["p"].text) == ("a fig", "fig fig pear")
        assert (known["f"].value("price"), known["p"].value("price")) == (3, None)
        assert known["p"].value("text") == "fig fig pear"
        whole = known["f"].to_dict()
        assert whole["metadata"] == {"price": 3, "brand": "x"} and whole["text"] == "a fig"
        brand = known["f"].to_dict(["brand"])
        assert brand["metadata"] == {"brand": "x"} and "text" not in brand
        assert known["p"].to_dict(["text", "brand"])["metadata"] == {} and "metadata" not in known["p"].to_dict()
        assert [hit.to_dict()["rank"] for hit in hits] == [1, 2]
        assert [tuple(hit) for hit in hits] == [(hit.id, hit.score) for hit in hits]
