"""A search through an exported collection with our query encoder gives our top 10 (ties within 1e-5)."""

import pytest

import vizsla
from vizsla.data.dataset import Dataset
from vizsla.demo.python_docs import python_docs
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.export.milvus import MilvusCollection
from vizsla.export.qdrant import QdrantCollection

TIE = 1e-5
QUERIES = ["read a file line by line", "sort a list", "random numbers", "parse json", "regular expression groups"]


@pytest.fixture(scope="module")
def retrievers():
    items = list(python_docs().items)[:400]
    shop = Dataset.of(
        [{"id": item.id, "text": item.text, "title": item.title, "size": len(item.text)} for item in items],
        clicks=[(" ".join(item.text.split()[:4]), item.id) for item in items[::5]],
    )
    dense = vizsla.dense(shop, LsaEncoder.fit([item.default_text() for item in shop.items], dim=32))
    return {
        "dense": dense,
        "pefa-xs": vizsla.pefa(dense, shop, variant="xs", weight=0.5),
        "pq": vizsla.pq(dense, bytes=8),
        "jpq": vizsla.jpq(dense, shop, bytes=8),
        "tokens": vizsla.tokens(shop, epochs=0),
        "bm25": vizsla.bm25(shop, analyzer=vizsla.text.AnyLanguage("english")),
    }


def assert_same_top(found, retriever, k=10):
    for text, row in zip(QUERIES, found, strict=True):
        known = retriever(text, k=60)[0]
        scores = {hit.id: hit.score for hit in known}
        assert len(row) == min(k, len(known))
        for place, (id, score) in enumerate(row):
            scale = max(1.0, abs(known[place].score))
            assert abs(score - known[place].score) <= TIE * scale, f"{text}: place {place}"
            assert abs(scores[id] - known[place].score) <= TIE * scale, f"{text}: {id} is not among the best"


@pytest.mark.parametrize("name", ["dense", "pefa-xs", "pq", "jpq", "tokens", "bm25"])
def test_milvus_finds_what_we_find(retrievers, tmp_path, name):
    collection = MilvusCollection(retrievers[name], str(tmp_path / "items.db"), "items")
    assert collection.export() == 400
    assert_same_top(collection.search(QUERIES), retrievers[name])
    with pytest.raises(InputError, match="must take the collection"):
        collection.export()
    if name == "dense":
        collection.export(overwrite=True)
        short = collection.search(QUERIES, 5, filter='metadata["size"] < 200')
        where = vizsla.where("size < 200")
        assert [[id for id, _ in row] for row in short] == [
            [hit.id for hit in retrievers[name](text, k=5, where=where)[0]] for text in QUERIES
        ]
    collection.close()


@pytest.mark.parametrize("name", ["dense", "tokens"])
def test_qdrant_finds_what_we_find(retrievers, tmp_path, name):
    collection = QdrantCollection(retrievers[name], str(tmp_path / "items"), "items")
    assert collection.export() == 400
    assert_same_top(collection.search(QUERIES), retrievers[name])
    collection.close()


def test_a_score_that_is_no_inner_product_is_refused(retrievers, tmp_path):
    with pytest.raises(InputError, match="must score by one inner product"):
        MilvusCollection(retrievers["dense"] + 0.5 * retrievers["dense"], str(tmp_path / "items.db"), "items")
