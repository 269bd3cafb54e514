"""What a log's choosers may not depend on: queries that were never clicked, and the order of its rows."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.table_retriever import TableRetriever
from vizsla.data.dataset import SECONDS_PER_DAY, Dataset
from vizsla.learning.query_mix import predicted_mix, text_numbers
from vizsla.learning.recency import HALF_LIFE_SHARES, choose_half_life
from vizsla.learning.splits import draw_holdout, split_by_time

ITEMS = {f"i{number}": f"item {number}" for number in range(40)}


def clicks_of(seed: int, *, timed: bool) -> list[tuple]:
    """Return clicks of 130 texts, some of them several times, in no order of time."""
    pick = random.Random(seed)
    rows = [(f"text {pick.randrange(130)}", f"i{pick.randrange(40)}", 1.0) for _ in range(220)]
    return [(*row, float(pick.randrange(90)) * SECONDS_PER_DAY) for row in rows] if timed else rows


def with_queries(rows: list[tuple], silent: int, *, last: bool) -> Dataset:
    """Return the log with queries that no click names, behind all others or among them."""
    texts = list(dict.fromkeys(row[0] for row in rows))
    more = [f"silent {number}" for number in range(silent)]
    every = [*texts, *more] if last else [text for pair in zip(texts, more, strict=False) for text in pair]
    every += [text for text in (*texts, *more) if text not in every]
    queries = {f"q{number}": text for number, text in enumerate(every)}
    ids = {text: id for id, text in queries.items()}
    return Dataset.of(ITEMS, queries=queries, clicks=[(ids[row[0]], *row[1:]) for row in rows])


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_queries_that_were_never_clicked_say_nothing_of_those_to_come(timed, seed):
    rows = clicks_of(seed, timed=timed)
    plain = with_queries(rows, 0, last=True)
    for silent in (1, 50, 400):
        for last in (True, False):
            wider = with_queries(rows, silent, last=last)
            assert len(text_numbers(wider)[0]) == len(text_numbers(plain)[0]) + silent
            assert predicted_mix(wider) == predicted_mix(plain)
        one, other = (draw_holdout(log, seed=seed) for log in (plain, with_queries(rows, silent, last=True)))
        assert (one.texts, one.kinds.tolist(), one.mix) == (other.texts, other.kinds.tolist(), other.mix)
        assert one.train.clicks.nnz == other.train.clicks.nnz


def mix_by_hand(rows: list[tuple[str, str, str]]) -> list[int]:
    """Count searches of repeated, warm and cold texts, given clicks as (query, its text, item)."""
    clicks, by_text = Counter(rows), defaultdict(set)
    searches: dict[str, int] = defaultdict(int)
    for query, text in {(query, text) for query, text, _ in rows}:
        searches[text] += max(count for (other, _, _), count in clicks.items() if other == query)
    for _, text, item in rows:
        by_text[item].add(text)
    repeated = sum(count for count in searches.values() if count > 1)
    warm = {text for texts in by_text.values() if len(texts) > 1 for text in texts if searches[text] == 1}
    return [repeated, len(warm), sum(count == 1 for count in searches.values()) - len(warm)]


@pytest.mark.parametrize("seed", range(8))
def test_the_mix_of_a_log_without_times_is_that_of_a_count_by_hand(seed):
    """Several queries have one text, and click one item or several, once or often."""
    pick = random.Random(seed)
    texts = {f"q{number}": f"text {pick.randrange(60)}" for number in range(90)}
    drawn = [pick.choice(list(texts)) for _ in range(100)]
    rows = [(query, texts[query], f"i{pick.randrange(40)}") for query in drawn for _ in range(pick.choice([1, 1, 2]))]
    rows += pick.sample(rows, 10)
    found = predicted_mix(Dataset.of(ITEMS, queries=texts, clicks=[(query, item) for query, _, item in rows]))
    repeated, warm, cold = mix_by_hand(rows)
    total = repeated + warm + cold + 2  # one more of either kind of new texts
    assert found.source == "log"
    assert list(found.shares.values()) == [repeated / total, (warm + 1) / total, (cold + 1) / total]


class Noted:
    """Builds a retriever that finds nothing, and notes what it was to learn from and what it is asked."""

    def __init__(self) -> None:
        self.given: list[set[tuple[str, str]]] = []
        self.asked: list[set[str]] = []

    def __call__(self, clicks):
        if isinstance(clicks, Dataset):
            matrix, texts = clicks.clicks.tocoo(), clicks.query_texts()[1]
            pairs = zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)
            self.given.append({(texts[row], clicks.item_ids[column]) for row, column in pairs})
        else:
            self.given.append({(query, item) for query, item, *_ in clicks})
        noted = self.asked

        class Asked(TableRetriever):
            def _search(self, queries, k, filter, threads):
                noted.append(set(queries.texts))
                return super()._search(queries, k, filter, threads)

        return Asked({}, list(ITEMS))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(12, 80), st.booleans())
def test_a_half_life_is_learned_before_a_moment_and_judged_after_it_whatever_the_order_of_the_rows(seed, count, whole):
    pick = random.Random(seed)
    # Every click has its own text, so that what is seen says when it was made.
    days = [pick.randrange(1, 40) for _ in range(count)]
    rows = [(f"text {n}", f"i{pick.randrange(40)}", 1.0, day * SECONDS_PER_DAY) for n, day in enumerate(days)]
    cut = sorted(row[3] for row in rows)[min(count - 1, round(0.9 * count))]
    early = {row[:2] for row in rows if row[3] < cut}
    if not early:
        return
    late = {row[0] for row in rows if row[3] >= cut}
    noted = Noted()
    choice = choose_half_life(Dataset.of(ITEMS, clicks=rows) if whole else rows, noted)
    assert [trial["half_life"] for trial in choice.trials[1:]] == pytest.approx(
        [float(np.ptp(days)) * share for share in HALF_LIFE_SHARES], rel=0.01
    )
    # Clicks that have decayed to nothing are left out: of the shortest half-lives the span has sixteen.
    assert noted.given[0] == early and all(given <= early for given in noted.given)
    assert noted.asked == [late] * len(choice.trials)


@given(st.integers(0, 10**6))
@settings(max_examples=30)
def test_a_split_by_time_does_not_depend_on_the_order_of_the_rows(seed):
    rows = clicks_of(seed, timed=True)
    found = []
    for order in (rows, sorted(rows, key=lambda row: row[3]), random.Random(seed).sample(rows, len(rows))):
        train, held = split_by_time(Dataset.of(ITEMS, clicks=order), held_out=0.2)
        texts = train.query_texts()[1]
        learned = sorted(
            (texts[query], train.item_ids[item], time)
            for query, item, time in zip(
                train.events.queries.tolist(), train.events.items.tolist(), train.events.times.tolist(), strict=True
            )
        )
        kinds = {kind: sorted(held.query_texts(kind)[1]) for kind in ("test", "cold", "warm")}
        assert sorted([*kinds["cold"], *kinds["warm"]]) == kinds["test"]
        found.append((learned, kinds))
    assert found[0] == found[1] == found[2]
