"""A ScoreCache: scores survive bit for bit, nothing is paid twice, and no file is trusted."""

from __future__ import annotations

import itertools
import os
import pickle
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from tests.contract.catalog import ITEMS, QUERIES
from tests.scorers.counted import counted_scorer, overlap
from tests.scorers.test_text_scorer import candidates
from vizsla.core.candidates import Candidates
from vizsla.core.strings import Strings
from vizsla.errors import CompositionError, FormatError, InputError, ScorerError
from vizsla.io import sqlite
from vizsla.methods.bm25 import bm25
from vizsla.scorers.cache import ScoreCache, ScoreStore
from vizsla.scorers.text import FunctionScorer


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores.db"


def distinct_texts(wanted: Candidates) -> set[tuple[str, str]]:
    return {(QUERIES[row], ITEMS[item]) for row, ids in enumerate(wanted.ids) for item in ids}


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_scores_are_the_same_and_are_paid_once(path, chunk):
    function, scorer = counted_scorer()
    truth = scorer.score(QUERIES, candidates())
    function.calls.clear()
    cache = ScoreCache(scorer, path, chunk=chunk)
    first = cache.score(QUERIES, candidates())
    pairs = distinct_texts(candidates())
    assert first == truth
    assert sorted(function.pairs) == sorted(pairs), "each pair of texts once"
    assert max(map(len, function.calls)) <= chunk
    assert len(cache) == first.stats.model_calls == len(pairs)
    again = ScoreCache(counted_scorer(fails_at=0)[1], path).score(QUERIES, candidates())
    assert again == truth
    assert (again.stats.model_calls, again.stats.scored) == (0, 0)


def test_only_what_is_missing_is_sent(path):
    function, scorer = counted_scorer()
    cache = ScoreCache(scorer, path)
    cache.score(QUERIES, candidates(seed=1))
    function.calls.clear()
    found = cache.score(QUERIES, candidates(seed=2))
    new = distinct_texts(candidates(seed=2)) - distinct_texts(candidates(seed=1))
    assert set(function.pairs) == new
    assert found.stats.model_calls == len(function.pairs) == len(new) > 0


SPECIAL = [0.0, -0.0, 0.1, -1e-45, 3.4e38, float("inf"), float("-inf"), 1 / 3, 16777217.0]


def test_every_float32_is_kept_bit_for_bit(path):
    texts = {str(n): f"text {n}" for n in range(len(SPECIAL))}
    scorer = FunctionScorer(lambda q, ts: [SPECIAL[int(t.split()[1])] for t in ts], texts, name="special 1")
    wanted = Candidates.from_rows([np.arange(len(SPECIAL), dtype=np.int32)], catalog=Strings.of(texts))
    truth = scorer.score("q", wanted).scores.view(np.int32)
    for _ in range(2):
        assert np.array_equal(ScoreCache(scorer, path).score("q", wanted).scores.view(np.int32), truth)


def test_of_two_scores_for_one_pair_the_first_stays(path):
    """Two processes may score a pair at the same time: what others have read does not change."""
    store = ScoreStore(path)
    for score in (1.5, 2.5):
        store.put("one scorer", [("fig", "a fig tree")], np.array([score], np.float32))
    assert store.get("one scorer", [("fig", "a fig tree")]).tolist() == [1.5]
    store.close()


def test_texts_with_odd_characters_are_different_texts(path):
    odd = ["", " ", "\0", "a\0b", "a\0c", "\ud800", "é", "e\u0301", "İ", "x" * 100_000, "x" * 99_999 + "y"]
    texts = {f"i{n}": text for n, text in enumerate(odd)}
    scorer = FunctionScorer(lambda q, ts: [odd.index(t) + 100 * odd.index(q) for t in ts], texts, name="odd 1")
    wanted = Candidates.from_rows([np.arange(len(odd), dtype=np.int32)] * len(odd), catalog=Strings.of(texts))
    for _ in range(2):
        cache = ScoreCache(scorer, path)
        assert cache.score(odd, wanted) == scorer.score(odd, wanted)
    assert len(cache) == len(odd) ** 2


def test_what_is_known_is_known_of_every_row_and_item_with_the_text(path):
    twins = FunctionScorer(lambda query, texts: [len(text) for text in texts], {"a": "fig", "b": "fig"}, name="twins")
    cache = ScoreCache(twins, path)
    cache.score("fruit", Candidates.from_dict({"0": {"a": 0.0}}))
    assert cache.known(["fruit", "tree", "fruit"]).ids == [["a", "b"], [], ["a", "b"]]


def test_scorers_in_one_file_do_not_see_each_others_scores(path):
    one = FunctionScorer(lambda q, ts: [1.0 for _ in ts], ITEMS, name="one")
    two = FunctionScorer(lambda q, ts: [2.0 for _ in ts], ITEMS, name="two")
    pair = Candidates.from_dict({"0": {"twin 1": 0.0, "twin 2": 0.0}})
    caches = [ScoreCache(scorer, path) for scorer in (one, two)]
    assert [set(cache.score("fig", pair).scores.tolist()) for cache in caches] == [{1.0}, {2.0}]
    assert [len(cache) for cache in caches] == [1, 1], "two items of one text are one pair"
    caches[0].clear()
    assert [len(cache) for cache in caches] == [0, 1]
    assert [cache.score("fig", pair).stats.model_calls for cache in caches] == [1, 0]
    assert bool(ScoreCache(FunctionScorer(len, ITEMS, name="empty"), path))


def test_a_failing_scorer_keeps_what_was_paid(path):
    truth = counted_scorer()[1].score(QUERIES, candidates())
    function, scorer = counted_scorer(fails_at=3)
    with pytest.raises(ConnectionError):
        ScoreCache(scorer, path, chunk=2).score(QUERIES, candidates())
    paid = set(function.pairs)
    assert len(ScoreCache(scorer, path)) == len(paid) == 6
    function, scorer = counted_scorer()
    assert ScoreCache(scorer, path, chunk=2).score(QUERIES, candidates()) == truth
    assert paid.isdisjoint(function.pairs)
    assert paid | set(function.pairs) == distinct_texts(candidates())


def test_an_interrupt_keeps_what_was_paid(path):
    def interrupted(pairs):
        if len(ScoreCache(scorer, path)) >= 4:
            raise KeyboardInterrupt
        return [overlap(*pair) for pair in pairs]

    scorer = FunctionScorer(interrupted, ITEMS, takes="pairs", name="overlap 1")
    with pytest.raises(KeyboardInterrupt):
        ScoreCache(scorer, path, chunk=2).score(QUERIES, candidates())
    assert len(ScoreCache(scorer, path)) == 4


def test_what_others_store_meanwhile_is_not_sent(path):
    others = ScoreCache(counted_scorer()[1], path)
    sent = []

    def slow(pairs):
        if not sent:
            others.score(QUERIES, candidates())  # another process is faster
        sent.extend(pairs)
        return [overlap(*pair) for pair in pairs]

    cache = ScoreCache(FunctionScorer(slow, ITEMS, takes="pairs", name="overlap 1"), path, chunk=5)
    found = cache.score(QUERIES, candidates())
    assert found == others.score(QUERIES, candidates())
    assert found.stats.model_calls == len(sent) == 5


def test_texts_with_one_hash_raise_rather_than_share_a_score(path, monkeypatch):
    monkeypatch.setattr("vizsla.scorers.cache._digest", lambda data: data[:1])
    store = ScoreStore(path)
    store.put("scorer", [("query", "apple")], np.array([1.0], np.float32))
    assert store.get("scorer", [("query", "apple")]).tolist() == [1.0]
    with pytest.raises(FormatError, match="not the one that was stored"):
        store.get("scorer", [("query", "apricot")])


def test_wrong_numbers_are_not_stored(path):
    scorer = FunctionScorer(lambda q, ts: [float("nan")] * len(ts), ITEMS, name="broken")
    cache = ScoreCache(scorer, path)
    with pytest.raises(InputError, match="NaN"):
        cache.score("fig", Candidates.from_dict({"0": {"twin 1": 0.0}}))
    assert len(cache) == 0


def test_what_cannot_be_cached_is_refused(path):
    with pytest.raises(InputError, match=r"explicit name.*name=.*change it when the code changes"):
        ScoreCache(FunctionScorer(overlap, ITEMS), path)
    with pytest.raises(CompositionError, match="must be a TextScorer.*Got Bm25"):
        ScoreCache(bm25(ITEMS), path)
    with pytest.raises(InputError, match="`chunk` must be"):
        ScoreCache(counted_scorer()[1], path, chunk=0)
    assert not path.exists(), "what is refused leaves no file"


def test_threads_share_a_cache(path):
    _, scorer = counted_scorer()
    cache = ScoreCache(scorer, path, chunk=3)
    truth = [scorer.score(QUERIES, candidates(seed)) for seed in range(16)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda seed: cache.score(QUERIES, candidates(seed)), range(16)))
    assert found == truth
    assert len(cache) == len(set().union(*(distinct_texts(candidates(seed)) for seed in range(16))))


def test_it_pickles_by_its_path(path):
    cache = ScoreStore(path)
    cache.put("f", [("q", "t")], np.array([1.5], np.float32))
    assert pickle.loads(pickle.dumps(cache)).get("f", [("q", "t"), ("q", "u")]).tolist()[0] == 1.5


def _foreign(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()


def _newer(path):
    ScoreStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()


def _without_tables(path):
    ScoreStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE scores")
    connection.close()


UNSOUND = {
    "text": lambda path: path.write_bytes(b"id,score\n" * 1000),
    "foreign": _foreign,
    "newer": _newer,
    "without tables": _without_tables,
}


@pytest.mark.parametrize("kind", UNSOUND)
def test_a_file_that_is_no_score_cache_is_named_and_left_alone(path, kind):
    UNSOUND[kind](path)
    before = path.read_bytes()
    with pytest.raises(FormatError, match=r"scores\.db: not a sound score cache"):
        ScoreCache(counted_scorer()[1], path).score(QUERIES, candidates())
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_cache(path):
    path.touch()
    assert len(ScoreCache(counted_scorer()[1], path)) == 0


def test_a_path_that_cannot_be_used_is_named(tmp_path):
    for wrong in (tmp_path, tmp_path / "no folder" / "scores.db"):
        with pytest.raises(InputError, match=r"can be read and written. Got .*SQLite says"):
            ScoreCache(counted_scorer()[1], wrong)


@contextmanager
def nobody():
    """Give up the right of root to write everything, for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def test_a_file_that_may_only_be_read_is_named():
    _, scorer = counted_scorer()
    with TemporaryDirectory() as folder:  # not below pytest's own folder, into which nobody else may look
        path = Path(folder) / "scores.db"
        ScoreStore(path).close()
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        with nobody(), pytest.raises(InputError, match=r"can be read and written. Got .*scores\.db"):
            ScoreCache(scorer, path)
        Path(folder).chmod(0o755)


def test_a_write_that_sqlite_refuses_is_named(path):
    store = ScoreStore(path)
    store._file._connection().execute("PRAGMA query_only = 1")  # as a file system that was mounted to be read only
    with pytest.raises(InputError, match=r"scores\.db.*readonly"):
        store.put("f", [("q", "t")], np.zeros(1, np.float32))


def test_damage_anywhere_gives_the_truth_or_a_typed_error(path, tmp_path):
    """Bytes are changed all over the file: an answer may be missing or refused, but is never another one."""
    _, scorer = counted_scorer()
    cache = ScoreCache(scorer, path)
    truth = cache.score(QUERIES, candidates())
    cache.close()
    whole, pick = path.read_bytes(), np.random.default_rng(0)
    outcomes = {"same": 0, "refused": 0}
    for number in range(150):
        damaged = tmp_path / f"damaged {number}.db"
        data = bytearray(whole)
        for at in pick.integers(0, len(whole), size=1 + number % 40):
            data[at] ^= 1 << int(pick.integers(8))
        damaged.write_bytes(data[: len(whole) - 4096] if number % 10 == 0 else data)
        try:
            other = ScoreCache(scorer, damaged)
            assert other.score(QUERIES, candidates()) == truth
            outcomes["same"] += 1
        except (FormatError, InputError) as error:
            assert damaged.name in str(error)
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 5, outcomes


def test_a_copy_of_the_file_is_the_same_cache(path, tmp_path):
    _, scorer = counted_scorer()
    cache = ScoreCache(scorer, path)
    cache.score(QUERIES, candidates())
    cache.close()
    shutil.copy(path, tmp_path / "copy.db")
    assert len(ScoreCache(scorer, tmp_path / "copy.db")) == len(cache)


def test_a_pause_of_minutes_is_no_wait_for_others(monkeypatch):
    clock, busy = itertools.count(0.0, 600.0), [sqlite3.OperationalError("locked") for _ in range(100)]
    for error in busy:
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
    monkeypatch.setattr(sqlite.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(sqlite.time, "sleep", lambda seconds: None)

    def act():
        if busy:
            raise busy.pop()
        return "mine"

    assert sqlite._patiently(act) == "mine"
    busy += [error] * 200
    with pytest.raises(sqlite3.OperationalError):
        sqlite._patiently(act)


@pytest.mark.parametrize("chunk", [1, 4, 1000])
def test_wherever_a_scorer_fails_what_it_answered_is_kept_and_the_rest_is_paid(path, chunk):
    """Some pairs were stored before and many come twice; the scorer answers so many pairs and then fails."""
    _, sound = counted_scorer()
    truth = sound.score(QUERIES, candidates(seed=2))
    before = distinct_texts(candidates(seed=1))
    new = distinct_texts(candidates(seed=2)) - before
    for most in range(0, len(new), 3):
        function, scorer = counted_scorer()
        file = path.with_name(f"{most}.db")
        ScoreCache(scorer, file).score(QUERIES, candidates(seed=1))
        answered = []

        def failing(pairs, answered=answered, most=most):
            known = [overlap(*pair) for pair in pairs[: most - len(answered)]]
            answered.extend(pairs[: len(known)])
            if len(known) < len(pairs):
                raise ScorerError("the service is away", answered=known, sent=len(known) + 1)
            return known

        broken = FunctionScorer(failing, ITEMS, takes="pairs", name="overlap 1")
        with pytest.raises(ScorerError) as failure:
            ScoreCache(broken, file, chunk=chunk).score(QUERIES, candidates(seed=2))
        assert (failure.value.answered, failure.value.sent) == ((), None), "the caller's first pairs are others"
        assert len(answered) == most and len(ScoreCache(scorer, file)) == len(before) + most
        function.calls.clear()
        found = ScoreCache(scorer, file, chunk=chunk).score(QUERIES, candidates(seed=2))
        assert found == truth
        assert sorted(function.pairs) == sorted(new - set(answered)) and found.stats.model_calls == len(new) - most
