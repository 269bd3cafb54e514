"""Infinite scores: ranked, and added where that is a number; refused, with the item's name, where it is none."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.table_retriever import TableRetriever
from vizsla.base.encoder import FunctionEncoder
from vizsla.core.candidates import Candidates
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.methods.fusion import fuse
from vizsla.methods.pefa import pefa_xl
from vizsla.scorers.text import FunctionScorer

ITEMS = [f"i{number}" for number in range(8)]
INF = np.inf


def table(row, name="mine", items=ITEMS):
    return TableRetriever({"q": dict(zip(items, map(float, row), strict=True))}, list(items), scale=name)


FINITE = table([5, 4, 3, 2, 1, 0, -1, -2], "finite")
ROWS = {
    "highest": [1, 2, INF, 4, 5, 6, 7, 8],
    "lowest": [1, 2, -INF, 4, 5, 6, 7, 8],
    "both": [1, 2, INF, 4, -INF, 6, 7, 8],
    "several": [1, INF, INF, 4, 5, 6, INF, 8],
    "nothing else": [INF] * 8,
}


@pytest.mark.parametrize("how", ["minmax", "zscore"])
@pytest.mark.parametrize("row", ROWS)
def test_no_scale_is_made_of_infinite_scores(row, how):
    part = table(ROWS[row])
    found = FINITE("q", k=8)
    for composed in (
        part.normalized(how),
        part.normalized(how) + FINITE.normalized(how),
        FINITE >> part.normalized(how),
    ):
        for ask in (
            lambda c=composed: c("q", k=8),
            lambda c=composed: c("q", k=2, where=ITEMS),
            lambda c=composed: c.score("q", found),
            lambda c=composed: c.explain("q", "i2"),
            lambda c=composed: c.exact("q", k=3),
        ):
            with pytest.raises(
                InputError, match=rf"finite to be normalized by '{how}'. Got -?inf for 'i\d' and 'q' by mine"
            ):
                ask()


def test_an_infinite_score_outside_of_the_list_that_makes_the_scale_is_refused_too():
    part = TableRetriever({"q": {"i0": 2.0, "i1": 1.0}}, ITEMS, scale="mine", floor=-INF)
    assert part.normalized()("q", k=8).to_dict()["0"] == {"i0": 1.0, "i1": 0.0}, "nobody asks for the others"
    with pytest.raises(InputError, match="Got -inf for 'i2' and 'q' by mine"):
        (FINITE.normalized() + part.normalized())("q", k=8)


@pytest.mark.parametrize("row", ROWS)
def test_places_are_those_of_any_scores(row):
    part = table(ROWS[row])
    order = np.argsort(-np.array(ROWS[row]), kind="stable")
    expected = {ITEMS[item]: pytest.approx(1 / (61 + place), rel=1e-6) for place, item in enumerate(order)}
    assert part.normalized("rank")("q", k=8).to_dict()["0"] == expected


@pytest.mark.parametrize("seed", range(60))
def test_a_sum_is_its_twin_or_is_refused(seed):
    pick = np.random.default_rng(seed)
    count, values = int(pick.integers(2, 4)), [INF, -INF, *np.arange(-4.0, 5.0)]
    rows = pick.choice(values, (count, len(ITEMS)), p=[0.06, 0.06, *[0.88 / 9] * 9])
    weights = pick.choice([0.0, 0.5, 1.0, 2.0], count, p=[0.1, 0.3, 0.3, 0.3])
    with np.errstate(invalid="ignore"):
        totals = np.sum(weights[:, None] * rows, axis=0)
    orders = [pick.permutation(len(ITEMS)) if pick.random() < 0.5 else np.arange(len(ITEMS)) for _ in rows]
    parts = [table(row[order], "one", [ITEMS[at] for at in order]) for row, order in zip(rows, orders, strict=True)]
    total = weights[0] * parts[0]
    for weight, part in zip(weights[1:], parts[1:], strict=True):
        total = total + weight * part
    everything = Candidates.from_rows([np.arange(len(ITEMS), dtype=np.int32)], catalog=total.items)
    if np.isnan(totals).any():
        for ask in (lambda: total("q", k=8), lambda: total.score("q", everything), lambda: total.exact("q", k=8)):
            with pytest.raises(InputError, match=r"add up to a number.*'i\d' and 'q'"):
                ask()
    else:
        expected = {item: totals[ITEMS.index(item)] for item in total.items}
        assert total("q", k=8).to_dict()["0"] == expected == total.score("q", everything).to_dict()["0"]
    for item, value in zip(ITEMS, totals.tolist(), strict=True):
        if np.isnan(value):
            with pytest.raises(InputError, match=f"add up to a number.*{item!r}"):
                total.explain("q", item)
        else:
            assert total.explain("q", item).score == value


def test_ranked_first_or_last_by_a_scorer():
    banned = FunctionScorer(
        lambda query, texts: [-INF if text == "i0" else 1.0 for text in texts], {i: i for i in ITEMS}
    )
    assert (FINITE >> banned)("q", k=8).ids[0][-1] == "i0"


def test_votes_are_added_to_infinite_scores_and_their_scale_is_that_of_the_others():
    letters = FunctionEncoder(lambda texts: [[len(text), 1.0] for text in texts], dim=2, name="letters")
    plain, endless = table([1, 2, 3, 4, 5, 6, 7, 8]), table([1, 2, INF, 4, 5, 6, 7, -INF])
    for base in (plain, endless):
        found = pefa_xl(
            base, [("q", "i0")], encoder=letters, weight=0.5, neighbors=1, votes="mean", near=0.0, threshold=0.1
        )
        assert np.isfinite(found.settings.scale)
    scores = found("q", k=8).to_dict()["0"]
    assert (scores["i2"], scores["i7"]) == (INF, -INF) and np.isfinite([scores[item] for item in ITEMS[3:7]]).all()


def test_fusion_names_the_part_whose_scores_cannot_be_weighed():
    queries = [f"{item} {number}" for number in range(3) for item in ITEMS]
    one, other = (np.random.default_rng(seed).standard_normal((len(queries), len(ITEMS))) for seed in (0, 1))
    one[:, 2] = INF
    parts = {
        name: TableRetriever(
            {q: dict(zip(ITEMS, row.tolist(), strict=True)) for q, row in zip(queries, rows, strict=True)},
            ITEMS,
            scale=name,
        )
        for name, rows in (("mine", one), ("other", other))
    }
    data = Dataset.of(
        [{"id": item, "text": item} for item in ITEMS], clicks=[(query, query.split()[0]) for query in queries]
    )
    with pytest.raises(InputError, match=r"finite to be weighed. Got inf for 'i2' and .* by mine"):
        fuse(parts, data)
