"""BM25F as a live member: every answer is that of an index that is built of the live titles and texts, bit for bit."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.word_world import ENGLISH, World, check, texts
from vizsla import Engine, bm25
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import Dataset
from vizsla.engine.fields_member import FIELD_ARRAYS, FieldsMember
from vizsla.errors import FormatError
from vizsla.methods.bm25_statistics import VARIANTS
from vizsla.text.analyzers import Analyzer, AnyLanguage

ANALYZERS = {
    "english": AnyLanguage("english"),
    "words": Analyzer(),
    "mixed": AnyLanguage(["english", "german"]),
    "auto": None,
}
FIELDS = {"title": 3.0, "text": 1.0}
pairs = st.tuples(texts, texts)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(pairs, min_size=1, max_size=7)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 200), min_size=1, max_size=5)),
        st.tuples(st.sampled_from(["flush", "merge", "reopen"]), st.none()),
    ),
    min_size=1,
    max_size=10,
)


class FieldWorld(World):
    """The same of titles and texts; a fresh build takes the weights that were settled."""

    def __init__(self, recipe, folder):
        super().__init__(FieldsMember, recipe, folder)
        rows = self.settled["fields"]
        settled = {"fields": {name: weight for name, weight, _ in rows}, "b": {name: b for name, _, b in rows}}
        self.fixed = self.fixed.but(**settled)

    def fresh(self):
        rows = [(str(slot), *self.texts[slot]) for slot in self.alive]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.fixed.build(Dataset.of([{"id": id, "title": title, "text": text} for id, title, text in rows]))


def compared(world, queries, allowed=None):
    if any(any(world.texts[slot]) for slot in world.alive):
        check(world, queries, allowed)
    else:  # a build would take fields that no item has for an error
        assert len(world.view().search(Queries(queries), 5, None, 1).items) == 0


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("analyzer", ANALYZERS)
@given(changes=changes, queries=st.lists(texts, min_size=1, max_size=3), seed=st.integers(0, 2**16))
@settings(max_examples=10, deadline=None)
def test_answers_are_those_of_a_fresh_build(tmp_path_factory, variant, analyzer, changes, queries, seed):
    b = {"title": 0.3, "text": 0.75}
    recipe = Recipe.of("bm25", fields=FIELDS, b=b, variant=variant, analyzer=ANALYZERS[analyzer])
    world = FieldWorld(recipe, tmp_path_factory.mktemp("segments"))
    for change in changes:
        world.apply(*change)
    allowed = np.random.default_rng(seed).random(len(world.live)) < 0.5
    compared(world, [*queries, "the dog runs", "der Hund", ""], allowed & np.array(world.live, np.bool_))


@pytest.mark.parametrize(
    "fields", [{"title": 2.0}, {"text": 0.5}, {"text": 1.0, "title": 8.0}, "title^3,text", "learn"]
)
@pytest.mark.parametrize("b", [0.0, 0.6, 1.0])
def test_any_fields_and_norms(tmp_path, fields, b):
    world = FieldWorld(Recipe.of("bm25", fields=fields, b=b, analyzer=Analyzer()), tmp_path)
    rng = np.random.default_rng(5)

    def made(count, most):
        return [
            (" ".join(rng.choice(ENGLISH, rng.integers(0, 5))), " ".join(rng.choice(ENGLISH, most)))
            for _ in range(count)
        ]

    world.apply("append", made(400, 4))
    world.apply("flush", None)
    world.apply("append", made(300, 80))  # longer texts: the bounds of the first segment are stretched
    compared(world, ["dog house", "the fig tree runs", "nation"])
    world.remove(list(range(350, 690)))
    compared(world, ["dog house", "the fig tree runs", "nation"])
    world.apply("merge", None)
    compared(world, ["dog house", "the fig tree runs", "nation"])


def test_a_larger_catalog_with_pruning(tmp_path):
    rng = np.random.default_rng(3)
    vocabulary, weights = [f"word{number}" for number in range(3000)], 1 / np.arange(1, 3001)

    def words(count):
        return " ".join(rng.choice(vocabulary, size=count, p=weights / weights.sum()))

    def made(count):
        return [(words(rng.integers(1, 8)), words(rng.integers(5, 50))) for _ in range(count)]

    world = FieldWorld(Recipe.of("bm25", fields=FIELDS, analyzer=Analyzer()), tmp_path)
    for step in range(3):
        world.apply("append", made(1200))
        world.remove(sorted(rng.choice(world.alive, 150, replace=False).tolist()))
        world.apply("flush" if step < 2 else "append", made(100) if step == 2 else None)
    allowed = (rng.random(len(world.live)) < 0.3) & np.array(world.live)
    compared(world, [*(words(4) for _ in range(8)), "word0 word1 word2", "word2999 word0"], allowed)


def test_more_pairs_than_sixteen_bits(tmp_path):
    rng = np.random.default_rng(1)
    world = FieldWorld(Recipe.of("bm25", fields=FIELDS, analyzer=Analyzer()), tmp_path)
    rows = [
        (" ".join(ENGLISH[: rng.integers(1, 20)]), " ".join(rng.choice(ENGLISH, rng.integers(1, 900))))
        for _ in range(6000)
    ]
    world.apply("append", rows)
    world.apply("flush", None)
    [segment] = world.member.segments
    assert len(segment.arrays["wide_codes"])
    assert len(segment.arrays["pair_field_counts"]) == 2 * len(segment.arrays["pair_counts"])
    compared(world, ["dog house", "fig"])


def test_damaged_segments_raise(tmp_path):
    world = FieldWorld(Recipe.of("bm25", fields=FIELDS), tmp_path)
    world.apply("append", [("a fig", "a fig tree"), ("dogs", "a quick dog")])
    world.apply("flush", None)
    arrays = dict(world.member.segments[0].arrays)
    for name in FIELD_ARRAYS:
        if not name.startswith(("pair_field", "slot_field")):
            continue
        for wrong in (arrays[name][:-1], np.append(arrays[name], arrays[name][:1]), arrays[name][:0]):
            with pytest.raises(FormatError, match="not a sound segment"):
                world.member._segment({**arrays, name: wrong}, [])


def test_an_engine_weighs_titles_at_once(tmp_path):
    engine = Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25", fields=FIELDS)}, default="words")
    engine.add(
        [
            {"id": "text", "title": "Cheese", "text": "goes well with fig marmalade"},
            {"id": "title", "title": "Fig marmalade", "text": "sweet"},
        ]
    )
    assert engine.search("fig marmalade").ids == [["title", "text"]]
    assert engine.stats()["members"]["words"]["type"] == "live"
    engine.upsert([{"id": "text", "title": "Fig marmalade with fig marmalade", "text": "fig marmalade"}])
    engine.add([{"id": "later", "title": "", "text": "fig"}])
    engine.delete("title")
    expected = bm25(
        Dataset.of(
            [
                {"id": "text", "title": "Fig marmalade with fig marmalade", "text": "fig marmalade"},
                {"id": "later", "title": "", "text": "fig"},
            ]
        ),
        fields=FIELDS,
        analyzer=AnyLanguage("english", drop=False),
    )
    found, wanted = engine.search("fig marmalade"), expected("fig marmalade")
    assert (found.ids, found.scores.tobytes()) == (wanted.ids, wanted.scores.tobytes())
    assert str(engine.explain("fig marmalade", "text")) == str(expected.explain("fig marmalade", "text"))
    forgiving = engine.generation().forgiving().retriever("words")
    assert forgiving("fig marmelade").ids == [["text", "later"]]
    assert forgiving.explain("fig marmelade", "text").score == pytest.approx(forgiving("fig marmelade").scores[0])
    engine.flush()
    engine.compact()
    engine.flush()
    engine.close()
    again = Engine.open(tmp_path / "e")
    assert again.search("fig marmalade").scores.tobytes() == wanted.scores.tobytes()
    assert again.check() == []


def test_weights_are_learned_when_the_member_is_rebuilt(tmp_path):
    rng = np.random.default_rng(0)
    engine = Engine.create(tmp_path / "e", members={"words": Recipe.of("bm25", fields="learn")}, default="words")
    names = [f"name{number}" for number in range(120)]
    engine.add(
        [{"id": f"i{n}", "title": name, "text": " ".join(rng.choice(names, 12))} for n, name in enumerate(names)]
    )
    for number in range(100):
        engine.click(names[number], f"i{number}")
    before = engine.explain(names[7], "i7")
    assert "title^1" in before.reason
    engine.rebuild("words")
    assert engine.search(names[7]).ids[0][0] == "i7"
    assert "title^1 " not in engine.explain(names[7], "i7").reason
