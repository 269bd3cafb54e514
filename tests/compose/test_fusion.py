"""Sums against their twin in plain Python, and the laws that compositions obey under every filter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.compose.fusion_twin import fuse
from tests.support.table_retriever import TableRetriever
from vizsla.base.encoder import FunctionEncoder
from vizsla.errors import CompositionError
from vizsla.methods.pefa import pefa_xl

ITEMS = [f"i{number}" for number in range(24)]
FLOORS = [0.0, -1.0, 0.25]
tables = st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 40).map(lambda n: n / 4), max_size=20)


@st.composite
def fusions(draw):
    count = draw(st.integers(1, 3))
    return {
        "rows": draw(st.lists(tables, min_size=count, max_size=count)),
        "how": draw(st.sampled_from(["none", "minmax", "zscore", "rank"])),
        "weights": draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]), min_size=count, max_size=count)),
        "depths": draw(st.lists(st.integers(1, 24), min_size=count, max_size=count)),
        "depth": draw(st.integers(1, 24)),
        "exact": draw(st.booleans()),
        "backwards": draw(st.booleans()),
    }


def built(case, highest=None):
    parts = []
    for number, row in enumerate(case["rows"]):
        items = ITEMS[::-1] if case["backwards"] and number else ITEMS
        part = TableRetriever({"q": row}, items, floor=FLOORS[number], exact=case["exact"])
        if highest is not None:
            part.max_score = highest
        parts.append(part if case["how"] == "none" else part.normalized(case["how"], depth=case["depths"][number]))
    total = case["weights"][0] * parts[0]
    for weight, part in zip(case["weights"][1:], parts[1:], strict=True):
        total = total.plus(weight * part, depth=case["depth"])
    total.depth = case["depth"]
    return total


def twin(case, k, allowed):
    names = ("rows", "how", "weights", "depths", "depth")
    floors = FLOORS[: len(case["rows"])]
    return fuse(floors=floors, items=ITEMS, k=k, allowed=set(allowed), **{name: case[name] for name in names})


@settings(max_examples=300)
@given(fusions(), st.integers(1, 30), st.sets(st.sampled_from(ITEMS)), st.booleans(), st.sampled_from([None, 10.0]))
def test_a_sum_is_its_twin(case, k, chosen, filtered, highest):
    if case["how"] == "rank":  # ties have other places where items are numbered otherwise
        case = case | {"backwards": False}
    if case["backwards"]:  # and are cut otherwise
        case = case | {"depths": [24] * len(case["rows"]), "depth": 24}
    total = built(case, highest)
    found = total("q", k, where=chosen if filtered else None)
    expected = twin(case, k, chosen if filtered else ITEMS)
    got = found.to_dict()["0"]
    if case["how"] == "zscore":
        assert sorted(got.values()) == pytest.approx(sorted(expected.values()), abs=1e-5)
    else:
        assert got == expected
        assert list(got) == list(expected)


@settings(max_examples=150)
@given(fusions(), st.integers(1, 24), st.sets(st.sampled_from(ITEMS)))
def test_laws_2_and_4_score_and_explain_agree_with_the_search_under_its_filter(case, k, chosen):
    total = built(case)
    for where in (None, chosen):
        found = total("q", k, where=where)
        assert total.score("q", found, where=where) == found
        for hit in found[0]:
            assert total.explain("q", hit.id, where=where).score == pytest.approx(hit.score, abs=1e-5)


@settings(max_examples=150)
@given(fusions(), st.sets(st.sampled_from(ITEMS)))
def test_law_3_a_filter_only_removes(case, chosen):
    if case["how"] == "rank":  # defined by places in the filtered lists
        return
    total = built(case)
    whole, left = total("q", 24).to_dict()["0"], total("q", 24, where=chosen).to_dict()["0"]
    kept = [item for item in whole if item in chosen]
    assert [item for item in left if item in whole] == kept
    assert {item: left[item] for item in kept if item in left} == {item: whole[item] for item in kept}


@settings(max_examples=150)
@given(fusions(), st.integers(1, 20), st.integers(0, 10))
def test_law_1_a_search_is_the_head_of_a_longer_one_within_the_depth(case, k, more):
    total = built(case)
    longer = min(k + more, case["depth"])
    if k <= longer:
        assert total("q", k) == total("q", longer).top(k)


ROWS_DEEPER_THAN_THE_SUM = [
    {"i0": 0.25, "i1": 0.25, "i4": 0.25, "i5": 0.5, "i2": 0.25, "i3": 0.5, "i6": 0.75, "i8": 0.5},
    {"i6": 0.25},
    {"i2": 0.25, "i3": 2.25, "i7": 10.0, "i4": 0.75, "i5": 0.25, "i6": 6.75, "i8": 1.25, "i9": 9.0},
]
DEEPER = {"rows": ROWS_DEEPER_THAN_THE_SUM, "how": "zscore", "weights": [2.0, 2.0, 0.25], "depths": [6, 11, 24]}


@settings(max_examples=200)
@example(DEEPER | {"depth": 3, "exact": True, "backwards": False}, 3, set(), False)
@given(fusions(), st.integers(1, 20), st.sets(st.sampled_from(ITEMS)), st.booleans())
def test_an_answer_that_is_certified_is_that_of_scoring_everything(case, k, chosen, filtered):
    case = case | {"exact": True}
    total, where = built(case), chosen if filtered else None
    found, truth = total("q", k, where=where), total.exact("q", k, where=where)
    assert truth.stats.exact
    if found.stats.exact:
        assert found == truth


def test_certified_answers_exist():
    left = TableRetriever({"q": {"i0": 9.0, "i1": 8.0, "i2": 1.0}}, ITEMS, exact=True)
    right = TableRetriever({"q": {"i1": 7.0, "i0": 6.0, "i3": 1.0}}, ITEMS, exact=True)
    assert (left + right)("q", 2).stats.exact
    assert not (left + right)("q", 20).stats.exact, "twenty items were not found at all"
    assert not (left + TableRetriever({"q": {"i1": 7.0}}, ITEMS))("q", 1).stats.exact, "one part is not exact"


def test_a_mask_is_translated_between_catalogs():
    mask = np.zeros(24, bool)
    mask[[0, 1, 5]] = True  # not the same backwards
    forwards = TableRetriever({"q": {item: 1.0 + n for n, item in enumerate(ITEMS)}}, ITEMS)
    backwards = TableRetriever({"q": {item: 1.0 + n for n, item in enumerate(ITEMS)}}, ITEMS[::-1])
    for total in (forwards + backwards, forwards | backwards, (forwards | backwards) >> backwards):
        assert set(total("q", 24, where=mask).ids[0]) == {"i0", "i1", "i5"}
        assert set(total("q", 24, where=total.filter(mask)).ids[0]) == {"i0", "i1", "i5"}


def test_a_sum_reports_what_all_parts_cost():
    left = TableRetriever({"q": {"i0": 4.0, "i1": 3.0}}, ITEMS)
    right = TableRetriever({"q": {"i1": 4.0, "i2": 3.0, "i3": 2.0}}, ITEMS)
    stats = (left + right)("q", 10).stats
    assert stats.postings == 2 + 3
    assert stats.scored == 2 + 1, "left lacks i2 and i3, right lacks i0"
    scaled = left.normalized() + right.normalized()
    assert scaled.score("q", left("q", 2)).stats.postings == 2 + 3
    # Under a filter each part is searched once more, for its scale.
    assert scaled("q", 10, where=["i0", "i1"]).stats.postings == (2 + 1) + (2 + 3)


def test_scores_that_cannot_matter_are_not_asked_for():
    left = TableRetriever({"q": {f"i{n}": 100.0 - n for n in range(12)}}, ITEMS, exact=True)
    right = TableRetriever({"q": {f"i{n}": 100.0 - n for n in range(6)} | {"i20": 1.0}}, ITEMS, exact=True)
    few, all_of_them = (left + right)("q", 2), (left + right)("q", 24)
    assert few.stats.scored < all_of_them.stats.scored
    assert few == all_of_them.top(2)


def test_the_reference_keeps_its_own_depth_inside_a_sum():
    items = [f"d{number}" for number in range(600)]
    table = TableRetriever({"q": {item: 600.0 - n for n, item in enumerate(items)}}, items)
    deep = 1.0 * table.normalized(depth=500)
    found = deep("q", 10)
    assert found == deep.score("q", found)
    assert found.to_dict()["0"]["d1"] == pytest.approx(498 / 499)


def test_a_union_deepens_with_k():
    items = [f"d{number}" for number in range(600)]
    left = TableRetriever({"q": {item: 600.0 - n for n, item in enumerate(items)}}, items)
    right = TableRetriever({"q": {"d599": 1.0}}, items)
    assert len((left | right)("q", 400)[0]) == 400
    assert (left | right)("q", 400).ids[0][:2] == ["d0", "d599"]


class Leaky(TableRetriever):
    """Forgets the filter."""

    def _search(self, queries, k, filter, threads):
        return super()._search(queries, k, None, threads)


def test_a_part_that_ignores_the_filter_is_named():
    leaky, sound = (kind({"q": {"i0": 9.0, "i1": 8.0}}, ITEMS) for kind in (Leaky, TableRetriever))
    clicks = [(f"q{n}", f"i{n}") for n in range(5)]
    voted = pefa_xl(leaky, clicks, encoder=FunctionEncoder(lambda texts: np.ones((len(texts), 1)), dim=1, name="one"),
                    weight=0.5, neighbors=1, votes="mean", near=0.0, scale=1.0, threshold=0.0)  # fmt: skip
    for search in (
        leaky,
        leaky + sound,
        leaky.normalized("rank") + sound.normalized("rank"),
        leaky | sound,
        leaky >> TableRetriever({"q": {"i1": 9.0}}, ITEMS),  # who scores would put what is forbidden last
        leaky.normalized() % 2,
        leaky.scaled(slope=2.0),
        voted,
    ):
        with pytest.raises(CompositionError, match="Leaky must find only what `where` allows. Got 'i0'"):
            search("q", 1, where=["i1"])
