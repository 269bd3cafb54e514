"""What people expect of a search, on the command line: signs, adjustments, confidence, similar items, and engines."""

from __future__ import annotations

import json
import random

import pytest

from vizsla import adjust, load
from vizsla.cli import main

ITEMS = """id,title,text,sold,brand
a,Flat TV,a bright screen,3,Acme
b,Television,small and light,900,Best
c,Stand for a TV,holds any flat screen,12,Best
"""
RULES = """
synonyms = ["tv, television"]

[[signals]]
field = "sold"
shape = "log"
weight = 0.2

[[rules]]
query = "tv"
ban = ["c"]
"""


@pytest.fixture
def shop(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text(ITEMS)
    (tmp_path / "shop.toml").write_text(RULES)
    assert main(["index", "bm25", "items.csv", "--keep-texts", "-o", "shop.idx"]) == 0
    assert main(["engine", "create", "live", "--member", "words=bm25"]) == 0
    assert main(["engine", "add", "live", "items.csv"]) == 0
    capsys.readouterr()
    return tmp_path


def hits(capsys, *arguments):
    assert main([*arguments, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return lines[0].get("hits", lines) if lines else []


def ids(capsys, *arguments):
    return [hit["id"] for hit in hits(capsys, *arguments)]


@pytest.mark.parametrize("verb", [("search", "shop.idx"), ("search", "live"), ("engine", "search", "live")])
def test_signs_filter_and_reasons_are_told(shop, capsys, verb):
    assert ids(capsys, *verb, '"flat screen"') == ["c"]
    assert ids(capsys, *verb, "screen brand:acme") == ["a"]
    assert sorted(ids(capsys, *verb, '"flat screen"', "--syntax", "plain")) == ["a", "c"]
    assert ids(capsys, *verb, "screen -flat") == [] and ids(capsys, *verb, "flat -acme", "--facets", "brand")
    (hit,) = hits(capsys, *verb, '"flat screen"', "--explain")
    assert hit["why"]["score"] == pytest.approx(hit["score"])
    assert main([*verb, "screen", "--explain", "--sort", "sold:desc"]) == 0
    assert "'screen': in 2 of 3 items" in capsys.readouterr().out


def test_answers_are_adjusted_when_asked_saved_and_in_an_engine(shop, capsys):
    wanted = adjust(load("shop.idx"), "shop.toml")("tv").ids[0]
    assert wanted == ["b", "a"]
    assert ids(capsys, "search", "shop.idx", "tv", "--adjust", "shop.toml") == wanted
    assert main(["compose", "a", "--let", "a=shop.idx", "--adjust", "shop.toml", "-o", "adjusted.idx"]) == 0
    capsys.readouterr()
    assert ids(capsys, "search", "adjusted.idx", "tv") == wanted
    for _ in range(2):  # the second time, in place of itself
        assert main(["engine", "adjust", "live", "shop.toml", "--default"]) == 0
        assert "adjusted is words with Adjustments(1 synonyms, 1 signals, 1 rules)" in capsys.readouterr().out
        assert ids(capsys, "search", "live", "tv") == wanted
    assert ids(capsys, "engine", "search", "live", "tv", "--using", "words") == ["a", "c"]
    assert main(["engine", "adjust", "live", "shop.toml", "--name", "words"]) == 2
    assert "Got 'words': drop it." in capsys.readouterr().err


def test_similar_items_stand_in_place_of_a_query(shop, capsys):
    wanted = load("shop.idx").similar("a").ids[0]
    for verb in (("search", "shop.idx"), ("search", "live"), ("engine", "search", "live")):
        assert ids(capsys, *verb, "--similar", "a") == wanted
    for wrong in ((), ("tv", "--similar", "a"), ("--similar", "a", "--sort", "sold"), ("--similar", "a", "--explain")):
        assert main(["engine", "search", "live", *wrong]) == 2
    assert main(["search", "live", "--similar", "a", "-k", "1"]) == 0
    assert "Stand for a TV" in capsys.readouterr().out
    assert main(["search", "shop.idx", "tv", "--similar", "a"]) == 2
    assert "`--similar` must stand without a query" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [("search", "shop.idx"), ("search", "live"), ("engine", "search", "live")])
def test_groups_say_how_many_more_there_are(shop, capsys, verb):
    asked = [*verb, "screen", "--distinct", "brand", "--syntax", "plain"]
    assert main(asked) == 0
    assert "more" not in capsys.readouterr().out
    for shown in ([], ["--show", "title,sold"]):
        assert main([*verb, "tv television", "--distinct", "brand", "--syntax", "plain", *shown]) == 0
        told = capsys.readouterr().out
        assert told.count("+1 more") == 1 and "3 found in 2 groups" in told


def test_confidence_is_learned_and_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pick, words = random.Random(0), [f"word{number}" for number in range(60)]
    texts = {f"i{number}": " ".join(pick.sample(words, 8)) for number in range(120)}
    log = [f"{' '.join(pick.sample(text.split(), 4))},{item}\n" for item, text in list(texts.items()) * 2]
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"{id},{text}\n" for id, text in texts.items()))
    (tmp_path / "log.csv").write_text("query,item\n" + "".join(log))
    assert main(["index", "bm25", "items.csv", "-o", "words.idx"]) == 0
    given = ["--let", "a=words.idx", "--confidence", "-o", "sure.idx"]
    assert main(["compose", "a", *given]) == 2
    assert "`--confidence` must be learned on clicks" in capsys.readouterr().err
    assert main(["compose", "a", *given, "--learn", "items.csv", "--clicks", "log.csv"]) == 0
    assert "calibration error" in capsys.readouterr().out
    every = hits(capsys, "search", "sure.idx", "word1 word2")
    assert all(0 <= hit["confidence"] <= 1 for hit in every)
    least = every[0]["confidence"]
    sure = hits(capsys, "search", "sure.idx", "word1 word2", "--min-confidence", str(least))
    assert 0 < len(sure) < len(every) and all(hit["confidence"] >= least for hit in sure)


@pytest.mark.parametrize("asked", ["tv\n+small\n", "+small\ntv\n"])
def test_signs_of_any_query_are_words_where_texts_are_not_kept(shop, capsys, asked):
    assert main(["index", "bm25", "items.csv", "-o", "short.idx"]) == 0
    (shop / "asked.txt").write_text(asked)
    assert main(["search", "short.idx", "--queries", "asked.txt", "--json"]) == 0
    shown = capsys.readouterr()
    assert "read as words" in shown.err
    found = {line["query"]: {hit["id"] for hit in line["hits"]} for line in map(json.loads, shown.out.splitlines()[1:])}
    assert found == {"tv": {"a", "c"}, "+small": {"b"}}


@pytest.mark.parametrize("verb", [("search", "shop.idx"), ("search", "live"), ("engine", "search", "live")])
def test_ids_may_be_among_the_fields_that_are_shown(shop, capsys, verb):
    assert main([*verb, "television", "--show", "id,brand"]) == 0
    assert "Best" in capsys.readouterr().out
    (hit,) = hits(capsys, *verb, "television", "--show", "id,brand", "--facets", "brand")
    assert hit["metadata"] == {"brand": "Best"}


def test_what_was_meant_is_in_the_json(shop, capsys):
    assert main(["index", "bm25", "items.csv", "--keep-texts", "--typos", "-o", "typos.idx"]) == 0
    capsys.readouterr()
    for more in ([], ["--facets", "brand"]):
        assert main(["search", "typos.idx", "televsion -holds", "--json", *more]) == 0
        assert json.loads(capsys.readouterr().out)["hints"] == ["Did you mean 'television -holds'?"]
