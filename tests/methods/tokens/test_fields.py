"""Token lists with weighed fields, against numpy: a token counts the least weight, and more for each heavier field."""

from __future__ import annotations

import random

import numpy as np
import pytest

from vizsla import Dataset, Item, load, tokens
from vizsla.cli import main
from vizsla.errors import InputError
from vizsla.text.analyzers import AnyLanguage
from vizsla.text.wordpiece import WordPiece

WORDS = ["fig", "pear", "apple", "plum", "tree", "leaf"]
WEIGHTS = {"title": 3.0, "brand": 2.0, "text": 1.0}


@pytest.fixture(scope="module")
def shop():
    pick = random.Random(0)

    def some(most):
        return " ".join(pick.choices(WORDS, k=pick.randint(0, most)))

    return Dataset.of([Item(str(n), some(9), title=some(3), metadata={"brand": some(2)}) for n in range(40)])


def expected(shop, query, b):
    """Return the score of every item."""
    held = [
        {"title": set(item.title.split()), "brand": set(item.metadata.get("brand", "").split())}
        | {"text": set(item.text.split())}
        for item in shop.items
    ]
    every = [set().union(*each.values()) for each in held]
    lengths = np.array([len(each) for each in every])
    norms = 1 / (1.2 + 1 - b + b * lengths / lengths.mean())
    scores = np.zeros(len(held))
    for token in set(query.split()) & set(WORDS):
        count = sum(token in each for each in every)
        idf = np.log1p((len(every) - count + 0.5) / (count + 0.5))
        for number, each in enumerate(held):
            if token in every[number]:
                scores[number] += idf * (1 + sum(WEIGHTS[name] - 1 for name, said in each.items() if token in said))
    return scores * norms


@pytest.mark.parametrize("query", ["fig", "fig tree", "plum plum apple", "leaf unknown"])
def test_scores_equal_numpy(shop, query, tmp_path):
    search = tokens(shop, fields=WEIGHTS, b=0.6)
    found = search(query, 40)
    wanted = expected(shop, query, 0.6)
    assert sorted(found.ids[0]) == sorted(str(number) for number in np.flatnonzero(wanted))
    for hit in found[0]:
        assert hit.score == pytest.approx(wanted[int(hit.id)], rel=1e-5)
        assert search.explain(query, hit.id).score == pytest.approx(hit.score)
    search.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved")
    assert loaded(query, 40).to_dict() == found.to_dict() and loaded.fields == WEIGHTS


def test_only_ratios_of_weights_count_and_equal_ones_are_those_of_whole_texts(shop):
    double = tokens(shop, fields={name: 2 * weight for name, weight in WEIGHTS.items()}, b=0.5)
    assert double("fig tree").to_dict() == tokens(shop, fields=WEIGHTS, b=0.5)("fig tree").to_dict()
    even = tokens(shop, fields={"title": 2, "text": 2}, b=0.5)
    assert even("fig tree").to_dict() == tokens(shop, b=0.5)("fig tree").to_dict()


def test_stems_are_shared_and_learning_keeps_the_fields(shop):
    search = tokens(shop, fields="title^3,text", analyzer=AnyLanguage("english"))
    assert search("figs").to_dict() == search("fig").to_dict()
    learned = tokens(shop, [("vehicle", "3")], fields={"title": 3, "text": 1}, epochs=3)
    assert "3" in learned("vehicle", 10).ids[0] and learned.fields == {"title": 3, "text": 1}
    assert "title:" in "".join(learned.encoder.words.terms)


def test_what_cannot_be_is_refused(shop):
    with pytest.raises(InputError, match="must be a mapping"):
        tokens(shop, fields=["title", "text"])
    search = tokens(shop, fields=WEIGHTS)
    for change in (lambda: search.with_items({"new": "fig"}), lambda: search.without_items(["1"])):
        with pytest.raises(InputError, match="Got one of weighed fields: build it again"):
            change()


def test_fields_have_words_of_their_own_and_so_no_given_vocabulary(shop):
    pytest.importorskip("tokenizers", reason="the extra onnx is not installed")
    with pytest.raises(InputError, match="with a vocabulary of its own"):
        tokens(shop, fields=WEIGHTS, analyzer=WordPiece.train(WORDS, size=40))


@pytest.mark.parametrize("verb", ["tokens", "tfidf", "bm25"])
def test_weights_stand_behind_fields_on_the_command_line(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "id,title,text\na,pear tree,a fig and a leaf\nb,fig jam,with a pear and a leaf\n"
    (tmp_path / "items.csv").write_text(rows)
    assert main(["index", verb, "items.csv", "--text", "title^3,text", "-o", "out.idx"]) == 0
    assert load("out.idx").fields and load("out.idx")("fig").ids == [["b", "a"]]
    assert load("out.idx")("pear").ids == [["a", "b"]]
    capsys.readouterr()
