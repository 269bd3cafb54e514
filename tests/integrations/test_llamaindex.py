"""LlamaIndex's own calls over the adapter."""

import asyncio

import pytest
from llama_index.core import get_response_synthesizer
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from tests.integrations.fruit import TEXTS, retriever, targets, truth
from vizsla import where
from vizsla.errors import InputError
from vizsla.integrations.llamaindex import VizslaNodeRetriever


def test_every_kind_of_target_answers_as_the_retriever_itself(tmp_path):
    for name, (target, itself) in targets(tmp_path).items():
        found = VizslaNodeRetriever(target, similarity_top_k=2).retrieve("sweet fig")
        assert [(each.node_id, pytest.approx(each.score)) for each in found] == truth("sweet fig", 2, of=itself), name
        assert [each.text for each in found] == [TEXTS[each.node_id] for each in found]
        assert found[0].metadata == {"price": 3, "kind": "fruit"}


def test_asynchronous_and_filtered():
    cheap = VizslaNodeRetriever(retriever(), where="price<5")
    found = asyncio.run(cheap.aretrieve("sweet"))
    assert [each.node_id for each in found] == [id for id, _ in truth(where=where("price<5"))]


def test_inside_a_query_engine():
    """The model repeats its prompt, so the answer shows what reached it: the texts, without metadata."""
    synthesizer = get_response_synthesizer(llm=MockLLM())
    answer = RetrieverQueryEngine(VizslaNodeRetriever(retriever(), similarity_top_k=1), synthesizer).query("leek")
    assert [each.node_id for each in answer.source_nodes] == ["leek"]
    assert TEXTS["leek"] in str(answer) and "vegetable" not in str(answer)


def test_wrong_settings_raise():
    with pytest.raises(InputError, match="similarity_top_k"):
        VizslaNodeRetriever(retriever(), similarity_top_k=0)
