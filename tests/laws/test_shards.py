"""Law 11: parts built over disjoint shards with shared statistics, searched and merged, are the unsharded answer."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vizsla
from vizsla.compose.shards import Shards, shards
from vizsla.errors import CompositionError, FormatError, InputError
from vizsla.methods.bm25 import Bm25, bm25
from vizsla.methods.bm25_statistics import VARIANTS, Statistics
from vizsla.text.analyzers import Analyzer, AnyLanguage

ANALYZERS = {"words": Analyzer(), "english": Analyzer.named("english"), "chars": Analyzer("chars")}
ANALYZERS |= {"german": AnyLanguage("german"), "two languages": AnyLanguage(["english", "german"], content=["die"])}
WORDS = ["fig", "figs", "the", "pear", "apple", "apples", "plum", "tree", "leaf", "ω", "größe"]
WORDS += ["der", "die", "3/8", "水果"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
catalogs = st.lists(texts, min_size=1, max_size=25)
queries = st.lists(texts, min_size=1, max_size=4)
cuts = st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted)
variants = st.sampled_from(list(VARIANTS))


def cut_up(items: dict[str, str], places: list[float]) -> list[dict[str, str]]:
    pairs = list(items.items())
    bounds = [0, *(int(place * len(pairs)) for place in places), len(pairs)]
    return [dict(pairs[low:high]) for low, high in pairwise(bounds)]


def sharded(parts: list[dict[str, str]], analyzer: Analyzer, variant: str) -> Shards:
    """Count each shard by itself, merge the counts, and index each shard with them."""
    both = reduce(Statistics.merged, (Statistics.of(part, analyzer=analyzer) for part in parts))
    return shards([bm25(part, variant=variant, statistics=both) for part in parts])


@given(catalogs, queries, cuts, variants, st.sampled_from(sorted(ANALYZERS)), st.integers(1, 12))
def test_shards_searched_and_merged_are_the_unsharded_answer(given_texts, asked, places, variant, analyzer, k):
    items = {f"item {number}": text for number, text in enumerate(given_texts)}
    whole = bm25(items, variant=variant, analyzer=ANALYZERS[analyzer])
    parts = sharded(cut_up(items, places), ANALYZERS[analyzer], variant)
    found = parts(asked, k)
    assert found == whole(asked, k)
    assert parts(asked, k, threads=2) == found
    assert parts.score(asked, found) == found
    assert parts.exact(asked, k) == whole.exact(asked, k)
    allowed = np.arange(len(items)) % 3 != 1
    assert parts(asked, k, where=allowed) == whole(asked, k, where=allowed)
    assert str(parts.explain(asked[0], "item 0")) == str(whole.explain(asked[0], "item 0"))


def real_catalog(count: int) -> tuple[dict[str, str], list[str]]:
    """Return items and queries of Zipf's words: long lists, so that pruning is at work, and many equal weights."""
    random = np.random.default_rng(3)
    shares = 1 / np.arange(1, 30_001)
    words = random.choice(30_000, size=count * 12, p=shares / shares.sum()).reshape(count, 12)
    lengths = random.integers(1, 13, count)
    rows = zip(words, lengths, strict=True)
    items = {f"d{n}": " ".join(f"w{w}" for w in row[:length]) for n, (row, length) in enumerate(rows)}
    picks = random.integers(0, count, 60)
    return items, [" ".join([items[f"d{a}"], items[f"d{b}"]]) for a, b in zip(picks[:30], picks[30:], strict=True)]


@pytest.fixture(scope="module")
def large() -> tuple[dict[str, str], list[str]]:
    return real_catalog(12_000)


@pytest.mark.parametrize("variant", VARIANTS)
def test_long_lists_in_three_uneven_shards(large: tuple[dict[str, str], list[str]], variant: str) -> None:
    items, asked = large
    whole = bm25(items, variant=variant, analyzer=Analyzer())
    parts = sharded(cut_up(items, [0.05, 0.8]), Analyzer(), variant)
    assert [len(part.items) for part in parts.parts] == [600, 9000, 2400]
    for k in (1, 10, 100):
        found = parts(asked, k)
        assert found == whole(asked, k)
        assert found.stats.exact
    for query in asked:
        assert parts(query, 10) == whole(query, 10)
    allowed = parts.filter(np.arange(len(items)) % 7 == 3)
    assert parts(asked, 10, where=allowed) == whole(asked, 10, where=allowed.mask)


def test_shards_without_shared_statistics_are_refused(large: tuple[dict[str, str], list[str]]) -> None:
    parts = cut_up(large[0], [0.05, 0.8])
    apart = [bm25(part) for part in parts]
    whole, asked = bm25(large[0]), large[1]
    assert apart[1].score(asked, apart[1](asked)) != whole.score(asked, apart[1](asked))
    with pytest.raises(CompositionError, match="share their statistics"):
        shards(apart)
    both = reduce(Statistics.merged, map(Statistics.of, parts))
    with pytest.raises(CompositionError, match="share their weighting"):
        shards([bm25(parts[0], statistics=both), bm25(parts[1], statistics=both, k1=0.9)])


@settings(max_examples=20)
@given(catalogs, queries, cuts)
def test_shards_saved_and_loaded_answer_the_same(tmp_path_factory, given_texts, asked, places):
    items = {str(number): text for number, text in enumerate(given_texts)}
    parts = sharded(cut_up(items, places), ANALYZERS["english"], "lucene")
    path = parts.save(tmp_path_factory.mktemp("shards") / "saved")
    for mmap in (True, False):
        loaded = vizsla.load(path, mmap=mmap)
        assert isinstance(loaded, Shards) and str(loaded) == str(parts)
        assert loaded(asked, 10) == parts(asked, 10)


def test_a_query_is_encoded_once_for_all_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    from vizsla.text.bag_of_words import BagOfWords

    parts = sharded([{"a": "a fig"}, {"b": "a pear"}, {"c": "the figs"}], ANALYZERS["english"], "lucene")
    calls, encode = [], BagOfWords.queries
    monkeypatch.setattr(BagOfWords, "queries", lambda self, texts: calls.append(texts) or encode(self, texts))
    assert parts("fig").ids == [["a", "c"]]
    assert calls == [["fig"]]


def test_shards_of_vectors_are_one_catalog() -> None:
    encoder = vizsla.encoders.FunctionEncoder(
        lambda texts: [[len(t), t.count("a")] for t in texts], dim=2, name="letters"
    )
    items = {"x": "banana", "y": "fig", "z": "papaya", "w": "ananas"}
    parts = shards([vizsla.dense(part, encoder) for part in cut_up(items, [0.3, 0.6])])
    assert parts(["aa", "b"], 3) == vizsla.dense(items, encoder)(["aa", "b"], 3)


def test_what_shards_refuse() -> None:
    one = bm25({"a": "fig"})
    with pytest.raises(CompositionError, match="at least one"):
        shards([])
    with pytest.raises(CompositionError, match="must be a Retriever. Got str"):
        shards([one, "two"])  # type: ignore[list-item]
    with pytest.raises(CompositionError, match="Got 'a' twice"):
        shards([one, one])
    with pytest.raises(CompositionError, match="one scale"):
        encoder = vizsla.encoders.FunctionEncoder(lambda texts: [[len(t)] for t in texts], dim=1, name="length")
        shards([one, vizsla.dense({"b": "fig"}, encoder)])
    with pytest.raises(CompositionError, match="match set"):
        shards([one | one])


def test_shards_can_be_composed_further() -> None:
    parts = sharded([{"a": "a fig"}, {"b": "a pear"}], Analyzer(), "lucene")
    assert ((parts % 1) >> parts)("fig a", 2).ids == [["a"]]
    assert (parts.normalized() + parts.normalized())("fig").ids == [["a"]]
    one, other = parts.parts
    assert parts.nbytes == one.nbytes + other.nbytes - one.encoder.nbytes, "one vocabulary encodes for both"  # type: ignore[attr-defined]


def test_a_saved_composition_whose_shards_overlap_is_refused(tmp_path: Path) -> None:
    parts = sharded([{"a": "a fig"}, {"b": "a pear"}], Analyzer(), "lucene")
    parts.parts[1] = parts.parts[0]
    with pytest.raises(FormatError, match="do not fit together"):
        vizsla.load(parts.save(tmp_path / "overlap"))


def test_words_and_items_that_were_not_counted_raise() -> None:
    counted = Statistics.of({"a": "a fig", "b": "pear"})
    for items, got in (
        ({"c": "a plum"}, "1 words that they lack, such as 'plum'"),
        ({"a": "a", "b": "fig", "c": "pear"}, "3 items where they counted 2"),
        ({"a": "fig", "b": "fig"}, "a word in more items"),
    ):
        with pytest.raises(InputError, match=f"must count the items they are used for. Got {got}"):
            bm25(items, statistics=counted)
    with pytest.raises(InputError, match="same analyzer"):
        bm25({"a": "fig"}, statistics=counted, analyzer=Analyzer(lower=False))
    grown = counted.merged(Statistics.of({"c": "a plum"}))
    assert isinstance(bm25({"c": "a plum"}, statistics=grown), Bm25)


@pytest.mark.parametrize("unsure", [0, 1, 2])
def test_shards_are_as_sure_as_their_least_sure_part(unsure):
    parts = sharded([{"a": "fig"}, {"b": "a fig"}, {"c": "figs, a fig"}], Analyzer(), "lucene")
    assert parts.page("fig", 1).total_is_exact
    parts.parts[unsure]._count_matches = lambda queries, filter, up_to, threads: (1, False)
    parts.parts[unsure]._steady_depth = lambda filter: 2
    assert not parts.page("fig", 1).total_is_exact
    assert parts._steady_depth(None) == 2
