from math import log2

import ir_measures
import numpy as np
import pytest

from tests.evaluation.random_systems import judged_dict, noisy_system
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.errors import InputError
from vizsla.evaluation.measures import Measuring, parse_measures


def measured(measures, qrels, run):
    return Measuring(parse_measures(measures), qrels)(run)


def run_of(system, data):
    return system(list(data.texts.values()), 25).with_query_ids(list(data.texts))


def test_hand_computed_values():
    run = Candidates.from_dict({"q": {"a": 4.0, "b": 3.0, "c": 2.0, "d": 1.0}})
    means, _ = measured(["nDCG@3", "R@3", "RR@10", "AP", "P@2", "Success@1"], {"q": {"b": 2, "d": 1, "e": 3}}, run)
    # Grades 0, 2, 0 in the first three ranks; the ideal order is 3, 2, 1.
    assert means["nDCG@3"] == pytest.approx((2 / log2(3)) / (3 + 2 / log2(3) + 1 / log2(4)))
    assert means["R@3"] == pytest.approx(1 / 3)
    assert means["RR@10"] == pytest.approx(1 / 2)
    assert means["AP"] == pytest.approx((1 / 2 + 2 / 4) / 3)
    assert means["P@2"] == pytest.approx(1 / 2)
    assert means["Success@1"] == 0


@pytest.mark.parametrize(("ids", "rank"), [(["a", "b", "c"], 3), (["c", "b", "a"], 1), (["b", "c", "a"], 2)])
def test_equal_scores_are_measured_in_the_order_of_item_numbers(ids, rank):
    run = Candidates.from_dict({"q": dict.fromkeys("abc", 1.0)}, catalog=Strings.of(ids))
    means, _ = measured(["RR@10", "nDCG@10", "AP"], {"q": {"c": 1}}, run)
    assert means["RR@10"] == means["AP"] == pytest.approx(1 / rank)
    assert means["nDCG@10"] == pytest.approx(1 / log2(rank + 1))


def test_scores_that_differ_beyond_single_precision_of_the_rank_are_no_ties():
    deep = Candidates.from_dict({"q": {f"d{rank}": 1.0 / rank for rank in range(1, 3001)}})
    assert measured("RR@3000", {"q": {"d2999": 1}}, deep)[0]["RR@3000"] == pytest.approx(1 / 2999)


def test_a_judged_query_without_an_answer_counts_as_zero_and_an_unjudged_one_not_at_all():
    run = Candidates.from_dict({"found": {"a": 1.0}, "empty": {}, "unjudged": {"a": 1.0}})
    qrels = {"absent": {"a": 1}, "empty": {"a": 1}, "found": {"a": 1}}
    means, per_query = measured(["R@10", "nDCG@10"], qrels, run)
    assert per_query["R@10"].tolist() == per_query["nDCG@10"].tolist() == [0, 0, 1]
    assert means["R@10"] == pytest.approx(1 / 3)


def test_an_item_that_was_judged_irrelevant_is_no_hit():
    assert measured("R@10", {"q": {"a": 0, "b": 1}}, Candidates.from_dict({"q": {"a": 1.0}}))[0]["R@10"] == 0


def test_counts_are_summed_as_ir_measures_does():
    run = Candidates.from_dict({"q": {"a": 1.0}, "r": {"a": 1.0}})
    assert measured("NumRel", {"q": {"a": 1, "b": 1}, "r": {"c": 1}}, run)[0] == {"NumRel": 3.0}


def test_ids_with_spaces_and_other_letters():
    run = Candidates.from_dict({"q 1": {"gelbe Birne": 2.0, "無花果": 1.0}})
    assert measured("RR@10", {"q 1": {"無花果": 1}}, run)[0]["RR@10"] == 0.5


def test_values_agree_with_ir_measures_used_by_itself_where_no_scores_are_equal():
    names = ["nDCG@10", "nDCG@3", "R@5", "R@20", "RR@10", "AP", "P@5", "Success@1", "AP(rel=2)@10", "Rprec"]
    data = judged_dict(80)
    run = run_of(noisy_system(data, noise=1.0, seed=1, decimals=9), data)
    means, per_query = measured(names, data.qrels, run)
    expected = ir_measures.calc([ir_measures.parse_measure(name) for name in names], data.qrels, run.to_dict())
    for measure, mean in expected.aggregated.items():
        assert means[str(measure)] == pytest.approx(mean, abs=1e-12)
    rows = list(data.qrels)
    for metric in expected.per_query:
        assert per_query[str(metric.measure)][rows.index(metric.query_id)] == pytest.approx(metric.value, abs=1e-12)


def test_a_plain_python_twin_agrees_on_runs_full_of_ties():
    data = judged_dict(60)
    run = run_of(noisy_system(data, noise=0.8, seed=2, decimals=0), data)
    assert len(np.unique(run.scores)) < 20
    _, per_query = measured(["nDCG@10", "R@10", "RR@10"], data.qrels, run)
    for row, (query, answer) in enumerate(zip(data.qrels, run.ids, strict=True)):
        grades = [data.qrels[query].get(item, 0) for item in answer][:10]
        ideal = sorted(data.qrels[query].values(), reverse=True)[:10]
        dcg, best = (sum(g / log2(rank + 1) for rank, g in enumerate(gs, 1)) for gs in (grades, ideal))
        assert per_query["nDCG@10"][row] == pytest.approx(dcg / best)
        relevant = sum(grade > 0 for grade in data.qrels[query].values())
        assert per_query["R@10"][row] == pytest.approx(sum(grade > 0 for grade in grades) / relevant)
        first = next((rank for rank, grade in enumerate(grades, 1) if grade > 0), None)
        assert per_query["RR@10"][row] == pytest.approx(1 / first if first else 0)


def test_a_match_set_cannot_be_measured():
    with pytest.raises(InputError, match="must have scores"):
        measured("R@10", {"0": {"0": 1}}, Candidates.from_rows([np.array([0], np.int32)]))


def test_a_measure_without_a_provider_is_refused():
    with pytest.raises(InputError, match=r"computable with what is installed.*For RBP: pip install"):
        measured("RBP(p=0.8)", {"q": {"a": 1}}, Candidates.from_dict({"q": {"a": 1.0}}))
