"""Candidates: shapes, order, conversions, errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vizsla.core.candidates import Candidates, Hit, Stats
from vizsla.core.strings import Strings
from vizsla.errors import InputError

IDS = Strings.of(["a", "b", "c", "d"])
answers = st.dictionaries(
    st.text(min_size=1, max_size=5),
    st.dictionaries(st.sampled_from("abcd"), st.integers(-3, 3).map(float), max_size=4),
    max_size=5,
)


@given(answers)
def test_dict_round_trip_is_ranked_with_ties_by_number(table):
    found = Candidates.from_dict(table, catalog=IDS)
    expected = {
        query: dict(sorted(row.items(), key=lambda pair: (-pair[1], "abcd".index(pair[0]))))
        for query, row in table.items()
    }
    assert found.to_dict() == expected
    assert [list(row) for row in found.to_dict().values()] == [list(row) for row in expected.values()]


@given(answers, st.integers(1, 5))
def test_top_is_the_head_of_every_row(table, k):
    found = Candidates.from_dict(table, catalog=IDS)
    assert found.top(k).ids == [row[:k] for row in found.ids]
    assert list(found.top(k).query_ids) == list(table)


@given(answers)
def test_csr_holds_every_pair_zero_included(table):
    matrix = Candidates.from_dict(table, catalog=IDS).to_csr()
    assert matrix.shape == (len(table), 4)
    assert matrix.nnz == sum(map(len, table.values()))
    for number, row in enumerate(table.values()):
        for item, score in row.items():
            assert matrix[number, "abcd".index(item)] == score


def test_trec_text_and_file(tmp_path):
    found = Candidates.from_dict({"q1": {"a": 1.0, "b": 2.5}})
    assert found.to_trec(tmp_path / "run", tag="mine") == "q1 Q0 b 1 2.5 mine\nq1 Q0 a 2 1 mine\n"
    assert (tmp_path / "run").read_text() == found.to_trec(tag="mine")


def test_match_set_has_hits_without_scores():
    found = Candidates.from_rows([np.array([2, 0], np.int32)], catalog=IDS)
    assert found[0] == [Hit("c", None), Hit("a", None)]
    with pytest.raises(InputError, match="score it with a Scorer"):
        found.to_dict()


def test_without_a_catalog_ids_are_numbers():
    assert Candidates.from_rows([np.array([7], np.int32)]).ids == [["7"]]


def test_show_prints_rank_score_id_and_text(capsys):
    Candidates.from_dict({"q1": {"a [b]": 1.0}}).show(texts={"a [b]": "the text"})
    printed = capsys.readouterr().out
    assert all(part in printed for part in ("q1", "1.0000", "a [b]", "the text"))


def test_index_out_of_range_and_negative_rows():
    found = Candidates.from_dict({"q1": {"a": 1.0}, "q2": {"b": 1.0}})
    assert found[-1] == [Hit("b", 1.0)]
    with pytest.raises(IndexError):
        found[2]
    with pytest.raises(InputError, match="`query` must be the number of one of 2 queries. Got 2."):
        found.metadata(2)


@pytest.mark.parametrize(
    ("offsets", "items", "scores", "message"),
    [
        ([0, 2], [0], [1.0], "`offsets` must rise"),
        ([1, 1], [0], [1.0], "`offsets` must rise"),
        ([0, 2, 1, 2], [0, 1], [1.0, 1.0], "`offsets` must rise"),
        ([0, 1], [4], [1.0], "`items` must be numbers from 0 to 3"),
        ([0, 1], [-1], [1.0], "`items` must be numbers"),
        ([0, 1], [0], [1.0, 2.0], "`scores` must have one number"),
        ([0, 1], [0], [float("nan")], "`scores` must be numbers"),
    ],
)
def test_wrong_arrays_raise(offsets, items, scores, message):
    with pytest.raises(InputError, match=message):
        Candidates(np.array(offsets), np.array(items, np.int32), np.array(scores, np.float32), catalog=IDS)


def test_unknown_item_and_wrong_query_ids_raise():
    with pytest.raises(InputError, match="Got 'z'"):
        Candidates.from_dict({"q": {"z": 1.0}}, catalog=IDS)
    with pytest.raises(InputError, match="must name 1 queries. Got 2"):
        Candidates.from_dict({"q": {"a": 1.0}}).with_query_ids(["x", "y"])


def test_stats_add_up():
    assert Stats(1, 2, 3, 4) + Stats(1, 1, 1, 1) == Stats(2, 3, 4, 5)


def test_nothing_can_be_written_through_candidates():
    found = Candidates.from_dict({"a": {"x": 1.0, "y": 2.0}, "b": {"x": 3.0}})
    for each in (found, found[0:1], found[::-1], found.top(1), found.unscored()):
        for array in (each.offsets, each.items, each.scores):
            assert array is None or not array.flags.writeable
        with pytest.raises(AttributeError):
            each.catalog = None
    assert found[1:].to_dict() == {"b": {"x": 3.0}} and found[::-1].ids == [["x"], ["y", "x"]]
