"""Grown n-grams: a fit to more texts would find the same n-grams, and what was known keeps its column."""

from __future__ import annotations

import numpy as np
import pytest

from tests.text.ngram_twin import ngrams
from vizsla.core.sparse import SparseRows
from vizsla.text.ngrams import GrownNgrams, NgramTfidf

BASE = ["a red fig", "a green pear", "apples and pears"]
MORE = ["red onion rings", "größe 42", "green onion", "東京"]
OPTIONS = [{}, {"norm": "kinds", "idf_power": 2.0}, {"bigrams": 0}, {"unseen": "hash", "bins": 3, "min_texts": 2},
           {"unseen": "drop", "unigrams": 2}, {"norm": "kinds", "shares": [1, 0.5, 0]}]  # fmt: skip


def named(encoder, text: str) -> dict[str, float]:
    row = encoder.queries([text])
    return {encoder.feature_name(int(f)): float(v) for f, v in zip(row.columns, row.values, strict=True)}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_known_texts_keep_their_rows(options):
    base = NgramTfidf.fit(BASE, **options)
    grown = base.grown(MORE)
    own, theirs = base.queries(BASE), grown.queries(BASE)
    if options.get("unseen") != "hash" and "unigrams" not in options:  # some n-grams have left the shared features
        assert own == SparseRows(theirs.offsets, theirs.columns, theirs.values, base.dim)
    assert grown.dim == base.dim + sum(len(table) for table in grown.more)
    assert (np.diff(theirs.columns)[np.diff(theirs.row_numbers()) == 0] > 0).all()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rows_are_the_counts_times_the_weights(options):
    base = NgramTfidf.fit(BASE, **options)
    grown = base.grown(MORE)
    for text in [*MORE, "red red onion and fig", "unknown größe"]:
        row = grown.queries([text])
        assert np.isclose(np.linalg.norm(row.values), 1) and (np.diff(row.columns) > 0).all()
        own = {int(f) for f in row.columns if f >= base.dim}
        wanted = {n for kind in range(3) for n in ngrams(text, kind) if grown.more[kind].find(n) >= 0}
        assert {grown.feature_name(f) for f in own} == wanted


def test_a_new_ngram_weighs_as_much_as_the_rarest_of_its_kind():
    base = NgramTfidf.fit(BASE, bigrams=0, trigrams=0)
    row = named(base.grown(["onion"]), "onion red a")
    assert row["onion"] == row["red"] > row["a"]


def test_without_new_ngrams_it_is_the_base_itself():
    base = NgramTfidf.fit(BASE)
    assert base.grown(["a green fig"[:8], "red"]) is base and base.grown([]) is base


def test_fingerprints_and_bytes_tell_them_apart():
    base = NgramTfidf.fit(BASE)
    one, other, again = base.grown(MORE), base.grown(MORE[:1]), base.grown(MORE)
    assert isinstance(one, GrownNgrams) and len({base.fingerprint, one.fingerprint, other.fingerprint}) == 3
    assert again.fingerprint == one.fingerprint and one.nbytes > other.nbytes > base.nbytes


def test_threads_change_nothing():
    grown = NgramTfidf.fit(BASE).grown(MORE)
    texts = [*BASE, *MORE] * 2000
    assert grown.queries(texts) == grown.queries(texts, threads=2)


def test_wrong_columns_are_refused():
    from vizsla.errors import InputError

    base = NgramTfidf.fit(BASE)
    for columns in (np.zeros(base.dim, np.int32), np.arange(base.dim - 1, dtype=np.int32),
                    np.arange(1, base.dim + 1, dtype=np.int32)):  # fmt: skip
        with pytest.raises(InputError, match="column"):
            base.native_lookup(base.names, base.weights, columns)
