import re

import ir_measures
import pytest

from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.evaluation.measures import JudgedQueries, depth_needed, parse_measure, parse_measures


@pytest.mark.parametrize("name", ["nDCG@10", "R@100", "RR@10", "AP", "P@5", "Success@10", "AP(rel=2)@50"])
def test_a_name_of_ir_measures_is_kept(name):
    assert str(parse_measure(name)) == name


def test_objects_of_ir_measures_are_taken_as_they_are():
    assert parse_measures([ir_measures.nDCG @ 10, "R@5"]) == [ir_measures.nDCG @ 10, ir_measures.R @ 5]
    assert parse_measures(ir_measures.AP) == parse_measures("AP") == [ir_measures.AP]


def test_two_spellings_of_a_measure_are_one():
    assert list(map(str, parse_measures(["Recall@10", "R@10"]))) == ["R@10"]


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("ndcg@10", "nDCG@10?"), ("recall@5", "R@5?"), ("Sucess@10", "Success@10"), ("zzzzzz", "such as nDCG@10")],
)
def test_a_wrong_name_gets_a_suggestion(name, suggestion):
    with pytest.raises(InputError, match="must be names of ir-measures") as caught:
        parse_measure(name)
    assert suggestion in str(caught.value)


# nDCG@0 ends the process inside trec_eval when it gets there: it must not.
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nDCG@0", "cutoff must be between 1 and 1000000. Got 'nDCG@0'"),
        ("P@-1", "must be written like"),
        ("R@99999999999", "cutoff must be between 1"),
        ("R", "R must have a cutoff, as in R@10. Got 'R'"),
        ("nDCG@1.5", "must have another cutoff. Got 'nDCG@1.5'"),
        ("nDCG(dcg='cubic')", "must have another dcg"),
        ("AP(nonsense=1)", "AP must have parameters of cutoff, rel, judged_only. Got 'nonsense'"),
        ("nDCG@x", "must be written like"),
        ("@10", "must be written like"),
        ("", "must be written like"),
        ("R@1; R@2", "must be written like"),
        (7, "must be names of ir-measures"),
        (ir_measures.nDCG @ 0, "cutoff must be between 1"),
    ],
)
def test_a_measure_that_cannot_be_computed_is_refused(name, message):
    with pytest.raises(InputError, match=re.escape(message)):
        parse_measure(name)


def test_no_measure_at_all_is_refused():
    with pytest.raises(InputError, match="at least one measure"):
        parse_measures([])


def test_the_deepest_cutoff_decides_the_depth():
    assert depth_needed(parse_measures(["nDCG@10", "R@100", "RR@20"])) == 100
    assert depth_needed(parse_measures(["nDCG@10", "AP"])) == 1000
    assert depth_needed(parse_measures(["AP", "R@2000"])) == 2000


def test_whatever_queries_are_judged_by_has_a_part_in_their_digest():
    given = {"ids": ["q", "r"], "texts": ["fig", "pear"], "qrels": {"q": {"a": 1}, "r": {"b": 2}}, "unjudged": 0}
    changes = [
        {"ids": ["q", "s"], "qrels": {"q": {"a": 1}, "s": {"b": 2}}},
        {"texts": ["fig", "plum"]},
        {"qrels": {"q": {"a": 1}, "r": {"b": 1}}},
        {"qrels": {"q": {"a": 1}, "r": {"c": 2}}},
        {"items": Strings.of(["a", "b"])},
        {"items": Strings.of(["a", "c"])},
    ]
    digests = [JudgedQueries(**given | change).digest for change in ({}, *changes)]
    assert len(set(digests)) == len(digests) and JudgedQueries(**given).digest == digests[0]
