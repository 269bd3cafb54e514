"""Statistics are whole counts: those of a Counter, whatever the chunks, merged without loss, and read without trust."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vizsla
from tests.text import twin
from vizsla.errors import FormatError, InputError
from vizsla.methods import bm25_statistics
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import Statistics
from vizsla.text.analyzers import Analyzer

ANALYZERS = [Analyzer(), Analyzer.named("english"), Analyzer("chars"), Analyzer(stop_words=["a"])]
WORDS = ["The", "the", "run", "runs", "running", "a", "be", "café", "東京都"]
catalogs = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), max_size=12)
analyzers = st.sampled_from(ANALYZERS)


def counts(found: Statistics) -> dict[str, int]:
    return dict(zip(found.words.terms, found.frequencies.tolist(), strict=True))


@given(catalogs, analyzers)
def test_they_are_the_counts_of_a_counter(texts: list[str], analyzer: Analyzer) -> None:
    found = Statistics.of(iter(texts), analyzer=analyzer)
    tokens = [twin.tokens(text, analyzer) for text in texts]
    assert counts(found) == Counter(term for row in tokens for term in set(row))
    assert (found.documents, found.length) == (len(texts), sum(map(len, tokens)))
    assert found.mean_length == (sum(map(len, tokens)) / len(texts) if texts else 0)
    assert bm25(texts, analyzer=analyzer).statistics == found


@given(catalogs, catalogs, analyzers)
def test_merged_they_are_those_of_both(one: list[str], two: list[str], analyzer: Analyzer) -> None:
    a, b = Statistics.of(one, analyzer=analyzer), Statistics.of(two, analyzer=analyzer)
    both, swapped = a.merged(b), b.merged(a)
    assert both == Statistics.of([*one, *two], analyzer=analyzer)
    assert list(both.words.terms) == list(bm25([*one, *two], analyzer=analyzer).words.terms)
    assert counts(both) == counts(swapped)
    assert (both.documents, both.length) == (swapped.documents, swapped.length)


@given(catalogs, analyzers, st.integers(1, 4))
def test_chunks_change_nothing(texts: list[str], analyzer: Analyzer, size: int) -> None:
    expected = Statistics.of(texts, analyzer=analyzer)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25_statistics, "TEXTS_PER_CHUNK", size)
        assert Statistics.of(iter(texts), analyzer=analyzer) == expected


def test_they_read_what_bm25_reads() -> None:
    items = {"x": "a fig", "y": "plums"}
    assert Statistics.of(items) == Statistics.of(items.items()) == Statistics.of(vizsla.Dataset.of(items))
    assert Statistics.of(items) == Statistics.of(list(items.values()))
    assert repr(Statistics.of(items)) == "Statistics(2 items, 3 terms, mean length 1.50)"


def test_they_differ_by_every_count_and_by_the_analyzer() -> None:
    texts = ["a b", "b"]
    others = [["a b", "b b"], [*texts, ""], ["b a", "b"], ["a b", "a"]]
    every = [*map(Statistics.of, [texts, *others]), Statistics.of(texts, analyzer=Analyzer(lower=False))]
    assert len(set(every)) == len(every)


def test_unlike_analyzers_do_not_merge() -> None:
    with pytest.raises(InputError, match="must have one analyzer"):
        Statistics.of(["a"]).merged(Statistics.of(["a"], analyzer=Analyzer(lower=False)))


@pytest.mark.parametrize("analyzer", ANALYZERS)
@pytest.mark.parametrize("mmap", [True, False])
def test_what_is_saved_is_loaded(tmp_path: Path, analyzer: Analyzer, mmap: bool) -> None:
    found = Statistics.of(WORDS, analyzer=analyzer)
    loaded = vizsla.load(found.save(tmp_path / "counts"), mmap=mmap)
    assert isinstance(loaded, Statistics) and loaded == found and loaded.nbytes == found.nbytes
    assert loaded.merged(found) == found.merged(found)
    index = bm25(WORDS, statistics=loaded)
    assert index(["run"], 5) == bm25(WORDS, analyzer=analyzer)(["run"], 5)
    assert Statistics.load(tmp_path / "counts") == found


GOOD = Statistics.of(["a fig", "a pear tree"])
LIES: dict[str, dict[str, Any]] = {
    "more than all items": {"frequencies": np.array([3, 1, 1, 1])},
    "less than none": {"frequencies": np.array([-1, 1, 1, 1])},
    "too few": {"frequencies": np.array([1, 1, 1])},
    "negative length": {"length": -1},
    "negative documents": {"documents": -1},
    "too long": {"length": 2**60},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_lies_are_refused(tmp_path: Path, lie: dict[str, Any]) -> None:
    fields = {"frequencies": GOOD.frequencies, "documents": GOOD.documents, "length": GOOD.length, **lie}
    with pytest.raises(InputError, match="must be"):
        Statistics(GOOD.words, **fields)
    false = Statistics(GOOD.words, GOOD.frequencies, GOOD.documents, GOOD.length)
    for name, value in lie.items():
        setattr(false, name, value)
    with pytest.raises(FormatError, match=str(tmp_path)):
        vizsla.load(false.save(tmp_path / "counts"))


def test_an_index_over_more_items_than_were_counted_is_refused(tmp_path: Path) -> None:
    index = bm25({"a": "fig", "b": "fig", "c": "pear"})
    index.statistics = Statistics(index.words, np.minimum(index.frequencies, 1), 1, 3)
    with pytest.raises(FormatError, match="must count all 3 items"):
        vizsla.load(index.save(tmp_path / "index"))
