"""LangChain's own calls over the adapter: documents, filters, asynchronous calls, and a store that changes."""

import asyncio

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from tests.integrations.fruit import TEXTS, engine, retriever, targets, truth
from vizsla import Recipe, bm25, where
from vizsla.errors import InputError
from vizsla.integrations.langchain import VizslaRetriever, VizslaVectorStore


def test_every_kind_of_target_answers_as_the_retriever_itself(tmp_path):
    for name, (target, itself) in targets(tmp_path).items():
        found = VizslaRetriever(target=target, k=3).invoke("sweet fig")
        assert [each.id for each in found] == [id for id, _ in truth("sweet fig", 3, of=itself)], name
        scores = [each.metadata.pop("score") for each in found]
        assert scores == pytest.approx([score for _, score in truth("sweet fig", 3, of=itself)])
        assert [each.page_content for each in found] == [TEXTS[each.id] for each in found]
        assert found[0].metadata == {"price": 3, "kind": "fruit"}


def test_k_and_where_by_constructor_and_by_call():
    cheap = VizslaRetriever(target=retriever(), where="price<5")
    assert [each.id for each in cheap.invoke("sweet")] == [id for id, _ in truth(where=where("price<5"))]
    assert [each.id for each in cheap.invoke("sweet", where={"type": "gt", "key": "price", "value": 5})] == ["pear"]
    assert len(cheap.invoke("sweet", k=1)) == 1


def test_asynchronous_calls_and_chains():
    search = VizslaRetriever(target=retriever())
    assert asyncio.run(search.ainvoke("pear", k=1))[0].id == "pear"
    chain = search | RunnableLambda(lambda documents: [each.id for each in documents])
    assert chain.batch(["pear", "leek"])[1][0] == "leek"
    assert asyncio.run(chain.abatch(["pear", "leek"]))[0][0] == "pear"


def test_a_store_that_changes(tmp_path):
    store = VizslaVectorStore(engine(tmp_path / "engine"))
    ids = store.add_documents([Document(page_content="a sweet plum", metadata={"price": 4}), Document("dates", id="d")])
    assert ids[1] == "d" and ids[0]
    assert ids[0] in [each.id for each in store.similarity_search("plum sweet", k=2)]
    assert store.get_by_ids([ids[0], "nowhere"])[0].metadata == {"price": 4}
    store.add_documents([Document("fresh dates", id="d")])
    assert store.get_by_ids(["d"])[0].page_content == "fresh dates"
    assert store.delete([ids[0], "nowhere"]) is True
    assert store.similarity_search("plum") == []
    store.delete(where="price>5")
    assert "pear" not in [each.id for each in store.similarity_search("sweet", k=10)]
    with pytest.raises(InputError, match="neither"):
        store.delete()


def test_a_document_that_was_found_can_be_stored_again(tmp_path):
    store = VizslaVectorStore(engine(tmp_path / "engine"))
    found = VizslaRetriever(target=store.engine).invoke("fig")[:1]
    store.add_documents(found)
    assert store.get_by_ids(["fig"])[0].metadata == {"price": 3, "kind": "fruit"}


def test_a_store_as_retriever_and_with_scores(tmp_path):
    store = VizslaVectorStore(engine(tmp_path / "engine"))
    found = store.similarity_search_with_score("sweet", k=2, filter="kind=fruit")
    assert [(each.id, pytest.approx(score)) for each, score in found] == truth(
        "sweet", 2, where("kind=fruit"), store.engine
    )
    search = store.as_retriever(search_kwargs={"k": 1})
    assert [each.id for each in search.invoke("leek")] == ["leek"]
    assert [each.id for each in VizslaVectorStore(store.engine, using="stem").similarity_search("leek", k=1)] == [
        "leek"
    ]


def test_a_store_from_texts(tmp_path):
    store = VizslaVectorStore.from_texts(
        ["a fig", "a pear"], metadatas=[{"n": 1}, {"n": 2}], path=tmp_path / "new", members={"w": Recipe.of("bm25")}
    )
    assert store.similarity_search("pear", k=1)[0].metadata == {"n": 2}
    with pytest.raises(InputError, match="path"):
        VizslaVectorStore.from_texts(["a fig"])
    with pytest.raises(InputError, match="equally many"):
        store.add_texts(["a"], ids=["x", "y"])


def test_wrong_targets_raise(tmp_path):
    with pytest.raises(InputError, match="keep_texts"):
        VizslaRetriever(target=bm25(TEXTS)).invoke("fig")
    with pytest.raises(ValueError, match="must be a retriever"):  # pydantic's own, around an InputError
        VizslaRetriever(target=3)
    with pytest.raises(InputError, match="engine"):
        VizslaVectorStore(retriever())
    with pytest.raises(ValueError, match="using"):
        VizslaRetriever(target=retriever(), using="words")
