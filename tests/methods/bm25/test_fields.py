"""BM25F: one posting list per word, frequencies weighted and normalized per field before saturation."""

from math import log

import numpy as np
import pytest

import vizsla
from vizsla.base.recipe import Recipe
from vizsla.compose.shards import shards
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.learning.selection import ChoiceWarning
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import VARIANTS, Statistics, Weighting
from vizsla.text.analyzers import Analyzer, AnyLanguage
from vizsla.text.fields import FieldWeights, resolved

WORDS = Analyzer()
SHOP = [
    {"id": "fig", "title": "fig tree", "description": "a tree that gives figs and a fig"},
    {"id": "oak", "title": "oak", "description": "a tall tree"},
    {"id": "jam", "title": "fig jam", "description": ""},
]


def shop():
    return Dataset.of(SHOP)


def random_items(seed=0, count=300, vocabulary=40):
    rng = np.random.default_rng(seed)
    words = [f"w{number}" for number in range(vocabulary)]

    def text(most):
        return " ".join(rng.choice(words, rng.integers(0, most)))

    return [
        {"id": f"i{number}", "title": text(4) or "w0", "text": text(20), "tags": text(3)} for number in range(count)
    ]


def twin(items, fields, query, *, b, k1=1.5, variant="lucene", delta=0.5):
    """The formula in plain Python: {id: score} of all items."""
    names = list(fields)
    rows = {item["id"]: {name: item.get(name, "").split() for name in names} for item in items}
    means = {}
    for name in names:
        lengths = [len(row[name]) for row in rows.values() if row[name]]
        means[name] = sum(lengths) / len(lengths)
    how, scores = Weighting(variant, k1, 0.75, delta), {}
    for id, row in rows.items():
        score = 0.0
        for word in query.split():
            holders = sum(any(word in texts for texts in other.values()) for other in rows.values())
            idf = float(how.idf(np.array([holders]), len(rows))[0])
            frequency = sum(
                weight * row[name].count(word) / (1 - b[name] + b[name] * len(row[name]) / means[name])
                for name, weight in fields.items()
                if row[name]
            )
            rate = k1 + delta if variant == "bm25l" else k1
            gain, absent = float(how.gains(np.array([idf]))[0]), how.absent(np.array([idf]))
            score += gain * frequency / (frequency + rate) + (0.0 if absent is None else float(absent[0]))
        scores[id] = score
    return scores


def test_a_score_computed_by_hand():
    search = bm25(shop(), analyzer=WORDS, fields={"title": 3, "description": 1}, b=0.75)
    # "tree": in 2 of 3 items. In `fig`: once in the title (2 words; mean 5/3), once in the description (8; mean 5.5).
    idf = log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    frequency = 3 * 1 / (0.25 + 0.75 * 2 / (5 / 3)) + 1 * 1 / (0.25 + 0.75 * 8 / 5.5)
    expected = idf * frequency / (frequency + 1.5)
    found = search("tree")
    assert found.ids == [["fig", "oak"]]
    assert found.scores[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("variant", VARIANTS)
def test_equals_the_formula_in_plain_python(variant):
    items = random_items(count=100)
    fields, b = {"title": 3.0, "text": 1.0, "tags": 0.5}, {"title": 0.2, "text": 0.9, "tags": 0.0}
    search = bm25(Dataset.of(items), analyzer=WORDS, fields=fields, b=b, variant=variant)
    for query in ("w1", "w3 w7", "w0 w0 w39 w5"):
        expected = twin(items, fields, query, b=b, variant=variant)
        exact = search.exact(query, k=len(items))
        assert {hit.id: hit.score for hit in exact[0]} == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_one_field_of_weight_1_is_bm25():
    items = [item for item in random_items(3) if item["text"]]
    data = Dataset.of([{"id": item["id"], "text": item["text"]} for item in items])
    plain, fielded = bm25(data, analyzer=WORDS), bm25(data, analyzer=WORDS, fields={"text": 1})
    for query in ("w1 w2", "w9"):
        one, other = plain(query, k=300), fielded(query, k=300)
        assert np.allclose(one.scores, other.scores, rtol=1e-5)


def test_saturation_comes_after_the_sum_of_the_fields():
    summed_up = bm25(shop(), analyzer=WORDS, fields={"title": 1, "description": 1}).exact("fig", k=3)
    alone = [bm25(shop(), analyzer=WORDS, fields={name: 1}).exact("fig", k=3) for name in ("title", "description")]
    added = sum(next(hit.score for hit in one[0] if hit.id == "fig") for one in alone)
    assert next(hit.score for hit in summed_up[0] if hit.id == "fig") < added


def test_laws_search_score_filter_and_explain():
    search = bm25(Dataset.of(random_items(5)), fields={"title": 3, "text": 1, "tags": 2})
    for query in ("w1 w2", "w30 w31 w4"):
        found = search(query, k=50)
        assert np.array_equal(search.score([query], found).scores, found.scores)
        some = [id for id in found.ids[0] if int(id[1:]) % 2]
        assert search(query, k=50, where=some).ids[0] == some
        for hit in found[0][:3]:
            why = search.explain(query, hit.id)
            assert why.score == pytest.approx(hit.score, rel=1e-6)
            assert sum(part.score for part in why.parts) == pytest.approx(why.score, rel=1e-5)
            for part in why.parts:
                if part.score:
                    assert sum(field.score for field in part.parts) == pytest.approx(part.score, rel=1e-5)


def test_saved_and_loaded(tmp_path):
    search = bm25(shop(), fields="title^3,description", b={"title": 0.4, "description": 0.8})
    search.save(tmp_path / "a")
    loaded = vizsla.load(tmp_path / "a")
    assert loaded.fields == search.fields
    assert np.array_equal(loaded("fig tree").scores, search("fig tree").scores)
    assert str(loaded.explain("fig", "fig")) == str(search.explain("fig", "fig"))
    assert loaded.recipe == search.recipe
    assert loaded.recipe == Recipe.from_dict(search.recipe.to_dict())
    assert np.array_equal(loaded.recipe.build(shop())("fig tree").scores, search("fig tree").scores)


def test_shards_that_share_statistics_are_the_whole():
    items = random_items(7)
    fields = {"title": 3, "text": 1}
    whole = bm25(Dataset.of(items), analyzer=WORDS, fields=fields)
    halves = [Dataset.of(items[:140]), Dataset.of(items[140:])]
    counted = [Statistics.of(half, analyzer=WORDS, fields=fields) for half in halves]
    both = counted[0].merged(counted[1])
    parts = shards([bm25(half, statistics=both, fields=fields) for half in halves])
    for query in ("w1 w2", "w17"):
        one, other = whole(query, k=40), parts(query, k=40)
        assert one.ids == other.ids
        assert np.array_equal(one.scores, other.scores)
    with pytest.raises(InputError, match="must count the fields title, text"):
        bm25(halves[0], statistics=Statistics.of(halves[0], analyzer=WORDS), fields=fields)


def test_an_item_has_one_language_in_all_fields():
    items = [
        {"id": "en", "title": "Running", "text": "the dogs are running in the park and the cat is not"},
        {"id": "de", "title": "Laufen", "text": "die Hunde laufen in dem Park und die Katze ist nicht da"},
    ]
    analyzer = AnyLanguage(["english", "german"])
    search = bm25(Dataset.of(items), analyzer=analyzer, fields={"title": 2, "text": 1})
    joined = bm25(Dataset.of(items), analyzer=analyzer)
    assert search.statistics.languages.documents.tolist() == joined.statistics.languages.documents.tolist() == [1, 1]
    assert search("dogs running", k=1).ids == [["en"]]
    assert search("Hunde laufen", k=1).ids == [["de"]]
    why = search.explain("Hunde laufen", "de")
    assert sum(field.score for part in why.parts for field in part.parts) == pytest.approx(why.score, rel=1e-5)


def test_weights_are_learned_from_clicks():
    # The title has one word of noise, and the text names every item's word: only titles tell what was meant.
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(60)]
    items = [{"id": word, "title": word, "text": " ".join(rng.choice(words, 8)) + f" {word}"[: rng.integers(0, 2)]}
             for word in words]  # fmt: skip
    clicks = [(word, word, 1) for word in words]
    data = Dataset.of(items, clicks=clicks)
    search = bm25(data, analyzer=WORDS, fields="learn")
    assert search.report is not None
    assert search.report.chosen["all"] == 1.0
    weights = {field.name: field.weight for field in search.fields}
    assert weights["title"] > weights.get("text", 0.0)
    assert search.recipe.settings["fields"] == weights
    again = search.recipe.build(data)
    assert np.array_equal(again("w3 w5", k=20).scores, search("w3 w5", k=20).scores)


def test_without_clicks_all_fields_weigh_1():
    with pytest.warns(ChoiceWarning, match="Got 0"):
        search = bm25(shop(), fields=["title", "description"])
    assert [(field.name, field.weight) for field in search.fields] == [("title", 1.0), ("text", 1.0)]


def test_columns_that_make_up_the_text_stay_fields():
    rows = [{"sku": "1", "name": "Fig jam", "brand": "Acme", "summary": "sweet"},
            {"sku": "2", "name": "Plum jam", "brand": "Fig & Co", "summary": "sour"}]  # fmt: skip
    data = Dataset.of(rows, id="sku", text="name,brand,summary")
    assert data.items[0].default_text() == "Fig jam Acme sweet"
    assert resolved(data, []) == ("title", "brand", "summary")
    assert bm25(data, fields={"name": 5, "brand": 1, "summary": 1})("fig").ids == [["1", "2"]]
    assert bm25(data, fields={"name": 1, "brand": 5, "summary": 1})("fig").ids == [["2", "1"]]
    assert data.items[1].metadata["brand"] == "Fig & Co"
    one = Dataset.of(rows, id="sku", text="name,summary")
    assert resolved(one, ["name", "summary"]) == ("title", "text")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"title": 0}, "above 0"),
        ({"title": "3"}, "above 0"),
        ({"headroom": 1}, "must be fields of the items"),
        ({}, "from 1 to"),
        (3, "must be a mapping"),
        ("title^x", "like title"),
    ],
)
def test_bad_fields_are_refused(fields, message):
    with pytest.raises(InputError, match=message):
        bm25(shop(), fields=fields)


def test_bad_b_is_refused():
    with pytest.raises(InputError, match="one number unless"):
        bm25(shop(), b={"title": 0.5})
    with pytest.raises(InputError, match="between 0 and 1"):
        bm25(shop(), fields={"title": 1}, b=1.5)


def test_field_weights_are_read_from_text():
    assert FieldWeights.of("title^3, body^0.5 ,tags") == (("title", "body", "tags"), (3.0, 0.5, 1.0))
    assert FieldWeights.of("learn") == ((), None)
