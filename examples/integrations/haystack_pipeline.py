"""Haystack: a component in a pipeline that is stored as YAML. Needs `pip install 'vizsla[haystack]'`."""

from tempfile import TemporaryDirectory

from haystack import Pipeline

from vizsla import Dataset, bm25
from vizsla.integrations.haystack import VizslaTextRetriever

ITEMS = [
    {"id": "fig", "text": "Figs ripen in late summer.", "price": 3},
    {"id": "pear", "text": "Pears ripen in a bowl.", "price": 7},
]
with TemporaryDirectory() as folder:
    bm25(Dataset.of(ITEMS, keep_texts=True)).save(f"{folder}/fruit")
    pipeline = Pipeline()
    pipeline.add_component("search", VizslaTextRetriever(f"{folder}/fruit", top_k=5))
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["vizsla.integrations.*"])
    cheap = {"field": "meta.price", "operator": "<", "value": 5}
    found = again.run({"search": {"query": "ripen", "filters": cheap}})
    print([(document.id, document.meta) for document in found["search"]["documents"]])
