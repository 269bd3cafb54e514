"""VectorMember: after any sequence of changes it answers as the recipe that is built anew."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vizsla
from tests.engine.live_rows import QUERIES, LiveRows, counted_letters, hashed, same_answers
from vizsla.core.strings import Strings
from vizsla.engine.vector_member import VectorMember
from vizsla.errors import FormatError, InputError
from vizsla.indexes.pq.codebook import PqCodes
from vizsla.indexes.pq.pq_index import PqIndex

FLAT = {
    "plain": {},
    "float16": {"storage": "float16"},
    "guarded": {"guarded": True},
    "float32": {"index": "flat", "storage": "float32"},
}
WORDS = ["fig", "fig tree", "pear", "plum", "a pear tree", "grape", "date", "0 1", "1 2 3", "", "quince"]

TEXTS = st.lists(st.sampled_from(WORDS) | st.text("abfig 0123", max_size=6), min_size=1, max_size=8)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), TEXTS),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 99), min_size=1, max_size=5)),
        st.tuples(st.just("flush"), st.none()),
        st.tuples(st.just("merge"), st.none()),
        st.tuples(st.just("restart"), st.none()),
    ),
    min_size=1,
    max_size=12,
)


def changed(rows: LiveRows, step: str, given) -> None:
    if step == "append":
        rows.append(given)
    elif step == "remove":
        rows.remove(given)
    elif step == "flush":
        rows.flush()
    elif step == "merge" and len(rows.segments) > 1:
        rows.merge(0, len(rows.segments))
    elif step == "restart":
        rows.restart()


def recipe_of(encoder, **options) -> vizsla.Recipe:
    return vizsla.Recipe.of("dense", encoder=encoder, **options)


@pytest.mark.parametrize("options", FLAT.values(), ids=FLAT)
@pytest.mark.parametrize("encoder", [counted_letters(), hashed()], ids=["ties", "reals"])
def test_answers_are_those_of_a_fresh_build(encoder, options, tmp_path_factory):
    recipe = recipe_of(encoder, **options)
    assert VectorMember.accepts(recipe) and VectorMember.settle(recipe, ["fig"], {"encoder": encoder}) == {}

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STEPS, st.integers(0, 99))
    def follows(steps, seed):
        rows = LiveRows(lambda: VectorMember(recipe, {}, {"encoder": encoder}), tmp_path_factory.mktemp("rows"))
        for step, what in steps:
            changed(rows, step, what)
        if len(rows.slots):
            same_answers(rows.retriever(), recipe.build(vizsla.Dataset.of(rows.items())), seed)
        else:
            assert rows.retriever()(QUERIES).ids == [[]] * len(QUERIES)

    follows()


def coded_truth(rows: LiveRows, member, encoder):
    """The live texts coded by the settled codebook, all at once."""
    items = rows.items()
    book = member._book
    vectors = np.asarray(encoder.items(list(items.values())), np.float32)
    index = PqIndex(PqCodes.of(book.assigned(vectors), bits=book.bits), book)
    return vizsla.methods.Dense(Strings.of(items), encoder, index)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("form", ["dense", "pq"])
def test_codes_are_those_of_the_settled_codebook(form, bits, tmp_path_factory):
    encoder, some = hashed(), [f"text {number}" for number in range(300)]
    options = {"bytes": 4, "bits": bits, "rounds": 2}
    recipe = recipe_of(encoder, index="pq", **options)
    if form == "pq":
        recipe = vizsla.Recipe.of("pq", base=recipe_of(encoder), **options)
    assert VectorMember.accepts(recipe)
    settled = VectorMember.settle(recipe, some, {"encoder": encoder})
    fresh = recipe.build(vizsla.Dataset.of(some))

    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    @given(STEPS, st.integers(0, 99))
    def follows(steps, seed):
        rows = LiveRows(lambda: VectorMember(recipe, settled, {"encoder": encoder}), tmp_path_factory.mktemp("rows"))
        assert np.array_equal(rows.member._book.centroids, fresh.index.codebook.centroids)
        for step, what in steps:
            changed(rows, step, what)
        if len(rows.slots):
            same_answers(rows.retriever(), coded_truth(rows, rows.member, encoder), seed)

    follows()


def test_codes_of_all_texts_are_those_of_the_build(tmp_path):
    encoder, some = hashed(), [f"text {number}" for number in range(300)]
    recipe = recipe_of(encoder, index="pq", bytes=4, rounds=2)
    settled = VectorMember.settle(recipe, some, {"encoder": encoder})
    rows = LiveRows(lambda: VectorMember(recipe, settled, {"encoder": encoder}), tmp_path)
    rows.append(some)
    built = recipe.build(vizsla.Dataset.of(rows.items()))
    same_answers(rows.retriever(), built)


def test_without_texts_rows_stay_uncoded(tmp_path):
    encoder = hashed()
    recipe = recipe_of(encoder, index="pq", bytes=4)
    assert VectorMember.settle(recipe, [], {"encoder": encoder}) == {}
    rows = LiveRows(lambda: VectorMember(recipe, {}, {"encoder": encoder}), tmp_path)
    rows.append(["fig", "pear"])
    rows.flush()
    same_answers(rows.retriever(), recipe_of(encoder).build(vizsla.Dataset.of(rows.items())))


@pytest.mark.parametrize(
    "options",
    [{"index": "hnsw"}, {"index": "ivf"}, {"storage": "int8"}, {"vectors": np.eye(2)}, {"effort": 3}],
    ids=str,
)
def test_others_are_built_whole(options):
    encoder = counted_letters()
    assert not VectorMember.accepts(recipe_of(encoder, **options))
    assert not VectorMember.accepts(vizsla.Recipe.of("pq", base=recipe_of(encoder, **options)))
    assert not VectorMember.accepts(vizsla.Recipe.of("bm25"))


def test_a_view_does_not_change(tmp_path):
    encoder = counted_letters()
    recipe = recipe_of(encoder)
    rows = LiveRows(lambda: VectorMember(recipe, {}, {"encoder": encoder}), tmp_path)
    rows.append(["fig", "pear"])
    before = rows.retriever()
    expected = before(QUERIES, k=5)
    rows.append([f"fig {number}" for number in range(100)])
    rows.remove([0])
    rows.flush()
    assert before(QUERIES, k=5) == expected


def test_texts_are_encoded_through_the_cache(tmp_path):
    seen = []

    def rows_of(texts):
        seen.extend(texts)
        return [[len(text), 1.0] for text in texts]

    encoder = vizsla.encoders.FunctionEncoder(rows_of, dim=2, name="lengths")
    other = vizsla.encoders.FunctionEncoder(lambda texts: [[1.0]] * len(texts), dim=1, name="other")
    recipe = recipe_of(encoder)
    for cache in (
        vizsla.encoders.EmbeddingCache(encoder, tmp_path / "v.db"),
        vizsla.encoders.EmbeddingCache(other, tmp_path / "v.db"),
    ):
        member = VectorMember(recipe, {}, {"encoder": encoder, "cache": cache})
        member.open([], [])
        member.append(["fig", "pear", "fig"])
        assert len(member.view(None).item_rows(np.arange(3, dtype=np.int32))) == 3
    assert seen == ["fig", "pear"]


def test_another_encoder_is_refused():
    recipe = recipe_of(counted_letters())
    with pytest.raises(InputError, match="`encoder` must be the dense one that the member was made with"):
        VectorMember(recipe, {}, {"encoder": hashed()})
    with pytest.raises(InputError, match="Got 'NoneType'"):
        VectorMember(recipe, {}, {})


def test_other_folders_are_refused_and_nothing_changes(tmp_path):
    encoder = counted_letters()
    rows = LiveRows(lambda: VectorMember(recipe_of(encoder), {}, {"encoder": encoder}), tmp_path)
    rows.append(["fig", "pear"])
    rows.flush()
    expected = rows.retriever()(QUERIES)
    half = VectorMember(recipe_of(encoder, storage="float16"), {}, {"encoder": encoder})
    folder = rows.segments[0][0]
    with pytest.raises(FormatError, match="not what this member wrote"):
        half.open([folder], [2])
    with pytest.raises(FormatError, match="2 vectors in place of 3"):
        rows.member.open([folder], [3])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError):
        rows.member.open([tmp_path / "empty"], [0])
    copy = shutil.copytree(folder, tmp_path / "copy")  # a file that is mapped must not be cut
    (copy / "vectors" / "vectors.npy").write_bytes(b"")
    with pytest.raises(FormatError, match="vectors"):
        rows.member.open([copy], [2])
    assert rows.retriever()(QUERIES) == expected


def test_a_damaged_codebook_is_named():
    encoder = hashed()
    recipe = recipe_of(encoder, index="pq", bytes=4)
    for book in ({"dim": 24}, {"dim": 24, "centroids": {"shape": [4, 256, 6], "data": "AAAA"}}, 3):
        with pytest.raises(FormatError, match="codebook of a member is damaged"):
            VectorMember(recipe, {"codebook": book}, {"encoder": encoder})
