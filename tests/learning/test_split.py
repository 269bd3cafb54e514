from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError

Clicks = list[tuple[str, str, float]]
pytestmark = pytest.mark.filterwarnings("ignore::vizsla.core.validation.DatasetWarning")


def dataset_of(clicks: Clicks, *, queries: int = 0, items: int = 0) -> Dataset:
    queries = max([queries, *(int(query) + 1 for query, _, _ in clicks)])
    items = max([items, *(int(item) + 1 for _, item, _ in clicks)])
    return Dataset.of([f"i{n}" for n in range(items)], queries=[f"q{n}" for n in range(queries)], clicks=clicks)


def stored(matrix: csr_array) -> dict[tuple[int, int], float]:
    entries = matrix.tocoo()
    return dict(zip(zip(entries.row.tolist(), entries.col.tolist(), strict=True), entries.data.tolist(), strict=True))


def rows(dataset: Dataset, split: str) -> set[int]:
    return {int(id) for id in dataset.qrels_dict(split)}


def check_definition(whole: Dataset, train: Dataset, held: Dataset) -> None:
    """The split's definition, in plain Python sets."""
    before, after = stored(whole.clicks), stored(train.clicks)
    cold, warm, test = rows(held, "cold"), rows(held, "warm"), rows(held, "test")
    assert cold | warm == test
    assert not cold & warm
    items_of: dict[int, set[int]] = {}
    for query, item in before:
        items_of.setdefault(query, set()).add(item)
    left = {item for _, item in after}
    for query in cold:
        assert not items_of[query] & left
    for query in warm:
        assert items_of[query] <= left
    # A held-out query is held out whole and is not in train.
    assert set(stored(held.qrels("test"))) == {(query, item) for query in test for item in items_of[query]}
    assert not test & {query for query, _ in after}
    # Train's clicks are untouched; only clicks on cold items are missing, and every query keeps one.
    assert after.items() <= before.items()
    cold_items = {item for query in cold for item in items_of[query]}
    kept = {(query, item) for query, item in before if query not in test and item not in cold_items}
    assert set(after) == kept
    assert {query for query, _ in after} == set(items_of) - test
    report = held.split_report
    assert report is not None and report == train.split_report
    assert (report.queries, report.cold_queries, report.warm_queries) == (len(items_of), len(cold), len(warm))
    assert report.clicks_set_aside == len(before) - len(after) - held.qrels("test").nnz
    assert report.held_out == len(test) / len(items_of)
    assert report.cold == len(cold) / len(test)


def check_impossible(whole: Dataset, cold: float, message: str) -> None:
    """A kind that is refused is one that the clicks do not have."""
    clicked = whole.clicks.toarray() > 0
    clicked = clicked[clicked.any(axis=1)]
    if "`cold` must be 1" in message:
        shared = clicked.sum(axis=0) > 1
        assert cold > 0.5 or not any(shared[row].all() for row in clicked)
    else:
        assert "`cold` must be 0" in message
        inside = [sum((other <= row).all() for other in clicked) for row in clicked]
        assert min(inside) > 1


CLICKS = st.lists(
    st.tuples(st.integers(0, 30).map(str), st.integers(0, 12).map(str), st.floats(0.5, 8, width=32)),
    min_size=2,
    max_size=60,
)


@given(clicks=CLICKS, held_out=st.floats(0.01, 0.99), cold=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_the_definition_holds_for_any_clicks(clicks: Clicks, held_out: float, cold: float, seed: int) -> None:
    whole = dataset_of(clicks)
    assume(len({query for query, _, _ in clicks}) > 1)
    try:
        train, held = whole.split(held_out=held_out, cold=cold, seed=seed)
    except InputError as error:
        check_impossible(whole, cold, str(error))
        return
    check_definition(whole, train, held)
    again = whole.split(held_out=held_out, cold=cold, seed=seed)
    assert stored(again[0].clicks) == stored(train.clicks)
    assert again[1].qrels_dict("cold") == held.qrels_dict("cold")


@given(
    sizes=st.lists(st.integers(1, 9), min_size=30, max_size=60),
    held_out=st.floats(0.05, 0.2),
    cold=st.floats(0, 0.4),
    seed=st.integers(0, 1000),
)
def test_plain_logs_get_exactly_what_is_asked(sizes: list[int], held_out: float, cold: float, seed: int) -> None:
    """One click a query, items of many sizes, enough singles for any remainder: nothing is short, nothing set aside."""
    sizes = [*sizes, *[1] * 40, *[4] * 40]
    owners = np.repeat(np.arange(len(sizes)), sizes)
    whole = dataset_of([(str(query), str(item), 1.0) for query, item in enumerate(owners)])
    train, held = whole.split(held_out=held_out, cold=cold, seed=seed)
    check_definition(whole, train, held)
    wanted = round(held_out * len(owners))
    assert len(rows(held, "test")) == wanted
    assert len(rows(held, "cold")) == round(cold * wanted)
    assert held.split_report is not None and held.split_report.clicks_set_aside == 0


def random_clicks(*, queries: int, items: int, each: int, seed: int) -> Clicks:
    rng = np.random.default_rng(seed)
    popularity: NDArray[np.float64] = 1.0 / np.arange(1, items + 1)
    popularity /= popularity.sum()
    chosen = [rng.choice(items, size=rng.integers(1, each + 1), replace=False, p=popularity) for _ in range(queries)]
    return [(str(query), str(item), 1.0) for query, row in enumerate(chosen) for item in row]


def test_queries_with_several_clicks_reach_the_shares() -> None:
    whole = dataset_of(random_clicks(queries=3000, items=1500, each=4, seed=1))
    train, held = whole.split(held_out=0.1, cold=0.2, seed=3)
    check_definition(whole, train, held)
    report = held.split_report
    assert report is not None
    assert (report.cold_queries, report.warm_queries) == (60, 240)
    assert report.clicks_set_aside < 0.02 * whole.clicks.nnz


def test_a_plain_random_split_gets_it_wrong() -> None:
    """Half of the items have one click: a random tenth of the queries is cold for far more than the 5 % asked for."""
    owners = [*range(100), *np.repeat(np.arange(100, 120), 5).tolist()]
    whole = dataset_of([(str(query), str(item), 1.0) for query, item in enumerate(owners)])
    held_rows = np.random.default_rng(0).permutation(200)[:40]
    left = {owners[row] for row in range(200) if row not in set(held_rows.tolist())}
    share = np.mean([owners[row] not in left for row in held_rows])
    assert share > 0.3
    _, held = whole.split(held_out=0.2, cold=0.05)
    assert held.split_report is not None
    assert held.split_report.cold == 0.05


def test_seeds_differ_and_weights_stay() -> None:
    whole = dataset_of([(str(query), str(query % 10), query + 0.5) for query in range(100)])
    splits = {frozenset(rows(whole.split(seed=seed)[1], "test")) for seed in range(5)}
    assert len(splits) > 1
    train, _ = whole.split()
    assert all(weight == query + 0.5 for (query, _), weight in stored(train.clicks).items())


def test_both_parts_keep_all_items_and_numbers() -> None:
    whole = Dataset.of(
        ["x", "y"],
        queries=["a", "b", "c", "d"],
        qrels={"train": [("0", "0", 2), ("1", "0", 1), ("2", "0", 3), ("3", "1", 0)], "test": [("3", "1", 1)]},
    )
    train, held = whole.split(held_out=0.3, cold=0)
    assert train.item_ids == held.item_ids == whole.item_ids
    assert train.query_ids == held.query_ids == whole.query_ids
    assert (train.splits, held.splits) == (("train",), ("test", "cold", "warm"))
    assert held.clicks.nnz == 0
    (query,) = rows(held, "warm")
    assert held.qrels_dict("test") == {str(query): {"0": [2, 1, 3][query]}}
    assert held.query_texts("test") == ([str(query)], ["abcd"[query]])


@pytest.mark.parametrize(
    ("clicks", "options", "message"),
    [
        ([("0", "0", 1.0)], {}, "at least 2 queries with clicks. Got 1"),
        ([(str(n), str(n), 1.0) for n in range(20)], {}, "`cold` must be 1 for these clicks"),
        ([(str(n), "0", 1.0) for n in range(20)], {"cold": 0.5}, "`cold` must be 0 for these clicks"),
        ([("0", "0", 1.0), ("1", "0", 1.0)], {"held_out": 0}, "`held_out` must be above 0 and below 1. Got 0"),
        ([("0", "0", 1.0), ("1", "0", 1.0)], {"held_out": 1.0}, "`held_out` must be above 0 and below 1"),
        ([("0", "0", 1.0), ("1", "0", 1.0)], {"cold": 1.5}, "`cold` must be between 0 and 1"),
        ([("0", "0", 1.0), ("1", "0", 1.0)], {"cold": float("nan")}, "`cold` must be between 0 and 1"),
    ],
)
def test_what_the_data_cannot_give_raises(clicks: Clicks, options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dataset_of(clicks).split(**options)


def test_too_few_warm_queries_shrink_both_kinds_and_warn() -> None:
    shared = [(str(n), str(n // 2), 1.0) for n in range(20)]
    lonely = [(str(n), str(n), 1.0) for n in range(20, 100)]
    whole = dataset_of([*shared, *lonely])
    with pytest.warns(DatasetWarning, match=r"^1\d queries held out in place of 40"):
        train, held = whole.split(held_out=0.4, cold=0.5)
    check_definition(whole, train, held)
    report = held.split_report
    assert report is not None
    # At most one of each pair can be warm, and a pair can be cold instead.
    assert 8 <= report.warm_queries <= 10
    assert report.cold == 0.5
    assert len(held.warnings) == 1


def test_a_share_too_small_to_round_to_a_query_warns() -> None:
    whole = dataset_of([(str(n), str(n // 5), 1.0) for n in range(50)])
    with pytest.warns(DatasetWarning, match=r"^5 queries held out, 0 of them cold, not a share of 0\.05"):
        whole.split()


def test_many_clicks_set_aside_warn() -> None:
    """Every query clicks the item that everybody clicks and one of its own: to be cold costs the others."""
    clicks = [(str(n), item, 1.0) for n in range(20) for item in ("0", str(1 + n % 5))]
    whole = dataset_of([*clicks, *((str(20 + n), "6", 1.0) for n in range(20))])
    with pytest.warns(DatasetWarning):
        train, held = whole.split(held_out=0.5, cold=0.2, seed=1)
    check_definition(whole, train, held)
