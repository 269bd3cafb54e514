"""LlamaIndex: a retriever inside a query engine. Needs `pip install 'vizsla[llamaindex]'`.

The language model is LlamaIndex's mock, which repeats its prompt; put your own in its place.
"""

from llama_index.core import get_response_synthesizer
from llama_index.core.llms.mock import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine

from vizsla import Dataset, bm25
from vizsla.integrations.llamaindex import VizslaNodeRetriever

ITEMS = [
    {"id": "fig", "text": "Figs ripen in late summer.", "year": 2024},
    {"id": "pear", "text": "Pears keep for weeks.", "year": 2020},
]
retriever = bm25(Dataset.of(ITEMS, keep_texts=True))
search = VizslaNodeRetriever(retriever, similarity_top_k=1, where="year>2021")
engine = RetrieverQueryEngine(search, get_response_synthesizer(llm=MockLLM()))
answer = engine.query("When do figs ripen?")
print([(each.node_id, round(each.score, 2)) for each in answer.source_nodes])
