"""BM25 as a live member: every answer is that of an index that is built of the live texts, bit for bit."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vizsla import _native
from vizsla.base.queries import Queries
from vizsla.base.recipe import Recipe
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.data.dataset import Dataset
from vizsla.engine.lexical_member import Bm25Member
from vizsla.engine.word_segments import ARRAYS, read_segment
from vizsla.errors import FormatError, InputError
from vizsla.methods.bm25_statistics import VARIANTS
from vizsla.text.analyzers import Analyzer, AnyLanguage, analyzer_of

WORDS = {
    "english": "the of is not national nations nation flexible flexibility running runs run dog dogs house houses war "
    "figs fig apple tree trees quick quickly wh-1000xm4 1980s 東京",
    "german": "der die das und ist war hunde hund laufen laufende häuser haus baum bäume nicht nation nationen apfel",
}
ENGLISH, GERMAN = (words.split() for words in WORDS.values())
ANALYZERS = {
    "english": AnyLanguage("english"),
    "words": Analyzer(),
    "stemmed": Analyzer(stop_words="english", stem="english"),
    "chars": Analyzer("chars"),
    "mixed": AnyLanguage(["english", "german"]),
    "auto": None,
}

texts = st.one_of(
    st.lists(st.sampled_from(ENGLISH), max_size=12).map(" ".join),
    st.lists(st.sampled_from(GERMAN), max_size=12).map(" ".join),
)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(texts, min_size=1, max_size=7)),
        st.tuples(st.just("remove"), st.lists(st.integers(0, 200), min_size=1, max_size=5)),
        st.tuples(st.sampled_from(["flush", "merge", "reopen"]), st.none()),
    ),
    min_size=1,
    max_size=10,
)


class World:
    """A member, and the texts that it should hold: what an engine does with it."""

    def __init__(self, recipe, folder, sample=("the dog is running to the house", "der Hund ist nicht im Haus")):
        self.recipe, self.folder = recipe, folder
        self.settled = Bm25Member.settle(recipe, sample, {})
        self.fixed = recipe.but(analyzer=analyzer_of(self.settled["analyzer"]))
        self.member = Bm25Member(recipe, self.settled, {})
        self.member.open([], [])
        self.texts, self.live, self.stored = [], [], []

    def apply(self, change, values):
        if change == "append":
            self.member.append(values)
            self.texts += values
            self.live += [True] * len(values)
        elif change == "remove":
            self.remove(sorted({value % len(self.texts) for value in values} & set(self.alive)) if self.texts else [])
        elif change == "reopen":
            memory = self.texts[self.stored_rows :]
            self.member = Bm25Member(self.recipe, self.settled, {})
            self.open(list(range(len(self.texts))), memory)
        else:
            first = self.stored_rows if change == "flush" else 0
            slots = [slot for slot in self.alive if slot >= first]
            folder = self.folder / f"segment-{len(list(self.folder.iterdir()))}"
            self.member.write(folder, np.array(slots, np.int32))
            self.stored = [*(self.stored if change == "flush" else []), (folder, len(slots))]
            self.open([*range(first), *slots], [])

    def open(self, order, memory):
        self.texts, self.live = [self.texts[slot] for slot in order], [self.live[slot] for slot in order]
        self.member.open([folder for folder, _ in self.stored], [size for _, size in self.stored])
        self.member.append(memory)
        gone = [slot for slot, live in enumerate(self.live) if not live]
        if gone:
            self.member.remove(np.array(gone, np.int32), lambda: [self.texts[slot] for slot in gone])

    def remove(self, slots):
        self.member.remove(np.array(slots, np.int32), lambda: [self.texts[slot] for slot in slots])
        for slot in slots:
            self.live[slot] = False

    @property
    def stored_rows(self):
        return sum(size for _, size in self.stored)

    @property
    def alive(self):
        return [slot for slot, live in enumerate(self.live) if live]

    def view(self):
        return self.member.view(None if all(self.live) else np.array(self.live))

    def fresh(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.fixed.build(Dataset.of({str(slot): self.texts[slot] for slot in self.alive}))


def same(found, wanted, alive):
    """Whether slots are the fresh build's items, with the same scores to the last bit."""
    numbers = np.array(alive, np.int32)
    assert found.offsets.tolist() == wanted.offsets.tolist()
    assert found.items.tolist() == numbers[wanted.items].tolist()
    assert found.scores.tobytes() == wanted.scores.tobytes()


def check(world, queries, allowed=None):
    view, alive = world.view(), world.alive
    if not alive:
        assert len(view.search(Queries(queries), 5, None, 1).items) == 0
        return
    fresh = world.fresh()
    for k in (1, 4, 1000):
        same(view.search(Queries(queries), k, None, 1), fresh(queries, k), alive)
        same(view.search(Queries(queries), k, None, 2), fresh(queries, k), alive)
        if allowed is not None and allowed.any():
            wanted = fresh(queries, k, where=[str(slot) for slot in np.flatnonzero(allowed)])
            same(view.search(Queries(queries), k, allowed, 2), wanted, alive)
    for query in queries:
        same(view.search(Queries([query]), 3, None, 1), fresh([query], 3), alive)
    everything = np.array(alive, np.int32)
    scored = view.score(Queries(queries), Candidates.from_rows([everything] * len(queries)), 2)
    numbers = Candidates.from_rows([np.arange(len(alive), dtype=np.int32)] * len(queries))
    assert scored.scores.tobytes() == fresh.index.scores(fresh.encode(queries), numbers).scores.tobytes()
    found = view.search(Queries(queries), 1000, None, 1)
    again = view.score(Queries(queries), Candidates.from_rows(np.split(found.items, found.offsets[1:-1])), 1)
    assert again.scores.tobytes() == found.scores.tobytes()
    for query in queries:
        explained = view.explain(Queries([query]), alive[-1])
        assert str(explained) == str(fresh.explain(query, str(alive[-1])))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("analyzer", ANALYZERS)
@given(changes=changes, queries=st.lists(texts, min_size=1, max_size=3), seed=st.integers(0, 2**16))
@settings(max_examples=12, deadline=None)
def test_answers_are_those_of_a_fresh_build(tmp_path_factory, variant, analyzer, changes, queries, seed):
    world = World(Recipe.of("bm25", variant=variant, analyzer=ANALYZERS[analyzer]), tmp_path_factory.mktemp("segments"))
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

    world = World(Recipe.of("bm25", analyzer=Analyzer()), tmp_path)
    for step in range(4):
        world.apply("append", made(3000))
        world.remove(sorted(rng.choice(world.alive, 300, replace=False).tolist()))
        world.apply("flush" if step < 3 else "append", made(200) if step == 3 else None)
    queries = [*made(12), "word0 word1 word2", "word3999 word0", "word7"]
    allowed = (rng.random(len(world.live)) < 0.3) & np.array(world.live)
    check(world, [" ".join(query.split()[:6]) for query in queries], allowed)
    assert len(world.member._segments) > 3


def test_lengths_that_change_much_keep_bounds_valid(tmp_path):
    world = World(Recipe.of("bm25", analyzer=Analyzer(), b=1.0), tmp_path)
    rng = np.random.default_rng(0)
    short = [" ".join(rng.choice(ENGLISH, 3)) for _ in range(600)]
    world.apply("append", short)
    world.apply("flush", None)
    world.apply("append", [" ".join(rng.choice(ENGLISH, 300)) for _ in range(600)])
    check(world, ["dog house", "the fig tree runs", "nation"])
    world.remove(list(range(600, 1195)))
    check(world, ["dog house", "the fig tree runs", "nation"])


def test_a_view_goes_on_answering_as_it_did(tmp_path):
    world = World(Recipe.of("bm25"), tmp_path)
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
    world = World(Recipe.of("bm25"), tmp_path)
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
    world = World(Recipe.of("bm25"), tmp_path)
    world.apply("append", ["a fig"])
    with pytest.raises(InputError, match="slots"):
        world.member.remove(np.array([1], np.int32), list)
    with pytest.raises(InputError, match="allowed"):
        world.view().search(Queries(["fig"]), 1, np.ones(3, np.bool_), 1)


def test_a_folder_of_another_size_leaves_the_member_as_it_was(tmp_path):
    world = World(Recipe.of("bm25"), tmp_path)
    world.apply("append", ["a fig", "a tree"])
    world.member.write(tmp_path / "segment", np.array([0, 1], np.int32))
    for folders, sizes in (([tmp_path / "segment"], [3]), ([tmp_path / "none"], [2])):
        with pytest.raises(FormatError):
            world.member.open(folders, sizes)
    check(world, ["fig tree"])


@pytest.mark.parametrize("name", ARRAYS)
def test_damaged_files_raise_or_change_nothing_that_is_read(tmp_path, name):
    world = World(Recipe.of("bm25"), tmp_path)
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
