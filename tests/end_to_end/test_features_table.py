"""The table of features by interface is true: each interface answers by the option that the table names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import vizsla
from tests.serve.services import serving
from vizsla.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "features.md"
ITEMS = """id,title,text,brand,price,released,sold
tv,Flat television,A bright screen for the kitchen,Acme,299,2026-03-01,40
small,Small television,Light and cheap,Best,189,2024-11-20,900
stand,Television stand,Steel and holds any flat screen,Best,49,2025-06-05,120
radio,Kitchen radio,Loud,Acme,30,2026-01-15,310
"""
NOTES = "# Radio\n\nTune it slowly. Then listen.\n\n# Screens\n\nClean them.\n"
ADJUST = {
    "synonyms": ["telly => television"],
    "signals": [{"field": "sold", "shape": "log"}],
    "rules": [{"query": "telly", "pin": ["stand"], "ban": ["tv"]}],
}
CLICKS = "query,item\n" + "".join(
    f"{q} {n},{i}\n" for n in range(20) for q, i in [("kitchen", "radio"), ("flat", "tv")]
)

ASKED = {
    "Filter": ("television", {"where": vizsla.where("price<200")}, ["--where", "price<200"], {"where": "price<200"}),
    "Signs of web search": ('television -"flat screen"', {"syntax": "web"}, [], {}),
    "Weighted fields": ("kitchen", {}, [], {}),
    "Typos": ("televsion kichen", {}, [], {}),
    "Did you mean": ("televsion", {}, [], {}),
    "Pages and totals": ("television", {"offset": 1}, ["--offset", "1"], {"offset": 1}),
    "Facets": (
        "television",
        {"facets": ["brand", "price:2"]},
        ["--facets", "brand,price:2"],
        {"facets": ["brand", "price:2"]},
    ),
    "Sorting": ("television", {"sort": "price:desc"}, ["--sort", "price:desc"], {"sort": ["price:desc"]}),
    "Groups": ("television", {"distinct": "brand"}, ["--distinct", "brand"], {"group": "brand"}),
    "Highlights and snippets": ("television", {"highlight": True}, ["--highlight"], {"highlights": True}),
    "Synonyms, signals, rules": ("telly", {}, ["--adjust", "adjust.json"], {}),
    "Confidence": ("kitchen", {"min_confidence": 0.01}, ["--min-confidence", "0.01"], {"min_confidence": 0.01}),
    "Explanations": ("television", {}, ["--explain"], {"explain": True}),
    "Sections and documents": ("listen", {"parent": "section"}, ["--parent", "section"], {"parent": "section"}),
}
"""Of each feature a query, the options of a page in Python, those of the command, and those of a request."""
WANTED = {
    "Filter": lambda page: sorted(ids(page)) == ["small", "stand"],
    "Signs of web search": lambda page: sorted(ids(page)) == ["small", "tv"],
    "Weighted fields": lambda page: ids(page) == ["radio", "tv"],
    "Typos": lambda page: ids(page)[0] == "tv" and len(ids(page)) == 4,
    "Did you mean": lambda page: page["hints"] == ["Did you mean 'television'?"],
    "Pages and totals": lambda page: page["total"] == 3 and page["offset"] == 1 and len(ids(page)) == 2,
    "Facets": lambda page: [each["count"] for each in page["facets"]["brand"]["values"]] == [2, 1],
    "Sorting": lambda page: ids(page) == ["tv", "small", "stand"],
    "Groups": lambda page: page["groups"] == 2 and sorted(hit["more"] for hit in page["hits"]) == [0, 1],
    "Highlights and snippets": lambda page: all(hit["highlights"]["title"] and hit["snippet"] for hit in page["hits"]),
    "Synonyms, signals, rules": lambda page: ids(page) == ["stand", "small"],
    "Confidence": lambda page: all(0.01 <= hit["confidence"] <= 1 for hit in page["hits"]),
    "Explanations": lambda page: all(hit["why"]["score"] == pytest.approx(hit["score"], 1e-5) for hit in page["hits"]),
    "Sections and documents": lambda page: page["hits"][0]["parent"] == "Tune it slowly. Then listen.",
}
OTHERS = {"Completion", "More like this"}
MEMBER = {"Synonyms, signals, rules": "adjusted", "Confidence": "sure"}


def ids(page):
    return [hit["id"] for hit in page["hits"]]


def rows():
    lines = PAGE.read_text(encoding="utf-8").split("## By kind")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return {re.sub(r"\[(.*)\]\(.*\)", r"\1", name): each for name, *each in cells[2:]}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("shop"))
        Path("items.csv").write_text(ITEMS)
        Path("clicks.csv").write_text(CLICKS)
        Path("adjust.json").write_text(json.dumps(ADJUST))
        Path("notes").mkdir()
        Path("notes/radio.md").write_text(NOTES)
        meta = ["--meta", "brand,price:number,released,sold:number", "--keep-texts"]
        assert main(["index", "bm25", "items.csv", "--text", "title^3,text", *meta, "--typos", "-o", "shop.idx"]) == 0
        assert main(["index", "bm25", "notes", "--keep-texts", "--passage-size", "4", "-o", "notes.idx"]) == 0
        dataset = vizsla.open_dataset("items.csv", clicks="clicks.csv")
        vizsla.load("shop.idx").with_confidence(dataset).save("sure.idx")
        weighed = vizsla.Recipe.of("bm25", fields={"title": 3, "text": 1})
        words = {"words": vizsla.Recipe.of("bm25"), "weighed": weighed}
        with vizsla.Engine.create(
            "live", members={**words, "typos": vizsla.Recipe.of("typo_tolerant", base="words")}
        ) as live:
            live.add(list(vizsla.open_dataset("items.csv", meta=["brand", "price", "released", "sold"]).items))
            live.rebuild()
            live.add_member("adjusted", vizsla.adjust(live.member("typos"), ADJUST))
            live.add_member("sure", live.member("words").with_confidence(dataset))
        with vizsla.Engine.create("followed", members={"words": vizsla.Recipe.of("bm25")}) as followed:
            followed.sync("notes", passage_size=4)
        yield


def target(name, *, live):
    if name == "Sections and documents":
        return "followed" if live else "notes.idx"
    if live:
        return "live"
    return "sure.idx" if name == "Confidence" else "shop.idx"


def in_python(name, search, using=None):
    query, options, _, _ = ASKED[name]
    if name == "Synonyms, signals, rules" and using is None:
        search = vizsla.adjust(search, "adjust.json")
    page = search.page(query, **options, **({"using": using} if using else {})).to_dict()
    for hit in page["hits"] if name == "Explanations" else ():
        hit["why"] = search.explain(query, hit["id"]).to_dict()
    return page


def by_command(name, capsys):
    query, _, options, _ = ASKED[name]
    paged = [] if name == "Sections and documents" else ["--facets", "brand"] if "--facets" not in options else []
    capsys.readouterr()
    assert main(["search", target(name, live=False), query, *options, *paged, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def served(name, live):
    query, _, _, body = ASKED[name]
    using = {"using": MEMBER[name]} if name in MEMBER else {"using": "weighed"} if name == "Weighted fields" else {}
    with serving(target(name, live=live)) as client:
        found = client.post("/v1/search", json={"query": query, **using, **body})
        assert found.status_code == 200, found.text
        page = found.json()
    return {**page, "hits": page["results"]}


@pytest.mark.parametrize("name", ASKED)
def test_every_interface_gives_the_answer(shop, capsys, name):
    holds = WANTED[name]
    assert holds(in_python(name, vizsla.load(target(name, live=False))))
    assert holds(by_command(name, capsys))
    with vizsla.Engine.open(target(name, live=True)) as engine:
        member = {**MEMBER, "Weighted fields": "weighed"}.get(name) or engine.generation().default
        assert holds(in_python(name, engine, member))
    assert holds(served(name, live=True))


def test_completion_and_similar_items_where_the_table_has_them(shop, capsys):
    with vizsla.Engine.open("live") as engine:
        wanted, alike = engine.complete("small"), engine.similar("stand").ids[0]
    assert wanted == ["Small television"] and alike[0] in ("tv", "small") and "stand" not in alike
    assert vizsla.Completer.of(vizsla.open_dataset("items.csv"))("small") == wanted
    assert vizsla.load("shop.idx").similar("stand").ids[0][0] in ("tv", "small")
    capsys.readouterr()
    assert main(["complete", "live", "small"]) == main(["search", "shop.idx", "--similar", "stand"]) == 0
    assert "Small television" in capsys.readouterr().out
    with serving("live") as client:
        assert client.get("/v1/complete", params={"q": "small"}).json()["completions"] == wanted


def test_the_table_names_these_features_and_real_options():
    table = rows()
    assert table.keys() == ASKED.keys() | OTHERS
    for name, (_, options, command, body) in ASKED.items():
        python, shell, live, service = table[name]
        assert all(option in python and option in live for option in options)
        assert all(option in shell for option in command if option.startswith("--"))
        assert all(option in service for option in body) or name in MEMBER
    assert [name for name, cells in table.items() if "–" in cells] == ["More like this"]
