"""Items that come and go in compositions: laws 10 and 12, and the same answers as parts that were changed apart."""

from __future__ import annotations

import pytest

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from vizsla.core.catalog import Item
from vizsla.data.dataset import Dataset
from vizsla.encoders.lsa import LsaEncoder
from vizsla.errors import InputError
from vizsla.learning.clicks import WEIGHT_UNITS
from vizsla.methods.bm25 import bm25
from vizsla.methods.cold_items import cold_item_boost
from vizsla.methods.dense import dense
from vizsla.methods.jpq.train_jpq import jpq
from vizsla.methods.pefa import pefa_xl, pefa_xs
from vizsla.methods.tfidf import tfidf
from vizsla.methods.tokens.model import tokens
from vizsla.methods.typo_tolerant import typo_tolerant
from vizsla.scorers.text import FunctionScorer

NEW = {"new 1": "a fig and a quince", "new 2": "stones in the river", "new 3": "a fig and a quince"}
PARTS = {}


def part(name):
    if not PARTS:
        encoder = LsaEncoder.fit(ITEMS.values(), dim=16)
        with pytest.warns():  # one item has no text
            log = Dataset.of(ITEMS, queries=CLICKED, clicks=CLICKS)
        how = {"bytes": 4, "rounds": 2, "click_loss_weight": 0.5, "epochs": 1, "stop": 1}
        PARTS.update(
            words=tfidf(ITEMS), tokens=tokens(ITEMS), new=cold_item_boost(log),
            jpq=jpq(dense(ITEMS, encoder), log, **how),
            flat=dense(ITEMS, encoder), graph=dense(ITEMS, encoder, index="hnsw"),
            bm25=bm25(ITEMS), codes=dense(ITEMS, encoder, index="pq", bytes=4, rounds=2),
        )  # fmt: skip
        PARTS["typos"] = typo_tolerant(PARTS["bm25"])
        PARTS["moved"] = pefa_xs(PARTS["flat"], log, weight=0.4)
        PARTS["voted"] = pefa_xl(PARTS["codes"], log, weight=0.4, neighbors=5, votes="mean", near=0.0, threshold=0.0)
    return PARTS[name]


COMPOSED = {
    "sum": lambda get: get("words").normalized("zscore") + 0.5 * get("jpq").normalized("zscore"),
    "sum that lifts": lambda get: get("words").scaled() + 0.5 * get("new"),
    "ranks": lambda get: get("tokens").normalized("rank") + get("codes").normalized("rank"),
    "rerank": lambda get: get("words").rerank(get("jpq"), depth=10),
    "rerank of a union": lambda get: ((get("words") | get("tokens")) >> get("codes")) % 7,
    "scaled": lambda get: get("jpq").scaled("exp", slope=0.5),
    "past queries that vote": lambda get: get("voted"),
    "a sum with votes": lambda get: get("voted").normalized("zscore") + get("codes").normalized("zscore"),
    "vectors and words": lambda get: get("flat").normalized("zscore") + get("bm25").normalized("zscore"),
    "moved vectors": lambda get: (get("moved") | get("words")) >> get("flat"),
    "one part twice": lambda get: 0.5 * get("words") + 0.25 * (get("words") % 9),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_items_reach_every_part(name):
    composed = COMPOSED[name]
    apart = composed(lambda each: part(each).with_items(NEW))
    for given in (NEW, list(NEW.items()), iter(NEW.items()), [Item(id, text) for id, text in NEW.items()]):
        grown = composed(part).with_items(given)
        assert grown(QUERIES, 8) == apart(QUERIES, 8)
        assert grown.items[-3:] == list(NEW)


@pytest.mark.parametrize("name", COMPOSED)
def test_added_then_deleted_is_never_added(name):
    composed = COMPOSED[name](part)
    back = composed.with_items(NEW).without_items(NEW)
    assert back(QUERIES, 8) == composed(QUERIES, 8)
    assert list(back.items) == list(composed.items)


@pytest.mark.parametrize("name", COMPOSED)
def test_saved_and_loaded_it_answers_the_same(name, tmp_path):
    grown = COMPOSED[name](part).with_items(NEW).without_items([*list(ITEMS)[:3], "new 2"])
    grown.save(tmp_path / "grown")
    for mmap in (True, False):
        again = vizsla.load(tmp_path / "grown", mmap=mmap)
        assert again(QUERIES, 8) == grown(QUERIES, 8)
        assert list(again.items) == list(grown.items)


def test_a_part_that_stands_twice_stays_one():
    grown = COMPOSED["one part twice"](part).with_items(NEW)
    assert len({id(each) for each in _leaves(grown)}) == 1


def _leaves(composed):
    inner = getattr(composed, "parts", None)
    return [composed] if inner is None else [leaf for each in inner for leaf in _leaves(each)]


def test_parts_that_take_none_are_named():
    for other, named in (("typos", "TypoTolerant"), ("graph", "'hnsw'")):
        mixed = part("words").normalized() + part(other).normalized()
        with pytest.raises(InputError, match=named):
            mixed.with_items(NEW)
        with pytest.raises(InputError, match=named):
            mixed.without_items(list(ITEMS)[:1])
    overlap = FunctionScorer(lambda query, texts: [1.0 for _ in texts], ITEMS)
    with pytest.raises(InputError, match="FunctionScorer"):
        (part("words") >> overlap).with_items(NEW)


def test_misuse_is_said():
    composed = COMPOSED["sum"](part)
    for method, wrong in [("with_items", None), ("with_items", "abc"), ("with_items", {next(iter(ITEMS)): "x"})]:
        with pytest.raises(InputError, match="`items` must"):
            getattr(composed, method)(wrong)
    with pytest.raises(InputError, match="known id. Got 'nobody'"):
        composed.without_items(["nobody"])
    with pytest.raises(InputError, match="`ids` must"):
        composed.without_items("new 1")
    with pytest.raises(InputError, match="must be left"):
        composed.without_items(list(ITEMS))
    assert composed.without_items([])(QUERIES, 5) == composed(QUERIES, 5)
    with pytest.raises(InputError, match="`unknown` must"):
        composed.without_items(["nobody"], unknown="skip")
    ignoring = composed.without_items(["nobody", next(iter(ITEMS))], unknown="ignore")
    assert ignoring(QUERIES, 5) == composed.without_items([next(iter(ITEMS))])(QUERIES, 5)


def test_votes_for_items_that_went_are_gone():
    voted, gone = part("voted"), list(ITEMS)[:5]
    left = voted.without_items(gone)
    clicks = [click for click in voted_clicks() if click[1] not in gone]
    base = part("codes").without_items(gone)
    how = {"weight": 0.4, "neighbors": 5, "votes": "mean", "near": 0.0, "threshold": 0.0}
    assert left(QUERIES, 8) == pefa_xl(base, clicks, **how)(QUERIES, 8)
    assert len(left.log.items) == len(clicks) < len(voted.log.items)
    nested = (part("voted") >> part("codes")).with_items(NEW)
    assert nested.first.base is nested.scorer  # still one


def voted_clicks():
    log, items = part("voted").log, part("voted").items
    return list(
        zip(log.take_queries(log.rows), items.take(log.items), (log.units / WEIGHT_UNITS).tolist(), strict=True)
    )


def test_a_union_forgets_what_either_side_knows():
    both = tfidf({"a": "a fig", "b": "a pear"}) | tfidf({"b": "a pear", "c": "a plum"})
    assert list(both.without_items(["a"]).items) == ["b", "c"]
    assert list(both.without_items(["b"]).items) == ["a", "c"]


def test_shards_let_items_go_and_take_none():
    halves = [dict(list(ITEMS.items())[:30]), dict(list(ITEMS.items())[30:])]
    encoder = LsaEncoder.fit(ITEMS.values(), dim=16)
    whole = dense(ITEMS, encoder, index="pq", bytes=4, rounds=2)
    apart = vizsla.shards([whole.without_items(half) for half in reversed(halves)])
    gone = [list(ITEMS)[2], list(ITEMS)[40]]
    assert apart.without_items(gone)(QUERIES, 5) == whole.without_items(gone)(QUERIES, 5)
    with pytest.raises(InputError, match="to one shard"):
        apart.with_items(NEW)


def test_from_the_shell(tmp_path, capsys):
    from vizsla.cli import main

    COMPOSED["sum"](part).save(tmp_path / "sum")
    (tmp_path / "new.tsv").write_text("id\ttext\n" + "".join(f"{id}\t{text}\n" for id, text in NEW.items()))
    main(["add", str(tmp_path / "sum"), str(tmp_path / "new.tsv"), "-o", str(tmp_path / "more")])
    assert "3 added" in capsys.readouterr().out
    assert main(["remove", str(tmp_path / "more"), "nobody", "nothing", *NEW, "-o", str(tmp_path / "back")]) != 0
    assert "'nobody'" in capsys.readouterr().err
    command = ["remove", str(tmp_path / "more"), "nobody", *NEW, "--unknown", "ignore", "-o", str(tmp_path / "back")]
    main(command)
    assert "3 removed" in capsys.readouterr().out
    assert vizsla.load(tmp_path / "back")(QUERIES, 5) == COMPOSED["sum"](part)(QUERIES, 5)
