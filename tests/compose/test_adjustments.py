"""Synonyms, signals and rules over any retriever: what they change, and that the laws hold."""

import json

import numpy as np
import pytest

import vizsla
from vizsla import Dataset, Recipe, adjust, bm25, signal, tfidf, typo_tolerant
from vizsla.compose.adjustments import Adjustments, Synonyms
from vizsla.engine.engine import Engine
from vizsla.errors import DataError, InputError

ITEMS = [
    {"id": "tv", "text": "a flat tv", "sold": 10, "released": "2026-01-01", "brand": "Acme"},
    {"id": "television", "text": "a large television", "sold": 1000, "released": "2025-12-02", "brand": "Best"},
    {"id": "stand", "text": "a stand for a tv", "sold": 100, "released": "2024-01-01", "brand": "Best"},
    {"id": "lamp", "text": "a lamp", "sold": None, "released": None, "brand": "Acme"},
]
EVERYTHING = {
    "synonyms": ["tv, television^0.5"],
    "signals": [{"field": "sold", "shape": "log", "weight": 0.3}, {"field": "released", "half_life_days": 30}],
    "rules": [
        {"name": "winter", "query": "TV ", "pin": ["lamp"], "ban": ["stand"]},
        {"pattern": "^(tv|lamp)", "boost": "brand = Best", "by": 0.25},
    ],
}


def shop():
    return Dataset.of(ITEMS)


def test_synonyms_in_the_format_of_solr():
    found = Synonyms.of(
        ["", "# comment", "tv, television , telly # both ways", "i-pod, i pod => ipod", "a => b^0.5, c"]
    )
    assert found.applied("a big TV") == ("c big TV", [("b", 0.5), ("television", 1.0), ("telly", 1.0)])
    assert found.applied("my I Pod") == ("my ipod", [])
    assert found.applied("ipod television") == ("ipod television", [("tv", 1.0), ("telly", 1.0)])
    assert found.applied("nothing  here") == ("nothing  here", [])
    with pytest.raises(DataError, match="two sides"):
        Synonyms.of(["a =>"])
    with pytest.raises(InputError, match="weight of a synonym"):
        Synonyms.of(["a, b^x"])


@pytest.mark.parametrize("query", ["c++, 2^8", "(C++, 2^8)?"])
def test_a_backslash_takes_the_sign_behind_it_as_it_is(query):
    search = adjust(bm25({"a": "powers of two", "b": "nothing"}), {"synonyms": [r"c++\, 2\^8 => powers"]})
    assert search(query).ids == [["a"]]
    plain = Synonyms.of([r"a\=>b \# c => d, back\\slash"])
    assert plain.replaced == {"a=>b # c": [("d", 1.0), ("back\\slash", 1.0)]}


def test_words_that_have_synonyms_are_not_said_to_be_misspelled():
    base = typo_tolerant(bm25({"a": "a loud speaker", "b": "a running shoe", "c": "some headphones"}))
    search = adjust(base, {"synonyms": ["sneaker => shoe", "earphones, headphones"]})
    assert base("sneaker").hints == ("Did you mean 'speaker'?",) and search("sneaker").hints == ()
    assert search("sneaker").ids == [["b"]] and search("earphones").hints == ()
    assert search("sneaker louud").hints == ("Did you mean 'sneaker loud'?",)


def test_a_weighted_synonym_adds_its_share():
    base = bm25(shop())
    search = adjust(base, {"synonyms": ["tv, television^0.5"]})
    scores = {hit.id: hit.score for hit in search("tv")[0]}
    plain = {hit.id: hit.score for hit in base("tv")[0]}
    other = {hit.id: hit.score for hit in base("television")[0]}
    assert scores == pytest.approx({**plain, "television": 0.5 * other["television"]})


def test_signals_are_bounded_and_computed_by_hand():
    sold = signal(shop(), "sold", shape="log")
    assert sold.values.tolist() == pytest.approx([np.log(11) / np.log(1001), 1.0, np.log(101) / np.log(1001), 0.0])
    recent = signal(shop(), "released", half_life_days=30)
    assert recent.values[:2].tolist() == pytest.approx([1.0, 0.5])  # 30 days before the last
    assert recent.values[3] == 0
    assert signal(shop(), "released", half_life_days=30, now="2026-01-31").values[0] == pytest.approx(0.5)
    assert signal(shop(), "sold", shape="inverse").values[0] == 1.0
    for bad in ({"shape": "cubic"}, {"half_life_days": 0}, {"now": "2026-01-01"}):
        with pytest.raises(InputError):
            signal(shop(), "sold", **bad)
    with pytest.raises(InputError, match="numbers or dates"):
        signal(shop(), "brand")


def test_a_signal_is_a_term_of_a_sum(tmp_path):
    both = bm25(shop()).scaled() + 0.2 * signal(shop(), "sold", shape="log")
    assert both("tv").ids == [["stand", "tv"]]
    assert set(both("tv", k=4).ids[0]) == {"tv", "stand"}  # it proposes nothing
    both.save(tmp_path / "sum")
    assert np.array_equal(vizsla.load(tmp_path / "sum")("tv").scores, both("tv").scores)
    assert both.recipe.build(shop())("tv").ids == both("tv").ids
    why = both.explain("tv", "stand")
    assert sum(part.score for part in why.parts) == pytest.approx(why.score, rel=1e-5)


def test_rules_pin_ban_and_boost():
    search = adjust(bm25(shop()), EVERYTHING)
    assert search("tv").ids == [["lamp", "tv", "television"]]
    assert set(search("tv stand").ids[0]) == {"tv", "television", "stand"}  # the first rule is for another query
    assert search("tv", where=["tv", "stand"]).ids == [["tv"]]  # neither a pin nor a boost breaks a filter
    assert search("tv", k=1).ids == [["lamp"]]


@pytest.mark.parametrize("make", [bm25, tfidf, lambda items: bm25(items).normalized() + tfidf(items).normalized()])
def test_laws_hold_over_every_retriever(make):
    search = adjust(make(shop()), EVERYTHING)
    for query in ("tv", "tv stand", "lamp"):
        found = search(query, k=4)
        assert list(found.scores) == sorted(found.scores, reverse=True)
        if not search.parts[0].is_composite:
            assert np.array_equal(search.score([query], found).scores, found.scores)
        for hit in found[0]:
            why = search.explain(query, hit.id)
            assert why.score == pytest.approx(hit.score, rel=1e-5)
            if why.parts:
                assert sum(part.score for part in why.parts) == pytest.approx(why.score, rel=1e-5)
        some = [id for id in found.ids[0] if id != "tv"]
        assert search(query, k=4, where=some).ids[0] == some or search.parts[0].is_composite


def test_one_file_holds_all(tmp_path):
    (tmp_path / "shop.json").write_text(json.dumps(EVERYTHING))
    toml = """
    synonyms = ["tv, television^0.5"]
    [[signals]]
    field = "sold"
    shape = "log"
    weight = 0.3
    [[signals]]
    field = "released"
    half_life_days = 30
    [[rules]]
    name = "winter"
    query = "TV "
    pin = ["lamp"]
    ban = ["stand"]
    [[rules]]
    pattern = "^(tv|lamp)"
    boost = "brand = Best"
    by = 0.25
    """
    (tmp_path / "shop.toml").write_text(toml)
    (tmp_path / "synonyms.txt").write_text("tv, television^0.5\n")
    wanted = adjust(bm25(shop()), EVERYTHING)
    for name in ("shop.json", "shop.toml"):
        found = adjust(bm25(shop()), tmp_path / name)
        assert found("tv").ids == wanted("tv").ids
        assert np.array_equal(found("tv").scores, wanted("tv").scores)
    assert adjust(bm25(shop()), tmp_path / "synonyms.txt").adjustments.lines == ["tv, television^0.5"]
    (tmp_path / "twice.json").write_text('{"synonyms": ["tv, television"], "synonyms": ["bag, sack"]}')
    with pytest.raises(DataError, match="not sound .*'synonyms' is given twice"):
        adjust(bm25(shop()), tmp_path / "twice.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match="not sound"):
        adjust(bm25(shop()), tmp_path / "bad.json")


@pytest.mark.parametrize(
    "bad",
    [
        {"rulez": []},
        {"rules": [{"query": "a"}]},
        {"rules": [{"pattern": "(", "pin": ["a"]}]},
        {"rules": [{"pin": "a"}]},
        {"rules": [{"boost": "brand ="}]},
        {"signals": [{"shape": "log"}]},
        {"signals": [{"field": "sold", "weight": "much"}]},
        {"synonyms": "a, b"},
    ],
)
def test_bad_adjustments_are_refused(bad):
    with pytest.raises(InputError):
        Adjustments(bad)


def test_saved_loaded_and_built_again(tmp_path):
    search = adjust(bm25(shop()), EVERYTHING)
    search.save(tmp_path / "a")
    loaded = vizsla.load(tmp_path / "a")
    for query in ("tv", "lamp"):
        assert loaded(query).ids == search(query).ids
        assert np.array_equal(loaded(query).scores, search(query).scores)
        assert np.array_equal(search.recipe.build(shop())(query).scores, search(query).scores)
    assert Recipe.from_dict(search.recipe.to_dict()) == search.recipe


def test_in_an_engine(tmp_path):
    search = adjust(bm25(shop()), EVERYTHING)
    with Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25"), "shop": search.recipe}) as engine:
        engine.add(list(shop().items))
        engine.rebuild()
        assert engine.search("tv", using="shop").ids == search("tv").ids


def test_a_number_sign_inside_a_word_of_a_synonym_is_part_of_a_word():
    assert Adjustments({"synonyms": ["# a comment", "c#, csharp # alike"]}).synonyms.added["c#"] == [("csharp", 1.0)]


def test_a_synonym_counts_beside_a_query_whose_list_is_short():
    """On the scale of a list that ends at 0, an item that only a synonym finds is not far below all others."""
    items = {"one": "tv set", "two": "tv", "other": "television", "none": "lamp"}
    base = 0.5 * bm25(items).normalized() + 0.5 * bm25(items, b=0).normalized()
    search = adjust(base, {"synonyms": ["tv, television"]})
    found = search("tv").to_dict()["0"]
    plain = base("tv").to_dict()["0"]
    assert base.score("tv", ["other"]).scores[0] < 0
    assert found["other"] == pytest.approx(1.0) and found["two"] == pytest.approx(plain["two"]) and "none" not in found
    for item, score in found.items():
        why = search.explain("tv", item)
        assert why.score == pytest.approx(score) and sum(part.score for part in why.parts) == pytest.approx(score)


def test_rules_may_ban_and_pin_items_that_are_not_there_and_stand_in_their_order():
    rules = [
        {"name": "first", "query": "tv", "pin": ["gone", "lamp"], "ban": ["nowhere", "stand"]},
        {"pattern": "tv", "pin": ["television"]},
        {"name": "third", "query": "tv", "pin": ["tv"]},
    ]
    search = adjust(bm25(shop()), {"rules": rules})
    assert search("tv").ids[0][:3] == ["lamp", "television", "tv"] and "stand" not in search("tv").ids[0]
    turned = adjust(bm25(shop()), {"rules": rules[::-1]})
    assert turned("tv").ids[0][:3] == ["tv", "television", "lamp"]


def test_weights_of_signals_are_learned_by_fuse(tmp_path):
    draw = np.random.default_rng(3)
    words = ["fig", "tree", "lamp", "red", "blue", "small"]
    items = [
        {"id": f"i{n}", "text": " ".join(draw.choice(words, 4)), "sold": int(draw.integers(1000)), "age": int(n)}
        for n in range(200)
    ]
    clicks = []
    for number in range(200):
        asked = {str(word) for word in draw.choice(words, 2, replace=False)}
        held = [item for item in items if asked <= set(item["text"].split())]
        if held:
            best = max(held, key=lambda item: item["sold"])
            clicks.append((" ".join([*sorted(asked), f"x{number}"]), best["id"]))
    dataset = Dataset.of(items, clicks=clicks, keep_texts=True)
    fused = vizsla.fuse([bm25(dataset), signal(dataset, "sold", shape="log"), signal(dataset, "age")], dataset)
    learned = {str(part).split(",")[0]: weight for part, weight in zip(fused.parts, fused.weights, strict=True)}
    sold, age = learned["Signal(sold"], learned.get("Signal(age", 0.0)
    assert sold > 2 * age  # clicks follow what was sold, and not what is old
    fused.save(tmp_path / "fused.idx")
    assert vizsla.load(tmp_path / "fused.idx")("fig tree").ids == fused("fig tree").ids != bm25(dataset)("fig tree").ids
