"""Hints beside an empty answer, and filters that stay what they were."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from vizsla.cli import main
from vizsla.errors import InputError

FRUIT = [
    {"id": "f", "text": "a fig", "price": 3.5, "brand": "Ace", "tags": ["red", "sweet"]},
    {"id": "p", "text": "a pear", "price": 7, "brand": "Bo", "day": "2024-05-01"},
]


@pytest.fixture(scope="module")
def search():
    return vizsla.bm25(vizsla.Dataset.of(FRUIT))


@pytest.mark.parametrize(
    ("condition", "hints"),
    [
        ("brand=ace", ("no item has brand = 'ace'; did you mean 'Ace'?",)),
        ("tags=sweat", ("no item has tags = 'sweat'; did you mean 'sweet'?",)),
        ("price=5", ("no item has price = '5'; values are from 3.5 to 7",)),
        ("price>100", ("no item has 'price > 100'; values are from 3.5 to 7",)),
        ("brand=Ace and price>5", ("no item fulfills all of the conditions, though each value occurs",)),
        ("brand=zzzz", ("no item has brand = 'zzzz'",)),
        ("brand contains q", ("no item has 'brand contains \"q\"'",)),
    ],
)
def test_an_empty_answer_says_why(search, condition, hints):
    found = search("fig pear", where=vizsla.where(condition))
    assert found.ids == [[]] and found.hints == hints
    assert found.with_query_ids(["q"]).hints == hints == search.filter(vizsla.where(condition)).hints


def test_hints_cost_nothing_where_something_is_allowed(search, monkeypatch):
    monkeypatch.setattr(vizsla.data.conditions.Condition, "hints", None)
    assert search("fig", where=vizsla.where("brand=Ace,nobody")).hints == ()
    assert search("fig", where={"f"}).hints == () == search("nothing").hints


def test_the_command_says_it_on_standard_error(search, tmp_path, capsys):
    saved = str(search.save(tmp_path / "idx"))
    assert main(["search", saved, "fig", "--where", "brand in (Acee, Bo)", "--json"]) == 0
    assert capsys.readouterr().err == "vizsla: hint: no item has brand = 'Acee'; did you mean 'Ace'?\n"
    assert main(["search", saved, "fig", "--where", '{"type": "lt", "key": "price", "value": 5}', "--json"]) == 0
    out = capsys.readouterr()
    assert out.err == "" and '"f"' in out.out
    assert main(["search", saved, "fig", "--where", "brand=Ace OR"]) == 2
    assert "'brand=Ace OR→' at character 13" in capsys.readouterr().err
    assert main(["search", saved, "fig", "--where", "brnd is null"]) == 2
    assert "Did you mean 'brand'?" in capsys.readouterr().err


def test_a_list_of_excluded_values_excludes_all_of_them(search):
    assert search("fig pear", where=vizsla.where("brand!=Ace,Bo")).ids == [[]]
    assert search("fig pear", where=vizsla.where("brand!=Cy,Bo")).ids == [["f"]]
    assert search("fig pear", where=vizsla.where("brand!=Ace,Cy")).ids == [["p"]]


def test_a_filter_copies_its_mask(search):
    mask = np.array([True, False])
    view = mask.view()
    view.flags.writeable = False
    for given in (mask, view, np.array([True, True, False, True])[::2]):
        filter = vizsla.Filter(given)
        before = filter.mask.tolist()
        base = given.base if given.base is not None else given
        base[:] = ~base
        assert filter.mask.tolist() == before and not filter.mask.flags.writeable
        base[:] = ~base
    prepared = search.filter(mask)
    mask[:] = False
    assert search("fig", where=prepared).ids == [["f"]]


def test_a_dict_alone_is_no_where(search):
    with pytest.raises(InputError, match=r"vizsla.where\(\{...\}\)"):
        search("fig", where={"type": "eq", "key": "brand", "value": "Ace"})


def test_hints_stay_with_what_is_made_of_an_answer():
    import pickle

    empty = vizsla.bm25(vizsla.Dataset.of([{"id": "f", "text": "a fig", "brand": "Ace"}]))(
        ["fig", "figs"], where=vizsla.where("brand=ace")
    )
    assert empty.hints
    others = [empty[0:1], empty.top(1), empty.with_query_ids(["x", "y"]), empty.with_ms(1.0), empty.unscored()]
    for other in [*others, pickle.loads(pickle.dumps(empty)), empty.with_catalog(empty.catalog)]:
        assert other.hints == empty.hints


def test_every_value_that_no_item_has_is_named(search):
    hints = search.filter(vizsla.where("(brand=ace or brand in (boo, Bo)) and not tags=sweat and price>100")).hints
    assert hints == (
        "no item has brand = 'ace'; did you mean 'Ace'?",
        "no item has brand = 'boo'; did you mean 'Bo'?",
        "no item has tags = 'sweat'; did you mean 'sweet'?",
        "no item has 'price > 100'; values are from 3.5 to 7",
    )
    many = vizsla.where(" or ".join(f"brand=x{n}x" for n in range(40)))
    assert len(search.filter(many).hints) == 10
