"""PyTerrier's own operators over the adapter; no Java is started."""

import pandas as pd
import pyterrier as pt
import pytest

from tests.integrations.fruit import ITEMS, TEXTS, retriever, targets, truth
from vizsla import where
from vizsla.errors import InputError
from vizsla.integrations.pyterrier import VizslaTransformer

QUERIES = pd.DataFrame({"qid": ["1", "2", "3"], "query": ["sweet fig", "unknown", "leek"], "topic": ["a", "b", "c"]})


def test_every_kind_of_target_answers_as_the_retriever_itself(tmp_path):
    for name, (target, itself) in targets(tmp_path).items():
        found = VizslaTransformer(target, num_results=2)(QUERIES)
        first = found[found.qid == "1"]
        assert list(zip(first.docno, first.score, strict=True)) == [
            (i, pytest.approx(s)) for i, s in truth("sweet fig", 2, of=itself)
        ]
        assert list(found["rank"]) == [0, 1, 0] and list(found.topic) == ["a", "a", "c"], name
        assert list(found.columns) == ["qid", "query", "topic", "docno", "score", "rank"]


def test_a_cutoff_reaches_the_search():
    search = VizslaTransformer(retriever())
    fused = (search % 1).compile()
    assert isinstance(fused, VizslaTransformer) and fused.num_results == 1
    pd.testing.assert_frame_equal((search % 1)(QUERIES), fused(QUERIES))
    assert (fused % 5).compile().num_results == 1


def test_texts_and_conditions_and_search():
    search = VizslaTransformer(retriever(), where="price<5", text=True)
    found = search.search("sweet")
    assert list(found.docno) == [id for id, _ in truth(where=where("price<5"))]
    assert list(found.text) == [TEXTS[docno] for docno in found.docno]


def test_nothing_asked_and_nothing_found():
    search = VizslaTransformer(retriever())
    assert len(search(QUERIES.iloc[:0])) == 0 and list(search(QUERIES.iloc[:0]).columns)[-3:] == [
        "docno",
        "score",
        "rank",
    ]
    assert len(search.search("nowhere")) == 0
    assert set(pt.inspect.transformer_outputs(search, ["qid", "query"])) == {"qid", "query", "docno", "score", "rank"}
    with pytest.raises(Exception, match="query"):
        search(pd.DataFrame({"qid": ["1"]}))


def test_operators_combine_it_with_another_transformer():
    search = VizslaTransformer(retriever())
    double = search + search
    assert sorted(double(QUERIES).score) == pytest.approx(sorted(2 * search(QUERIES).score))
    qrels = pd.DataFrame({"qid": ["1", "3"], "docno": ["fig", "leek"], "label": [1, 1]})
    measured = pt.Experiment([search], QUERIES[["qid", "query"]].drop(1), qrels, ["recip_rank"], names=["vizsla"])
    assert measured.recip_rank.tolist() == [1.0]


def test_texts_that_were_not_kept_raise():
    from vizsla import bm25

    with pytest.raises(InputError, match="texts"):
        VizslaTransformer(bm25({row["id"]: row["text"] for row in ITEMS}), text=True).search("fig")
