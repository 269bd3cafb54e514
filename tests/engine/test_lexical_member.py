"""BM25 as a live member: every answer is that of an index that is built of the live texts, bit for bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.word_world import ENGLISH, World, changes, check, texts
from vizsla import Engine, _native, bm25
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.engine.lexical_member import Bm25Member
from vizsla.engine.word_segments import ARRAYS, read_segment
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25_statistics import VARIANTS
from vizsla.text.analyzers import Analyzer, AnyLanguage

ANALYZERS = {
    "english": AnyLanguage("english"),
    "words": Analyzer(),
    "stemmed": Analyzer(stop_words="english", stem="english"),
    "chars": Analyzer("chars"),
    "mixed": AnyLanguage(["english", "german"]),
    "auto": None,
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("analyzer", ANALYZERS)
@given(changes=changes, queries=st.lists(texts, min_size=1, max_size=3), seed=st.integers(0, 2**16))
@settings(max_examples=12, deadline=None)
def test_answers_are_those_of_a_fresh_build(tmp_path_factory, variant, analyzer, changes, queries, seed):
    world = World(
        Bm25Member,
        Recipe.of("bm25", variant=variant, analyzer=ANALYZERS[analyzer]),
        tmp_path_factory.mktemp("segments"),
    )
    for change in changes:
        world.apply(*change)
    allowed = np.random.default_rng(seed).random(len(world.live)) < 0.5
    check(world, [*queries, "the dog runs", "der Hund", ""], allowed & np.array(world.live, np.bool_))


def test_a_larger_catalog_with_pruning(tmp_path):
    rng = np.random.default_rng(3)
    vocabulary = [f"word{number}" for number in range(4000)]
    weights = 1 / np.arange(1, 4001)

    def made(count):
        ends = np.cumsum(rng.integers(5, 60, count))
        words = rng.choice(vocabulary, size=ends[-1], p=weights / weights.sum())
        return [" ".join(part) for part in np.split(words, ends[:-1])]

    world = World(Bm25Member, Recipe.of("bm25", analyzer=Analyzer()), tmp_path)
    for step in range(4):
        world.apply("append", made(3000))
        world.remove(sorted(rng.choice(world.alive, 300, replace=False).tolist()))
        world.apply("flush" if step < 3 else "append", made(200) if step == 3 else None)
    queries = [*made(12), "word0 word1 word2", "word3999 word0", "word7"]
    allowed = (rng.random(len(world.live)) < 0.3) & np.array(world.live)
    check(world, [" ".join(query.split()[:6]) for query in queries], allowed)
    assert len(world.member._segments) > 3


def test_lengths_that_change_much_keep_bounds_valid(tmp_path):
    world = World(Bm25Member, Recipe.of("bm25", analyzer=Analyzer(), b=1.0), tmp_path)
    rng = np.random.default_rng(0)
    short = [" ".join(rng.choice(ENGLISH, 3)) for _ in range(600)]
    world.apply("append", short)
    world.apply("flush", None)
    world.apply("append", [" ".join(rng.choice(ENGLISH, 300)) for _ in range(600)])
    check(world, ["dog house", "the fig tree runs", "nation"])
    world.remove(list(range(600, 1195)))
    check(world, ["dog house", "the fig tree runs", "nation"])


def test_a_view_goes_on_answering_as_it_did(tmp_path):
    world = World(Bm25Member, Recipe.of("bm25"), tmp_path)
    world.apply("append", ["a fig tree", "an apple tree", "a quick dog"])
    view, queries = world.view(), Queries(["fig tree dog"])
    before = view.search(queries, 5, None, 1)
    world.apply("append", ["tree tree fig"] * 50)
    world.remove([0, 2])
    world.apply("flush", None)
    after = view.search(Queries(["fig tree dog"]), 5, None, 1)
    assert (after.items.tolist(), after.scores.tobytes()) == (before.items.tolist(), before.scores.tobytes())
    check(world, ["fig tree dog"])


def test_writing_beside_changes_and_searches(tmp_path):
    world = World(Bm25Member, Recipe.of("bm25"), tmp_path)
    world.apply("append", ["a fig tree", "an apple tree", "a quick dog"] * 200)
    slots = np.arange(600, dtype=np.int32)
    with ThreadPoolExecutor(3) as pool:
        written = [pool.submit(world.member.write, tmp_path / f"copy-{number}", slots) for number in range(4)]
        for number in range(30):
            world.apply("append", [f"fig {number}"])
            world.remove([number])
            pool.submit(world.view().search, Queries(["fig tree"]), 5, None, 1)
        for job in written:
            job.result()
    first = read_segment(tmp_path / "copy-0", verify=True)
    for number in range(4):
        other = read_segment(tmp_path / f"copy-{number}", verify=True)
        assert all(np.array_equal(first[name], other[name]) for name in ARRAYS)
    check(world, ["fig 7", "apple tree"])


def test_what_is_settled():
    assert Bm25Member.settle(Recipe.of("bm25"), [], {})["analyzer"]["language"] == ["english"]
    german = ["der Hund ist nicht im Haus und die Katze auch nicht"] * 20
    assert Bm25Member.settle(Recipe.of("bm25"), german, {})["analyzer"]["language"] == ["german"]
    given = Recipe.of("bm25", analyzer=Analyzer(stem="french"))
    assert Bm25Member.settle(given, german, {})["analyzer"]["stem"] == "french"


def test_recipes_that_are_exact():
    assert Bm25Member.accepts(Recipe.of("bm25", k1=0.9))
    assert not Bm25Member.accepts(Recipe.of("tfidf"))
    with pytest.raises(InputError, match="recipe"):
        Bm25Member(Recipe.of("tfidf"), {"analyzer": Analyzer().to_dict()}, {})


def test_slots_that_there_are_not(tmp_path):
    world = World(Bm25Member, Recipe.of("bm25"), tmp_path)
    world.apply("append", ["a fig"])
    with pytest.raises(InputError, match="slots"):
        world.member.remove(np.array([1], np.int32), list)
    with pytest.raises(InputError, match="allowed"):
        world.view().search(Queries(["fig"]), 1, np.ones(3, np.bool_), 1)


def test_a_folder_of_another_size_leaves_the_member_as_it_was(tmp_path):
    world = World(Bm25Member, Recipe.of("bm25"), tmp_path)
    world.apply("append", ["a fig", "a tree"])
    world.member.write(tmp_path / "segment", np.array([0, 1], np.int32))
    for folders, sizes in (([tmp_path / "segment"], [3]), ([tmp_path / "none"], [2])):
        with pytest.raises(FormatError):
            world.member.open(folders, sizes)
    check(world, ["fig tree"])


@pytest.mark.parametrize("name", ARRAYS)
def test_damaged_files_raise_or_change_nothing_that_is_read(tmp_path, name):
    world = World(Bm25Member, Recipe.of("bm25"), tmp_path)
    rng = np.random.default_rng(1)
    world.apply("append", [" ".join(rng.choice(ENGLISH, 9)) for _ in range(300)])
    slots = np.arange(300, dtype=np.int32)
    world.member.write(tmp_path / "segment", slots)
    file = tmp_path / "segment" / f"{name}.npy"
    sound = file.read_bytes()
    for damage in range(40):
        broken = bytearray(sound)
        if damage == 0:
            broken = broken[:-1]
        elif len(sound) > 128:
            for place in rng.integers(128, len(sound), 1 + damage % 3).tolist():
                broken[place] = int(rng.integers(0, 256))
        file.unlink()
        file.write_bytes(broken)
        member = Bm25Member(world.recipe, world.settled, {})
        try:
            member.open([tmp_path / "segment"], [300])
            member.remove(np.arange(0, 300, 7, dtype=np.int32), list)
            view = member.view(None)
            view.search(Queries(["the dog", "fig tree nation", "house 1980s"]), 10, None, 1)
            view.score(Queries(["the dog"]), Candidates.from_rows([slots[1::7]]), 1)
            member.write(tmp_path / f"again-{damage}", slots)
        except FormatError as error:
            assert damage or str(tmp_path) in str(error)
        else:
            assert damage, "a file that is too short"
        if bytes(broken) != sound:
            with pytest.raises(FormatError):
                read_segment(tmp_path / "segment", verify=True)


def twin(counts, norms, gains, weights, dead, k):
    """Numpy twin of the kernel: float32 sums of float64 impacts, terms by priority."""
    with np.errstate(invalid="ignore", divide="ignore"):
        impacts = (gains[:, None] * counts / (counts + norms)).astype(np.float32)
    impacts = np.where(counts > 0, np.maximum(impacts, np.finfo(np.float32).smallest_subnormal), np.float32(0))
    order = np.argsort(-(weights.astype(np.float64) * gains.astype(np.float32)), kind="stable")
    sums = np.zeros(counts.shape[1], np.float32)
    for term in order:
        sums += np.float32(weights[term]) * impacts[term]
    sums[dead] = 0
    best = np.lexsort((np.arange(len(sums)), -sums))[:k]
    return best[sums[best] > 0], sums[best][sums[best] > 0]


@pytest.mark.parametrize("most", [5, 60_000])  # few pairs, and more than 16 bits can number
def test_the_kernel_is_its_numpy_twin(most):
    rng = np.random.default_rng(most)
    terms, slots = 250, 1500
    counts = np.where(rng.random((terms, slots)) < 0.6, rng.integers(1, most, (terms, slots)), 0)
    parts, first = [], 0
    for size in (700, 1, 799):
        part = counts[:, first : first + size]
        first += size
        rows, columns = np.nonzero(part.T)
        offsets = np.searchsorted(rows, np.arange(size + 1)).astype(np.int64)
        parts.append((part, offsets, columns.astype(np.int32), part.T[rows, columns].astype(np.uint32)))
    names = Strings.of([f"t{number}" for number in range(terms)])
    lists, kept = _native.LiveLists(), []
    norms = np.zeros(slots)
    dead = rng.random(slots) < 0.2
    first = 0
    for part, offsets, columns, values in parts:
        size = part.shape[1]
        arrays = _native.live_build(offsets, columns, values, np.zeros(size, np.uint8), terms)
        arrays |= {"term_bytes": names.data, "term_offsets": names.offsets, "term_table": names.slots}
        own = 1.2 + arrays["pair_lengths"] / 1e4
        norms[first : first + size] = 1.2 + part.sum(axis=0) / 1e4
        segment = _native.LiveSegment(*(arrays[name] for name in ARRAYS), own)
        assert (len(arrays["wide_codes"]) > 0) == (most > 1000 and size > 1)
        segment.check()
        removed = np.zeros(terms, np.int32)
        segment.count_terms(np.flatnonzero(dead[first : first + size]).astype(np.int32), removed)
        lists.add(segment, removed, np.packbits(~dead[first : first + size], bitorder="little"), 1.0, own)
        kept.append(arrays)
        first += size
    ids, holders, orders = lists.find([f"t{number}" for number in range(terms)])
    assert np.frombuffer(holders, np.int64).tolist() == (counts[:, ~dead] > 0).sum(axis=1).tolist()
    gains = rng.random(terms)
    zeros = np.zeros(terms)
    known = lists.terms(
        np.frombuffer(ids, np.int32), gains, zeros, np.frombuffer(orders, np.uint64), np.zeros(terms, np.int32)
    )
    for _ in range(20):
        asked = rng.choice(terms, rng.integers(1, 12), replace=False)
        weights = (rng.integers(1, 5, len(asked)) / 2).astype(np.float32)
        k = int(rng.choice([1, 10, 2000]))
        items, scores, _ = lists.search_one([known[term] for term in asked], weights.tolist(), k, None)
        best, sums = twin(counts[asked] * 0.5, norms, gains[asked], weights, dead, k)
        assert np.frombuffer(items, np.int32).tolist() == best.tolist()
        assert np.frombuffer(scores, np.float32).tobytes() == sums.tobytes()


def test_terms_that_are_forgotten_give_back_the_room_of_their_tables():
    """What is kept of terms has a limit; a member that forgets terms must not use it up for good."""
    offsets, columns = np.arange(0, 41, 4, dtype=np.int64), np.tile(np.arange(4, dtype=np.int32), 10)
    arrays = _native.live_build(offsets, columns, np.ones(40, np.uint32), np.zeros(10, np.uint8), 4)
    names = Strings.of([f"t{number}" for number in range(4)])
    arrays |= {"term_bytes": names.data, "term_offsets": names.offsets, "term_table": names.slots}
    norms = np.full(len(arrays["pair_lengths"]), 1.2)
    lists = _native.LiveLists()
    lists.add(_native.LiveSegment(*(arrays[name] for name in ARRAYS), norms), None, None, 1.0, norms)
    ids, _, orders = lists.find([f"t{number}" for number in range(4)])
    facts = np.ones(4), np.zeros(4), np.frombuffer(orders, np.uint64), np.zeros(4, np.int32)
    terms, same_terms = (lists.terms(np.frombuffer(ids, np.int32), *facts) for _ in range(2))
    assert lists.kept == (0, 0)
    for kept in (terms, terms[:2], same_terms):
        lists.search_one(kept, [1.0] * len(kept), 3, None)
        lists.count(kept, [1.0] * len(kept), None, 100)
    assert lists.kept == (8 * len(norms), 8)  # of ten slots, a word of marks
    del kept
    terms.pop(), terms.pop()
    assert lists.kept == (6 * len(norms), 6)
    del terms, same_terms
    assert lists.kept == (0, 0)


def test_the_languages_of_an_engine_are_those_of_its_items_when_the_member_was_made(tmp_path):
    """A query of stop words alone: found where the member keeps them, and not where it knows them to be grammar."""
    items = {
        "a": "the cat and the dog of the house",
        "b": "war and peace is a book by the author",
        "c": "der Hund und die Katze sind im Garten",
        "d": "das Haus ist sehr schön und alt",
        "e": "der Fluss und das Meer",
        "f": "this is the river and the sea",
    }
    with Engine.create(tmp_path / "engine", members={"early": Recipe.of("bm25")}) as engine:
        engine.add(items)
        engine.add_member("late", Recipe.of("bm25"))
        engine.generation()
        settled = {name: engine._follower.members[name].analyzer for name in ("early", "late")}
        assert settled["early"].languages == ("english",) and set(settled["late"].languages) == {"english", "german"}
        for name, analyzer in settled.items():
            fresh = bm25(items, analyzer=analyzer)
            for query in ("AND", "war AND peace", "und", "Katze"):
                assert engine.search(query, using=name).ids == fresh(query).ids
        assert set(engine.search("AND", using="early").ids[0]) == {"a", "b", "f"}
        assert engine.search("AND", using="late").ids == bm25(items)("AND").ids == [[]]
        engine.rebuild("early")
        assert engine.search("AND", using="early").ids == [[]]
