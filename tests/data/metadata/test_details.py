"""What is known of items: saved, shared, shown, and asked about."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from vizsla.core.catalog import Item, details_of
from vizsla.data.conditions import Condition
from vizsla.data.metadata_builder import DetailsCollector
from vizsla.errors import InputError

FRUIT = [
    {"id": "f", "title": "Fig", "text": "a small fig", "price": 3.5, "brand": "Ace", "fresh": True, "tags": ["x"]},
    {"id": "p", "title": "Pear", "text": "a green pear", "price": 7, "brand": "Bo, Inc.", "fresh": False},
    {"id": "q", "title": "", "text": "a quince", "price": None, "day": "2024-05-01"},
]
ALL = "a fig or a pear or a quince"


@pytest.fixture(scope="module")
def search():
    return vizsla.bm25(vizsla.Dataset.of(FRUIT, keep_texts=True))


def test_metadata_and_texts_are_saved_and_come_back(search, tmp_path) -> None:
    loaded = vizsla.load(search.save(tmp_path / "idx"))
    details = details_of(loaded.items)
    assert details.of(0) == {"title": "Fig", "price": 3.5, "brand": "Ace", "fresh": True, "tags": ["x"]}
    assert details.of(2) == {"day": "2024-05-01"}
    assert details.text(1) == "Pear a green pear"
    assert loaded("pear").metadata(0, ["price", "text"]) == [{"price": 7, "text": "Pear a green pear"}]


@pytest.mark.parametrize(
    ("conditions", "ids"),
    [
        (["price<7"], "f"), (["price<=7"], "fp"), (["price>3.5"], "p"), (["price>=3.5"], "fp"), (["price=3.50"], "f"),
        (["price=3..7"], "fp"), (["price=4.."], "p"), (["price=..4"], "f"), (["price=7,3.5"], "fp"),
        (["price!=7"], "fq"), (["brand=Ace"], "f"), (['brand="Bo, Inc.",Cy'], "p"), (["fresh=true"], "f"),
        (["day>=2024-04-30"], "q"), (["price<10", "fresh=false"], "p"),
        (["title=Fig,Pear"], "fp"), (["brand=nobody"], ""), (["Price<7", "BRAND=Ace"], "f"),
    ],
)  # fmt: skip
def test_conditions(search, conditions, ids) -> None:
    assert sorted(search(ALL, where=vizsla.where(*conditions)).ids[0]) == list(ids)


@pytest.mark.parametrize("text", ["price", "=3", "price=", "price=..", "", "price<"])
def test_what_is_no_condition_raises(text) -> None:
    with pytest.raises(InputError, match=r"must be like"):
        Condition.parse(text)


def test_conditions_on_what_is_not_known_say_what_is(search) -> None:
    with pytest.raises(InputError, match=r"that the items have \(title, price, brand, fresh, tags, day, text\)"):
        search(ALL, where=vizsla.where("color=red"))
    with pytest.raises(InputError, match="must give a number. Got 'cheap'"):
        search(ALL, where=vizsla.where("price<cheap"))
    with pytest.raises(InputError, match="nothing else is known of these items"):
        vizsla.bm25(["a fig"])("fig", where=vizsla.where("price<5"))


def test_compositions_know_what_their_parts_know(search, tmp_path) -> None:
    plain = vizsla.bm25({"x": "an extra fig", "f": "a small fig"})
    both = plain | search
    assert both("fig", where=vizsla.where("price<5")).ids == [["f"]]
    found = vizsla.load(both.save(tmp_path / "union"))("fig")
    assert {id: row.get("price") for id, row in zip(found.ids[0], found.metadata(0), strict=True)} == {
        "x": None,
        "f": 3.5,
    }


def test_parts_over_one_catalog_share_their_details(search, tmp_path) -> None:
    folder = (search | search.with_effort(1) if search.effort else search | search).save(tmp_path / "union")
    assert len(list(folder.rglob("metadata"))) == 1


def test_items_that_come_and_go_take_their_details_along() -> None:
    search = vizsla.tfidf(vizsla.Dataset.of(FRUIT))
    more = search.with_items(vizsla.Dataset.of([{"id": "k", "text": "a fig kiwi", "price": 2}]))
    assert {"price": 2} in more("fig").metadata(0)
    left = more.without_items(["f"])
    assert left(ALL, where=vizsla.where("price<5")).ids == [["k"]]


def test_no_metadata_on_request() -> None:
    assert details_of(vizsla.Dataset.of(FRUIT, meta=[]).item_ids) is None
    assert details_of(vizsla.Dataset.of(FRUIT, meta=["tags"]).item_ids).of(0) == {"title": "Fig", "tags": ["x"]}


def test_columns_are_numbers_only_if_nearly_all_of_them_are() -> None:
    rows = [{"zip": "01234", "n": "12", "mixed": 1}, {"zip": "99999", "n": "-0.5", "mixed": "one"}]
    details = DetailsCollector.of([Item(str(n), "", metadata=row) for n, row in enumerate(rows)])
    assert details.of(0) == {"zip": "01234", "n": "12", "mixed": "1"}
    assert details.of(1) == {"zip": "99999", "n": "-0.5", "mixed": "one"}
    assert [details.column(name).kind for name in ("zip", "n", "mixed")] == ["text", "number", "text"]


def test_many_distinct_values_are_kept_as_well_as_few() -> None:
    values = [f"v{n % 7_000}" if n % 5 else "" for n in range(10_000)]
    details = DetailsCollector.of([Item(str(n), "", metadata={"v": value}) for n, value in enumerate(values)])
    assert [details.of(n).get("v", "") for n in range(10_000)] == values
    found = details.column("v").equal(["v1", "v6999"])
    assert np.array_equal(found, np.isin(values, ["v1", "v6999"]))


def test_kept_texts_of_any_size() -> None:
    texts = ["", "x" * 100_000, "ä" * 5, "", *(f"text {n} " * (n % 50) for n in range(2_000))]
    details = DetailsCollector.of([Item(str(n), text) for n, text in enumerate(texts)], keep_texts=True)
    assert [details.text(n) for n in range(len(texts))] == texts
    assert details.texts.nbytes < sum(map(len, texts)) / 5


def test_answers_show_what_matters_at_80_columns(search, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    search("green pear").show(fields=["price", "text"])
    lines = capsys.readouterr().out.splitlines()
    assert any(line.split()[:4] == ["1", lines_score(lines), "p", "7"] for line in lines)
    assert max(map(len, lines)) <= 80


def test_answers_say_when_nothing_is_found(search, capsys) -> None:
    search("aeroplane").show()
    assert capsys.readouterr().out == "query 0\nNothing found.\n"


def test_texts_that_begin_with_a_digit_are_texts_and_wide_ones_are_cut_with_a_mark(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    items = vizsla.Dataset.of({"a": "3/8 drill", "b": "所有权是什么规则让内存安全" * 3}, keep_texts=True)
    vizsla.bm25(items)("drill 所有权").show()
    lines = capsys.readouterr().out.splitlines()
    begins = [line.index(text) for line in lines for text in ("text", "3/8", "所") if text in line]
    assert len(begins) == 3 and len(set(begins)) == 1
    assert any(line.rstrip().endswith("…") for line in lines)


def lines_score(lines: list[str]) -> str:
    return next(line.split()[1] for line in lines if line.split()[:1] == ["1"])
