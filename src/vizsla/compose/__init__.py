"""Composition: retrievers and scorers joined into new retrievers.

Examples
--------
>>> from vizsla.compose import parse
>>> from vizsla.methods.bm25 import bm25
>>> fruit = bm25({"a": "fig tree", "b": "apple tree"})
>>> parse("(fruit % 10) >> fruit", {"fruit": fruit})("fig").ids
[['a']]
"""

from vizsla.compose.adjustments import Adjusted
from vizsla.compose.budgeted import BudgetedRerank
from vizsla.compose.composition import Composition
from vizsla.compose.confidence import Confident
from vizsla.compose.normalize import Normalized, Scaled
from vizsla.compose.operators import Rerank, TopK, Union
from vizsla.compose.parser import parse
from vizsla.compose.shards import Shards
from vizsla.compose.weighted_sum import Sum

__all__ = [
    "Adjusted",
    "BudgetedRerank",
    "Composition",
    "Confident",
    "Normalized",
    "Rerank",
    "Scaled",
    "Shards",
    "Sum",
    "TopK",
    "Union",
    "parse",
]
