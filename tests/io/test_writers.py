from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vizsla.core.catalog import Item, Query
from vizsla.core.validation import DatasetWarning
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError, InputError
from vizsla.io.jsonl import write_beir, write_items
from vizsla.io.parquet import write_parquet
from vizsla.io.records import Records
from vizsla.io.write import write_dataset

FULL = Dataset.of(
    [Item("a", "über\nzwei Zeilen\u2028", "Titel", {"n": 1}), Item("b b", "  y\t", "", {"n": 2}), Item("c", "z")],
    queries=[Query("q1", "first", {"lang": "en"}), Query("q2", 'sec"ond'), Query("q3", "third")],
    clicks=[("q1", "a", 0.1), ("q3", "b b", 2)],
    qrels={"test": {"q2": {"a": 0, "c": 2}}, "dev": {"q1": {"b b": -1}}},
)
Writer = Callable[..., None]


def same(left: Dataset, right: Dataset) -> None:
    assert list(left.items) == list(right.items)
    assert list(left.queries) == list(right.queries)
    assert (left.clicks != right.clicks).nnz == 0
    assert {split: left.qrels_dict(split) for split in left.splits} == {
        split: right.qrels_dict(split) for split in right.splits
    }


def test_beir_comes_back(tmp_path: Path) -> None:
    write_beir(FULL, tmp_path / "out")
    same(Dataset.open(tmp_path / "out"), FULL)
    first = json.loads((tmp_path / "out" / "corpus.jsonl").read_text().split("\n")[0])
    assert first == {"_id": "a", "title": "Titel", "text": "über\nzwei Zeilen\u2028", "metadata": {"n": 1}}


def test_parquet_comes_back(tmp_path: Path) -> None:
    write_parquet(FULL, tmp_path / "out")
    back = Dataset.open(tmp_path / "out")
    assert [item[:3] for item in back.items] == [item[:3] for item in FULL.items]
    # A column holds a value for every row: what an item does not say is None.
    assert [item.metadata["n"] for item in back.items] == [1, 2, None]
    assert [query[:2] for query in back.queries] == [query[:2] for query in FULL.queries]
    assert (back.clicks != FULL.clicks).nnz == 0
    assert back.qrels_dict("test") == FULL.qrels_dict("test")
    assert back.qrels_dict("dev") == FULL.qrels_dict("dev")


def test_jsonl_has_the_items_and_counts_the_rest(tmp_path: Path) -> None:
    with pytest.warns(DatasetWarning, match="^3 queries and their clicks and judgments not written"):
        write_dataset(FULL, tmp_path / "items.jsonl", format="jsonl")
    assert list(Dataset.open(tmp_path / "items.jsonl").items) == list(FULL.items)


def test_trec_has_the_judgments_and_counts_the_rest(tmp_path: Path) -> None:
    dataset = Dataset.of(["x"], queries=["y"], qrels={"dev": {"0": {"0": 4}}})
    with pytest.warns(DatasetWarning, match="^2 texts not written"):
        write_dataset(dataset, tmp_path / "out", format="trec")
    assert (tmp_path / "out" / "dev.qrels").read_text() == "0 0 0 4\n"


IDS = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n\0"), min_size=1).filter(str.strip)
TEXTS = st.text(st.characters(codec="utf-8"))


@settings(max_examples=40)
@given(
    items=st.dictionaries(IDS, st.tuples(TEXTS, TEXTS), min_size=1, max_size=5),
    queries=st.dictionaries(IDS, TEXTS, min_size=1, max_size=5),
    data=st.data(),
)
@pytest.mark.filterwarnings("ignore::vizsla.core.validation.DatasetWarning")
@pytest.mark.parametrize("write", [write_beir, write_parquet])
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    write: Writer,
    items: dict[str, tuple[str, str]],
    queries: dict[str, str],
    data: st.DataObject,
) -> None:
    pairs = st.tuples(st.sampled_from(list(queries)), st.sampled_from(list(items)), st.floats(0, 1e6, width=32))
    dataset = Dataset.of(
        [Item(id, text, title) for id, (title, text) in items.items()],
        queries=queries,
        clicks=data.draw(st.lists(pairs, min_size=1)),
        qrels={"test": {query: {item: 1} for query, item, _ in data.draw(st.lists(pairs, min_size=1))}},
    )
    folder = tmp_path_factory.mktemp("any") / "out"
    if dataset.clicks.nnz == 0:
        return
    write(dataset, folder)
    same(Dataset.open(folder), dataset)


class Interrupted(Records[Item]):
    """Items whose reading breaks off, as by Ctrl-C."""

    def __init__(self) -> None:
        super().__init__(FULL.items._source, FULL.items.ids)

    def __iter__(self):  # type: ignore[no-untyped-def]
        yield FULL.items[0]
        raise KeyboardInterrupt


@pytest.mark.parametrize("write", [write_beir, write_parquet, write_items])
def test_an_interruption_leaves_nothing_and_harms_nothing(tmp_path: Path, write: Writer) -> None:
    broken = Dataset(Interrupted(), FULL.queries)
    with pytest.raises(KeyboardInterrupt):
        write(broken, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    write(FULL, tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        write(broken, tmp_path / "out", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    opened = Dataset.open(tmp_path / "out")
    assert list(opened.item_ids) == ["a", "b b", "c"]


@pytest.mark.parametrize("write", [write_beir, write_parquet, write_items])
def test_a_target_that_exists_is_replaced_only_on_demand(tmp_path: Path, write: Writer) -> None:
    small = Dataset.of({"only": "one"})
    write(FULL, tmp_path / "out")
    with pytest.raises(InputError, match="`path` must be new"):
        write(small, tmp_path / "out")
    write(small, tmp_path / "out", overwrite=True)
    assert list(Dataset.open(tmp_path / "out").item_ids) == ["only"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_format_cannot_hold_raises(tmp_path: Path) -> None:
    odd = Dataset.of({"a\tb": "x"}, queries={"q": "x"}, qrels={"q": {"a\tb": 1}})
    with pytest.raises(DataError, match="an id must have no tab"):
        write_beir(odd, tmp_path / "out")
    with pytest.raises(DataError, match="the metadata of 'a' cannot be JSON"):
        write_beir(Dataset.of([Item("a", "x", "", {"bad": {1, 2}})]), tmp_path / "out")
    with pytest.raises(DataError, match="the metadata do not fit columns"):
        write_parquet(Dataset.of([Item("a", "x", "", {"n": 1}), Item("b", "x", "", {"n": "one"})]), tmp_path / "out")
    late = [*(Item(str(number), "x") for number in range(5000)), Item("late", "x", "", {"n": 1})]
    with pytest.raises(DataError, match=r"'late' has metadata that earlier items lack: \['n'\]"):
        write_parquet(Dataset.of(late), tmp_path / "out")
    outside = Dataset.of(["x"], queries=["y"], qrels={"../evil": {"0": {"0": 1}}})
    with pytest.raises(DataError, match="a split's name must be good as a file's name"):
        write_beir(outside, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_times_and_weights_are_read_back_as_they_were(tmp_path) -> None:
    """Seconds since 1970 have ten digits before the point; two clicks of one second stay apart."""
    times = [1714567890.25, 1714567890.5, 1714567891.0, 86399.999]
    log = [(f"q{at}", "a", 1 + at / 8, time) for at, time in enumerate(times)]
    write_dataset(Dataset.of({"a": "fig"}, clicks=log), tmp_path / "out")
    again = Dataset.open(tmp_path / "out").events
    assert again is not None and again.times.tolist() == times
    assert again.weights.tolist() == [weight for _, _, weight, _ in log]
