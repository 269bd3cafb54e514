"""An encoder of one's own that returns something else than rows: said everywhere, and never stored."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.base.encoder import Encoder
from vizsla.core.sparse import SparseRows
from vizsla.encoders.late import WordEncoder
from vizsla.errors import InputError
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.late_interaction import late_interaction
from vizsla.methods.pefa import pefa_xl
from vizsla.scorers.lazy_vectors import LateParametric

ITEMS = {"a": "a fig tree", "b": "a pear tree", "c": "a fig"}
WRONG = {
    "too wide": (lambda rows: np.pad(rows, ((0, 0), (0, 1))), "must return shape"),
    "a row too few": (lambda rows: rows[:-1], "must return shape"),
    "one row alone": (lambda rows: rows[0], "must return shape"),
    "nothing": (lambda rows: None, "must return finite numbers|must return shape"),
    "no numbers": (lambda rows: rows * np.nan, "must return finite numbers"),
    "endless": (lambda rows: rows + np.inf, "must return finite numbers"),
    "a text": (lambda rows: "fig", "must return rows of 3 numbers"),
    "sparse": (SparseRows.of, "must return rows of 3 numbers"),
}


class Letters(Encoder):
    dim, fingerprint = 3, "letters of one's own"
    wrong = None

    def queries(self, texts):
        rows = np.array([[text.count(letter) for letter in "afp"] for text in texts], np.float32)
        return rows if self.wrong is None else self.wrong(rows)


MADE = {
    "dense": lambda encoder, path: dense(ITEMS, encoder),
    "sum": lambda encoder, path: dense(ITEMS, encoder).normalized() + bm25(ITEMS).normalized(),
    "votes": lambda encoder, path: pefa_xl(
        bm25(ITEMS), [("fig", "a")], encoder=encoder, weight=0.5, neighbors=1, votes="mean", near=0.0, scale=1.0,
        threshold=0.0,
    ),
    "words": lambda encoder, path: late_interaction(ITEMS, WordEncoder(encoder)),
    "late": lambda encoder, path: bm25(ITEMS) >> LateParametric(encoder, ITEMS, path / "vectors.db"),
}  # fmt: skip


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("wrong", WRONG)
def test_rows_that_are_none_raise(made, wrong, tmp_path):
    encoder = Letters()
    search = MADE[made](encoder, tmp_path)
    encoder.wrong, said = WRONG[wrong]
    with pytest.raises(InputError, match=f"Encoder .letters of one's own. ({said})"):
        search(["a fig", "a pear"])


@pytest.mark.parametrize("wrong", WRONG)
def test_a_store_of_vectors_outlives_a_wrong_encoder(wrong, tmp_path):
    """A vector that was stored stays for good, so a wrong one must never be."""
    encoder = Letters()
    late = LateParametric(encoder, ITEMS, tmp_path / "vectors.db")
    encoder.wrong, _ = WRONG[wrong]
    with pytest.raises(InputError):
        (bm25(ITEMS) >> late)("fig")
    encoder.wrong = None
    assert (bm25(ITEMS) >> late)("fig").ids == [["a", "c"]]
    late.close()


@pytest.mark.parametrize("wrong", WRONG)
def test_items_are_checked_as_queries_are(wrong):
    encoder = Letters()
    encoder.wrong, said = WRONG[wrong]
    with pytest.raises(InputError, match=said):
        dense(ITEMS, encoder)
