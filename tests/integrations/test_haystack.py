"""Haystack's own pipelines over the adapter: runs, filters, and YAML."""

import asyncio

import pytest
from haystack import Pipeline
from haystack.dataclasses import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore

from tests.integrations.fruit import ITEMS, TEXTS, retriever, targets, truth
from vizsla import where
from vizsla.errors import InputError
from vizsla.integrations.haystack import VizslaTextRetriever
from vizsla.serve.client import Client


def leaf(field, operator, value):
    return {"field": f"meta.{field}", "operator": operator, "value": value}


FILTERS = [
    leaf("price", "<", 5),
    leaf("price", ">=", 3),
    leaf("kind", "==", "fruit"),
    leaf("kind", "!=", "fruit"),
    leaf("price", "in", [2, 7]),
    leaf("price", "not in", [2, 7]),
    {"operator": "AND", "conditions": [leaf("price", "<", 5), leaf("kind", "==", "fruit")]},
    {"operator": "OR", "conditions": [leaf("price", "<", 3), leaf("price", ">", 5)]},
    {"operator": "NOT", "conditions": [leaf("price", "<", 5), leaf("kind", "==", "fruit")]},
    {"operator": "NOT", "conditions": [leaf("price", "<", 5)]},
]


def test_every_kind_of_target_answers_as_the_retriever_itself(tmp_path):
    for name, (target, itself) in targets(tmp_path).items():
        found = VizslaTextRetriever(target, top_k=2).run("sweet fig")["documents"]
        assert [(each.id, pytest.approx(each.score)) for each in found] == truth("sweet fig", 2, of=itself), name
        assert [each.content for each in found] == [TEXTS[each.id] for each in found]
        assert found[0].meta == {"price": 3, "kind": "fruit"}


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_filters_mean_what_haystack_means(filters):
    store = InMemoryDocumentStore()
    store.write_documents(
        [
            Document(id=row["id"], content=row["text"], meta={"price": row["price"], "kind": row["kind"]})
            for row in ITEMS
        ]
    )
    theirs = {each.id for each in store.filter_documents(filters)}
    assert {each.id for each in VizslaTextRetriever(retriever()).run("sweet", filters)["documents"]} == theirs


def test_a_pipeline_survives_yaml(tmp_path):
    made = targets(tmp_path)
    pipeline = Pipeline()
    cheap = FILTERS[0]
    pipeline.add_component(
        "search", VizslaTextRetriever(made["path of an engine"][0], top_k=2, filters=cheap, using="words")
    )
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["vizsla.integrations.*"])
    for each in (pipeline, again):
        found = each.run({"search": {"query": "sweet"}})["search"]["documents"]
        assert [document.id for document in found] == [
            id for id, _ in truth(k=2, where=where("price<5"), of=made["engine"][0])
        ]
    found = again.run({"search": {"query": "sweet", "top_k": 1, "filters": FILTERS[3]}})["search"]["documents"]
    assert [document.id for document in found] == ["leek"]
    with pytest.raises(InputError, match="path"):
        VizslaTextRetriever(retriever()).to_dict()


def test_an_asynchronous_pipeline():
    pipeline = Pipeline()
    pipeline.add_component("search", VizslaTextRetriever(retriever(), top_k=1))
    found = asyncio.run(pipeline.run_async({"search": {"query": "pear"}}))
    assert found["search"]["documents"][0].id == "pear"


@pytest.mark.parametrize(
    "filters", [{"operator": "XOR", "conditions": []}, {"field": "price"}, {"field": "a", "operator": "~", "value": 1}]
)
def test_wrong_filters_raise(filters):
    with pytest.raises(InputError, match="filter"):
        VizslaTextRetriever(retriever(), filters=filters)


def test_a_service_that_is_away_raises_a_typed_error():
    from vizsla.errors import VizslaError

    with pytest.raises(VizslaError):
        VizslaTextRetriever(Client("http://127.0.0.1:9", retries=0)).run("fig")
