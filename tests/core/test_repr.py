"""Everything that a user holds says what it is, in one line."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.catalog import ITEMS
from vizsla.base.encoder import Encoder, FunctionEncoder
from vizsla.base.queries import Queries
from vizsla.core.candidates import Candidates
from vizsla.core.sparse import SparseRows
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.data.filter import Filter
from vizsla.encoders.persistence import LazyEncoder, MissingEncoder
from vizsla.encoders.precomputed import PrecomputedEncoder
from vizsla.methods.bm25 import bm25
from vizsla.scorers.text import FunctionScorer

LONG = "a long name\n" * 50
DESCRIPTION = {"kind": "onnx", "dim": 384, "fingerprint": "onnx:0123456789abcdef", "name": LONG, "options": {}}


class Own(Encoder):
    dim = 1_000
    fingerprint = LONG

    def queries(self, texts):
        return np.zeros((len(texts), 1_000), np.float32)


NOUNS = {
    "dataset": lambda: Dataset.of({"a": "fig"}, queries={"q": "fig"}, clicks=[("q", "a")]),
    "strings": lambda: Strings.of([LONG, LONG, LONG, "fig"]),
    "candidates": lambda: Candidates.from_dict({"q": {"a": 1.0}}),
    "queries": lambda: Queries([LONG]),
    "filter": lambda: Filter(np.ones(3, np.bool_)),
    "sparse rows": lambda: SparseRows(np.array([0, 1]), np.array([0], np.int32), np.ones(1, np.float32), 4),
    "function encoder": lambda: FunctionEncoder(len, dim=3, name=LONG),
    "function scorer": lambda: FunctionScorer(len, {"a": "fig"}),
    "precomputed": lambda: PrecomputedEncoder(["fig"], np.ones((1, 3), np.float32)),
    "absent": lambda: MissingEncoder({"dim": 3, "fingerprint": LONG}),
    "lazy": lambda: LazyEncoder(DESCRIPTION),
    "own": Own,
    "a long composition": lambda: _long(),
}


def _long():
    one = bm25(ITEMS)
    whole = one % 5
    for _ in range(20):
        whole = whole.normalized() + one.normalized()
    return whole


@pytest.mark.parametrize("make", NOUNS.values(), ids=NOUNS)
def test_repr_is_one_line_that_names_the_class(make):
    noun = make()
    shown = repr(noun)
    assert shown.startswith(f"{type(noun).__name__}(") and shown.endswith(")")
    assert len(shown) < 200 and "\n" not in shown


def test_what_it_is_can_be_read():
    search = bm25({"a": "a fig tree", "b": "an apple tree"})
    assert repr(search) == "Bm25(2 items, lucene, english)"
    assert repr(search.words) == "BagOfWords(5 terms, any language: english)"
    assert repr(search.index) == "InvertedIndex(2 items, 5 dimensions)"
    assert repr(0.5 * search % 3) == "TopK((0.5*Bm25(2 items, lucene, english)) % 3)"
    assert repr(Strings.of(["fig", "pear"])) == "Strings(['fig', 'pear'], 2 in all)"
