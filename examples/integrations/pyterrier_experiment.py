"""PyTerrier: an experiment with a cutoff that reaches the search. Needs `pip install 'vizsla[pyterrier]'`."""

import pandas as pd
import pyterrier as pt

from vizsla import bm25, tfidf
from vizsla.integrations.pyterrier import VizslaTransformer

ITEMS = {"fig": "figs ripen in late summer", "pear": "pears keep for weeks", "plum": "plums ripen early"}
words, letters = VizslaTransformer(bm25(ITEMS)), VizslaTransformer(tfidf(ITEMS))
print((words % 1).compile())
topics = pd.DataFrame({"qid": ["1", "2"], "query": ["ripe figs", "keep pears"]})
qrels = pd.DataFrame({"qid": ["1", "2"], "docno": ["fig", "pear"], "label": [1, 1]})
print(pt.Experiment([words, letters], topics, qrels, ["recip_rank"], names=["bm25", "tfidf"]).to_string())
