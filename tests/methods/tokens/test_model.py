"""TokenRetriever: idf and length, items that come and go, and the reasons it gives."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla import Dataset, load, tokens
from vizsla.errors import InputError
from vizsla.methods.tokens.model import idf
from vizsla.text import WordPiece
from vizsla.text.bag_of_words import length_norms

ITEMS = {"a": "a fig tree in the garden", "b": "an apple tree", "c": "figs", "d": "the garden of apple trees and figs"}
SMALL = ["[UNK]", "fig", "##s", "tree", "apple", "a", "garden"]


def by_hand(query: str, b: float) -> dict[str, float]:
    """Return every item's score, from the formula."""
    texts = {id: set(text.split()) for id, text in ITEMS.items()}
    mean = np.mean([len(words) for words in texts.values()])
    scores = {}
    for id, words in texts.items():
        norm = 1 / (1.2 + 1 - b + b * len(words) / mean)
        counts = [sum(word in others for others in texts.values()) for word in set(query.split()) & words]
        scores[id] = norm * sum(np.log(1 + (4 - df + 0.5) / (df + 0.5)) for df in counts)
    return scores


@pytest.mark.parametrize("b", [0.0, 0.5, 1.0])
def test_scores_are_the_formula(b):
    found = tokens(ITEMS, b=b).exact("the fig tree", 4)
    assert dict(zip(found.ids[0], found.scores.tolist(), strict=True)) == pytest.approx(by_hand("the fig tree", b))


def test_items_that_come_and_go_leave_no_trace(tmp_path):
    first = dict(list(ITEMS.items())[:2])
    rest = dict(list(ITEMS.items())[2:])
    queries = ["fig tree", "apple garden", "figs and apple"]
    whole, grown = tokens(ITEMS), tokens(first).with_items(rest)
    assert grown(queries) == whole(queries)
    assert tokens(first)(queries) == grown.without_items(list(rest))(queries)
    assert load(grown.save(tmp_path / "tokens"))(queries) == whole(queries)


def test_an_item_is_added_once():
    with pytest.raises(InputError, match="must be new"):
        tokens(ITEMS).with_items({"a": "again"})


def test_wordpiece_cuts_the_words():
    found = tokens(ITEMS, analyzer=WordPiece(SMALL))("FIG")
    assert sorted(found.ids[0]) == ["a", "c", "d"]


def test_the_length_counts_as_clicks_say():
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(200)]
    short = {f"s{n}": " ".join([f"t{n}", *rng.choice(words, 2)]) for n in range(150)}
    long = {f"l{n}": " ".join([f"t{n}", f"u{n}", *rng.choice(words, 60)]) for n in range(150)}
    queries = {f"q{n}": f"t{n} {rng.choice(words)}" for n in range(150)}
    towards_short = Dataset.of(short | long, queries=queries, clicks=[(f"q{n}", f"s{n}") for n in range(150)])
    towards_long = Dataset.of(short | long, queries=queries, clicks=[(f"q{n}", f"l{n}") for n in range(150)])
    assert tokens(towards_long, epochs=0).b < tokens(towards_short, epochs=0).b


def test_without_clicks_the_default_stays():
    assert tokens(ITEMS).b == 0.5
    with pytest.raises(InputError, match="auto"):
        tokens(ITEMS, b="best")
    with pytest.raises(InputError, match="between 0 and 1"):
        tokens(ITEMS, b=2.0)


def test_explain_adds_up():
    search = tokens(ITEMS)
    for query in ("fig tree garden", "the tree of figs"):
        for hit in search(query)[0]:
            why = search.explain(query, hit.id)
            assert sum(part.score for part in why.parts) == pytest.approx(why.score, rel=1e-5)
            assert why.score == hit.score


def test_the_parts_of_the_formula():
    assert idf(np.array([2]), 4).tolist() == pytest.approx([np.log(2.0)])
    assert length_norms(np.int32([4, 4]), 4.0, 0.75).tolist() == pytest.approx([1 / 2.2] * 2)
    assert length_norms(np.int32([0]), 0.0, 0.5).tolist() == pytest.approx([1 / 1.7])
