"""Duplicates, against an exact computation of the Jaccard similarity."""

from __future__ import annotations

import random

import numpy as np
import pytest

import vizsla
from tests.io.conftest import Put
from vizsla import _native
from vizsla.cli import main
from vizsla.core.catalog import Item
from vizsla.core.validation import DatasetWarning
from vizsla.errors import InputError
from vizsla.io.duplicates import DeduplicatedSource, text_digest
from vizsla.io.records import ListSource

CHANCE = random.Random(3)
VOCABULARY = [f"w{number}" for number in range(3000)]


def shingles(words: list[str]) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + 4]) for at in range(len(words) - 3)}


def jaccard(a: list[str], b: list[str]) -> float:
    a, b = shingles(a), shingles(b)
    return len(a & b) / len(a | b)


def changed(words: list[str], count: int) -> list[str]:
    made = list(words)
    for at in CHANCE.sample(range(len(made)), count):
        made[at] = CHANCE.choice(VOCABULARY)
    return made


def test_texts_that_are_nearly_the_same_are_found_and_others_are_not():
    near, far = [], []
    for _ in range(300):
        words = CHANCE.choices(VOCABULARY, k=200)
        other = changed(words, CHANCE.choice([1, 2, 20, 40]))
        first = _native.NearDuplicates(0.8).add([" ".join(words), " ".join(other)])[1] == 0
        similarity = jaccard(words, other)
        if similarity > 0.9:
            near.append(first)
        if similarity < 0.65:
            far.append(first)
    assert len(near) > 80 and sum(near) >= 0.98 * len(near)
    assert len(far) > 80 and sum(far) == 0


def test_groups_are_counted_over_calls_and_short_texts_are_compared_whole():
    texts = _native.NearDuplicates(0.8)
    assert texts.add(["a fig", "A FIG!", "a pear", ""]).tolist() == [0, 0, 2, 3]
    assert texts.add(["a pear", "a plum", "", "无花果树是一种水果", "无花果树是一种水果。"]).tolist() == [2, 5, 3, 7, 7]
    with pytest.raises(ValueError, match="the similarity must be above 0"):
        _native.NearDuplicates(0)


@pytest.fixture
def folder(put: Put):
    words = CHANCE.choices(VOCABULARY, k=150)
    put("twice/a.md", "# Fig\n" + " ".join(words))
    put("twice/b.txt", " ".join(words).replace(" ", "\n"))
    put("twice/c.md", " ".join(changed(words, 2)))
    return put("twice/d.md", " ".join(CHANCE.choices(VOCABULARY, k=150))).parent


@pytest.mark.parametrize(("how", "repeats", "groups"), [("exact", 1, 3), ("near", 2, 2)])
def test_items_of_a_group_have_the_same_value(folder, how, repeats, groups):
    with pytest.warns(DatasetWarning, match=f"^{repeats} items of .* whose text (is|resembles) that of an item before"):
        dataset = vizsla.open_dataset(folder, dedupe=how)
    values = [item.metadata["same_as"] for item in dataset.items]
    assert len({*values}) == groups and values[0] == values[1]
    assert values == [item.metadata["same_as"] for item in dataset.items]
    assert [dataset.items[number].metadata["same_as"] for number in range(4)] == values
    found = vizsla.bm25(dataset)("w1", k=4)
    assert found.metadata(0, ["same_as"]) == [
        {"same_as": values[list(dataset.item_ids).index(id)]} for id in found.ids[0]
    ]


def test_tables_and_the_command_line(put: Put, folder, tmp_path, capsys):
    path = put("items.csv", "id,text\n1,a red fig\n2,a pear\n3,a  red fig\n")
    with pytest.warns(DatasetWarning, match="^1 items of"):
        items = list(vizsla.open_dataset(path, dedupe="exact").items)
    assert items[0].metadata["same_as"] == items[2].metadata["same_as"] != items[1].metadata["same_as"]
    assert main(["index", "bm25", str(folder), "-o", str(tmp_path / "x"), "--dedupe", "near"]) == 0
    assert "2 items of" in capsys.readouterr().err
    assert main(["search", str(tmp_path / "x"), "w1", "--show", "same_as"]) == 0
    with pytest.raises(InputError, match="`dedupe` must be"):
        vizsla.open_dataset(path, dedupe="both")


def test_answers_show_one_item_of_a_group(folder):
    with pytest.warns(DatasetWarning):
        dataset = vizsla.open_dataset(folder, dedupe="near")
    search = vizsla.bm25(dataset)
    query = " ".join(next(iter(dataset.items)).text.split()[:20])
    hits = list(search.page(query, k=4))
    assert len(hits) >= 3
    grouped = search.page(query, k=4, distinct="same_as")
    assert grouped[0].id == hits[0].id and len(grouped) == len(hits) - 2


def test_an_engine_groups_exact_duplicates(folder, tmp_path):
    members = {"words": vizsla.Recipe.of("bm25")}
    with vizsla.Engine.create(tmp_path / "e", members=members, maintenance="manual") as engine:
        engine.sync(folder, dedupe="exact")
        values = {id: engine.get(id).metadata["same_as"] for id in engine.items}
        assert values["a.md#fig"] == values["b.txt"] and len({*values.values()}) == 3
        with pytest.raises(InputError, match="`dedupe` must be 'exact' in an engine"):
            engine.sync(folder, dedupe="near")


@pytest.mark.parametrize("how", ["exact", "near"])
@pytest.mark.parametrize("count", [255, 256, 257, 600])
def test_duplicates_are_found_across_batches_and_at_every_reading(how, count):
    """Item n has the text of item n % 97; every third has it as its title alone, with other spaces."""
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{number}" for number in rng.integers(0, 10**6, 30)) for _ in range(97)]
    items = []
    for number in range(count):
        text = texts[number % 97].replace(" ", "  " if number % 2 else "\n")
        items.append(Item(f"i{number}", "", text) if number % 3 == 0 else Item(f"i{number}", text, f"title {number}"))
    source = DeduplicatedSource(ListSource(items), how)
    found = [item.metadata["same_as"] for item in source]
    assert found == [found[number % 97] for number in range(count)] and len(set(found)) == min(count, 97)
    assert found[:97] == [text_digest(item) for item in items[:97]]
    assert (source.groups, source.repeats) == (min(count, 97), max(count - 97, 0))
    again = list(source)
    assert [item.metadata["same_as"] for item in again] == found and [item.id for item in again] == [
        i.id for i in items
    ]
    assert source.pick(count - 1).metadata["same_as"] == found[-1]
