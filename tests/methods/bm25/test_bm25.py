"""Bm25: a hand-computed example, inputs, explanations, wrong arguments."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import vizsla
from vizsla.core.catalog import Item
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25 import Bm25, bm25
from vizsla.methods.bm25_statistics import VARIANTS
from vizsla.text.analyzers import Analyzer

TEXTS = ["fig fig tree", "apple tree", "pear", "fig"]


def test_lucene_by_hand():
    """4 items, lengths 3, 2, 1, 1, average 7/4; `fig` is in 2 items, `tree` in 2."""
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))  # = ln 2

    def norm(length):
        return 1.5 * (1 - 0.75 + 0.75 * length / 1.75)

    expected = {
        "0": idf * 2 / (2 + norm(3)) + idf * 1 / (1 + norm(3)),
        "1": idf * 1 / (1 + norm(2)),
        "3": idf * 1 / (1 + norm(1)),
    }
    found = bm25(TEXTS)("fig tree").to_dict()["0"]
    assert list(found) == sorted(expected, key=lambda item: -expected[item])
    assert found == pytest.approx(expected, abs=1e-6)
    assert found["0"] == pytest.approx(0.6931471806 * (2 / 4.3035714286 + 1 / 3.3035714286), abs=1e-6)


def by_the_paper(variant, counts, length, average, k1, b, delta):
    """Score an item as Kamphuis et al. (ECIR 2020) write it; `counts` has (tf, df) of each word, of 6 items."""
    norm, total = 1 - b + b * length / average, 0.0
    for tf, df in counts:
        if variant in ("lucene", "robertson"):
            odds = (6 - df + 0.5) / (df + 0.5)
            idf = math.log(1 + odds) if variant == "lucene" else max(0.0, math.log(odds))
            total += idf * tf / (tf + k1 * norm)
        elif variant == "atire":
            total += math.log(6 / df) * (k1 + 1) * tf / (tf + k1 * norm)
        elif variant == "bm25l":
            total += math.log(7 / (df + 0.5)) * (k1 + 1) * (tf / norm + delta) / (k1 + tf / norm + delta)
        else:
            total += math.log(7 / df) * (delta + (k1 + 1) * tf / (tf + k1 * norm))
    return total


@pytest.mark.parametrize("options", [{}, {"k1": 0.9, "b": 0.4, "delta": 1.0}, {"k1": 2.0, "b": 0.0, "delta": 0.25}])
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_the_papers(variant, options):
    texts = ["fig fig tree", "apple tree", "pear", "fig", "plum plum plum pear oak elm", "elm"]
    rows = [text.split() for text in texts]
    frequencies = {word: sum(word in row for row in rows) for word in ("fig", "pear")}
    search = bm25(texts, analyzer=Analyzer(), variant=variant, **options)
    found = search("fig pear").to_dict()["0"]
    given = {"k1": 1.5, "b": 0.75, "delta": 0.5} | options
    for number, row in enumerate(rows):
        if "fig" in row or "pear" in row:
            counts = [(row.count(word), frequency) for word, frequency in frequencies.items()]
            wanted = by_the_paper(variant, counts, len(row), sum(map(len, rows)) / 6, **given)
            assert found[str(number)] == pytest.approx(wanted, rel=1e-5)


def test_a_repeated_query_word_counts_repeatedly():
    search = bm25(TEXTS)
    once, twice = search("fig").to_dict()["0"], search("fig FIG").to_dict()["0"]
    assert twice == pytest.approx({item: 2 * score for item, score in once.items()})


def test_robertson_ignores_words_of_half_the_items():
    """Its idf would be negative there; it is 0, and what gives nothing is not found."""
    assert bm25(TEXTS, variant="robertson")("fig pear").ids == [["2"]]


@pytest.mark.parametrize("variant", VARIANTS)
def test_parts_of_an_explanation_add_up(variant):
    search = bm25([*TEXTS, "plum", "plum"], variant=variant)
    found = search("fig tree fig zzz").to_dict()["0"]
    for item in ("0", "1", "3"):
        why = search.explain("fig tree fig zzz", item)
        assert why.score == pytest.approx(found[item], abs=1e-6)
        assert sum(part.score for part in why.parts) == pytest.approx(why.score, abs=1e-6)
        assert [part.reason.split(":")[0] for part in why.parts] == ["'fig'", "'tree'", "'zzz'"]
    assert "2 times in the query" in why.parts[0].reason
    assert search.explain("zzz", "2").parts[0].reason == "'zzz': in no item"


@pytest.mark.parametrize(
    "items",
    [
        {"a": "fig tree", "b": "pear"},
        [("a", "fig tree"), ("b", "pear")],
        iter([["a", "fig tree"], ["b", "pear"]]),
        [Item("a", "tree", title="fig"), Item("b", "pear")],
        SimpleNamespace(items=[Item("a", "tree", title="fig"), Item("b", "pear")]),
    ],
    ids=["mapping", "pairs", "iterator", "items", "dataset"],
)
def test_shapes_of_a_catalog(items):
    search = bm25(items)
    assert list(search.items) == ["a", "b"]
    assert search("tree").ids == [["a"]]


def test_texts_with_and_without_ids():
    assert list(bm25(TEXTS).items) == ["0", "1", "2", "3"]
    assert bm25(iter(TEXTS), ids=list("wxyz"))("pear").ids == [["y"]]
    assert len(bm25([]).items) == 0 and bm25([])("fig").ids == [[]]
    assert bm25(["", "  "])("fig").ids == [[]]


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        ("fig", {}, "put it into a list"),
        (7, {}, "Got int"),
        ([("a", "x"), ("a", "y")], {}, "'a' again"),
        (["x", "y"], {"ids": ["a"]}, "as many as the texts"),
        (["x", "y"], {"ids": ["a", "a"]}, "'a' again"),
        ({"a": "x"}, {"ids": ["a"]}, "bring their own"),
        ([("a", "x"), "y"], {}, "position 1"),
        ([(1, "x")], {}, "position 0"),
        (["x", 3], {}, "Got int"),
        ({"a": None}, {}, "NoneType"),
        (["x"], {"variant": "bm26"}, "`variant` must be one of"),
        (["x"], {"b": 1.5}, "`b` must be between 0 and 1. Got 1.5."),
        (["x"], {"k1": -1}, "`k1`"),
        (["x"], {"k1": float("nan")}, "`k1`"),
        (["x"], {"k1": "2"}, "`k1` must be a number"),
        (["x"], {"delta": float("inf")}, "`delta`"),
        (["x"], {"variant": "bm25l", "k1": 0, "delta": 0}, "not both be 0"),
    ],
)
def test_wrong_arguments(items, options, message):
    with pytest.raises(InputError, match=message):
        bm25(items, **options)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(("k1", "b"), [(0.0, 0.0), (0.0, 1.0), (3.0, 1.0)])
def test_extreme_parameters_give_finite_scores(variant, k1, b):
    found = bm25(TEXTS, variant=variant, k1=k1, b=b)("fig tree")
    assert np.isfinite(found.scores).all()


def test_save_and_load(tmp_path):
    search = bm25(TEXTS, variant="bm25+", k1=0.9, analyzer=Analyzer(stop_words=("tree",)))
    loaded = vizsla.load(search.save(tmp_path / "index"))
    assert isinstance(loaded, Bm25) and loaded.weighting == search.weighting
    assert loaded(["fig tree", "pear"]) == search(["fig tree", "pear"])
    assert loaded.nbytes == search.nbytes


def test_an_index_over_other_items_is_refused(tmp_path):
    import shutil

    bm25(TEXTS).save(tmp_path / "four")
    bm25(TEXTS[:3]).save(tmp_path / "three")
    shutil.rmtree(tmp_path / "four" / "index")
    shutil.copytree(tmp_path / "three" / "index", tmp_path / "four" / "index")
    with pytest.raises(FormatError):
        vizsla.load(tmp_path / "four")


def test_streams_are_never_held():
    """At most a batch of a generator's texts is alive at any time."""
    import weakref

    class Text(str):
        __slots__ = ("__weakref__",)

    alive = weakref.WeakSet()
    most = 0

    def texts():
        nonlocal most
        for number in range(5000):
            text = Text(f"word{number % 50} fig")
            alive.add(text)
            most = max(most, len(alive))
            yield text

    assert len(bm25(texts()).items) == 5000
    assert most < 1500


@pytest.mark.parametrize("variant", VARIANTS)
def test_its_own_rows_indexed_again_answer_to_the_last_bit(variant):
    """PEFA moves rows and indexes them so; rows of a bag that has grown may be wider."""
    search = bm25([f"{text} {text} w{n % 7} w{n % 3} x" for n, text in enumerate(TEXTS * 50)], variant=variant)
    query = "fig tree apple w1 w2 x x"
    again = search.index_rows(search.item_rows())
    assert again.search(search.encode(query), 20) == search.index.search(search.encode(query), 20)
    grown = search.words.grown(["a new word"])
    wider = search.item_rows()
    wider.resize((len(search.items), grown.dim))
    assert search.index_rows(wider).search(grown.queries([query]), 20) == again.search(search.encode(query), 20)
