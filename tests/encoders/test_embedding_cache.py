"""EmbeddingCache: the vectors of the encoder inside, bit for bit, each made once."""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import vizsla
from tests.support.interrupts import wait_until
from vizsla.encoders import EmbeddingCache, FunctionEncoder, LsaEncoder
from vizsla.encoders.adapted import AdaptedEncoder
from vizsla.encoders.cache import MIN_FILE_BYTES
from vizsla.errors import FormatError, InputError

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["fig", "pear", "apple", "plum", "quince", "grape", "", "a fig tree", "naïve 梨"]

PROCESS = """
import sys
import numpy as np
from vizsla.encoders import EmbeddingCache, FunctionEncoder

def rows(texts):
    with open(sys.argv[2], "a") as log:
        log.writelines(f"{text}\\n" for text in texts)
    return [[len(text), int(text)] for text in texts]

cache = EmbeddingCache(FunctionEncoder(rows, dim=2, name="numbers"), sys.argv[1], chunk=5)
texts = [str(number) for number in range(int(sys.argv[3]), int(sys.argv[4]))]
assert cache.items(texts).tolist() == [[len(text), int(text)] for text in texts]
"""


class Counted:
    """An encoder of pseudo-random vectors that notes the texts it is given."""

    def __init__(self, dim: int = 8, name: str = "random"):
        self.seen: list[str] = []
        self.encoder = FunctionEncoder(
            lambda texts: self.made(texts, 0), items=lambda texts: self.made(texts, 1), dim=dim, name=name
        )

    def made(self, texts, side):
        self.seen += texts
        return [truth(text, side, self.encoder.dim) for text in texts]


def truth(text, side, dim=8):
    return np.random.default_rng([side, *text.encode()]).normal(size=dim).astype(np.float32)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "vectors.db"


def test_no_text_is_encoded_twice_and_bits_stay(path):
    inner = Counted()
    for _ in range(3):
        cache = EmbeddingCache(inner.encoder, path)
        assert np.array_equal(cache.items([*WORDS, *WORDS]), [truth(word, 1) for word in WORDS] * 2)
        assert np.array_equal(cache.queries(WORDS), [truth(word, 0) for word in WORDS])
        assert np.array_equal(cache.encoded(vizsla.base.Queries(WORDS[::-1])), [truth(word, 0) for word in WORDS[::-1]])
        cache.close()
    assert sorted(inner.seen) == sorted(WORDS * 2)  # once for each side
    assert len(cache) == 2 * len(WORDS)


def test_encoders_in_one_file_do_not_see_each_others_vectors(path):
    one, other = Counted(8, "one"), Counted(3, "other")
    first, second = EmbeddingCache(one.encoder, path), EmbeddingCache(other.encoder, path)
    first.items(["fig"])
    assert second.items(["fig"]).shape == (1, 3)
    second.clear()
    assert len(first) == 1 and len(second) == 0


def test_artifacts_and_queries_treat_it_as_the_encoder_inside(path, tmp_path):
    inner = LsaEncoder.fit(WORDS, dim=2)
    cache = EmbeddingCache(inner, path)
    items = dict(zip("abcd", WORDS[:4], strict=True))
    built, plain = vizsla.dense(items, cache), vizsla.dense(items, inner)
    assert built("fig pear") == plain("fig pear")
    assert built.recipe == plain.recipe
    built.save(tmp_path / "one.idx")
    plain.save(tmp_path / "two.idx")
    loaded = vizsla.load(tmp_path / "one.idx")
    assert isinstance(loaded.encoder, LsaEncoder) and loaded("fig") == plain("fig")
    assert loaded.with_encoder(cache)("fig") == plain("fig")
    manifests = [(tmp_path / name / "manifest.json").read_bytes() for name in ("one.idx", "two.idx")]
    assert len(manifests[0]) == len(manifests[1])


def test_one_call_encodes_a_query_once_for_cache_and_parts(path):
    inner = Counted()
    cached = EmbeddingCache(AdaptedEncoder(inner.encoder, np.eye(8, dtype=np.float32)), path)
    queries = vizsla.base.Queries(["fig", "pear"])
    queries.encoded(cached)
    queries.encoded(inner.encoder)
    assert inner.seen == ["fig", "pear"]


def test_a_rebuild_encodes_only_what_is_new(path):
    inner = Counted()
    cache = EmbeddingCache(inner.encoder, path)
    vizsla.dense({"a": "fig", "b": "pear"}, cache)
    inner.seen.clear()
    vizsla.dense({"a": "fig", "c": "plum", "d": "fig"}, cache)
    assert inner.seen == ["plum"]


def test_processes_share_what_they_encode(path, tmp_path):
    logs = [tmp_path / f"{number}.log" for number in range(3)]
    spans = [(0, 60), (40, 100), (0, 100)]
    for log, (start, end) in zip(logs, spans, strict=True):
        command = [sys.executable, "-c", PROCESS, str(path), str(log), str(start), str(end)]
        subprocess.run(command, cwd=ROOT, check=True)
    seen = [line for log in logs if log.exists() for line in log.read_text().split()]
    assert sorted(seen, key=int) == [str(number) for number in range(100)]


def test_a_killed_process_loses_at_most_a_chunk(path, tmp_path):
    log = tmp_path / "log"
    slow = PROCESS.replace("return", "import time; time.sleep(0.01)\n    return")
    for _ in range(5):
        before = len(log.read_text().split()) if log.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", slow, str(path), str(log), "0", "10000"], cwd=ROOT)
        wait_until(lambda before=before: log.exists() and len(log.read_text().split()) > before + 20, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
    seen = log.read_text().split()
    cache = EmbeddingCache(FunctionEncoder(lambda texts: 1 / 0, dim=2, name="numbers"), path)
    assert len(seen) - 5 * 5 <= len(cache) <= len(seen)
    known = [str(number) for number in range(len(cache))]
    assert cache.items(known).tolist() == [[len(text), int(text)] for text in known]


def test_a_bounded_file_forgets_what_was_used_longest_ago(path):
    inner = Counted(256)
    cache = EmbeddingCache(inner.encoder, path, MIN_FILE_BYTES)
    texts = [str(number) for number in range(2000)]
    for start in range(0, len(texts), 50):
        cache.items(texts[start : start + 50])
        cache.items(["0", "1", "2"])  # used all the time
    assert inner.seen == texts
    cache.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert path.stat().st_size <= MIN_FILE_BYTES * 1.05
    assert 100 < len(cache) < 256
    inner.seen.clear()
    assert np.array_equal(
        cache.items(["0", "1", "2", "1999"]), [truth(text, 1, 256) for text in ["0", "1", "2", "1999"]]
    )
    assert inner.seen == []
    cache.items(["3"])
    assert inner.seen == ["3"]


def test_more_than_fits_is_encoded_all_the_same(path):
    inner = Counted(256)
    cache = EmbeddingCache(inner.encoder, path, MIN_FILE_BYTES, chunk=1000)
    texts = [str(number) for number in range(1000)]
    assert np.array_equal(cache.items(texts), [truth(text, 1, 256) for text in texts])
    assert 0 < len(cache) < 300


def test_damage_anywhere_gives_the_truth_or_a_typed_error(path, tmp_path):
    inner = Counted()
    cache = EmbeddingCache(inner.encoder, path)
    expected = cache.items(WORDS)
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
            assert np.array_equal(EmbeddingCache(inner.encoder, damaged).items(WORDS), expected)
            outcomes["same"] += 1
        except (FormatError, InputError) as error:
            assert damaged.name in str(error)
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 5, outcomes


@pytest.mark.parametrize("change", ["numbers = x'00'", "numbers = 'text'", "seal = seal + 1", "side = 0"])
def test_a_changed_row_is_damage(path, change):
    inner = Counted()
    cache = EmbeddingCache(inner.encoder, path)
    cache.items(["fig"])
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE vectors SET {change}")
    with pytest.raises(FormatError, match="embedding cache"):
        cache.queries(["fig"]) if "side" in change else cache.items(["fig"])


def test_other_files_are_refused(path, tmp_path):
    vizsla.ScoreCache(vizsla.FunctionScorer(len, {"a": "fig"}, name="one"), path)
    with pytest.raises(FormatError, match="another program"):
        EmbeddingCache(Counted().encoder, path)
    with pytest.raises(InputError, match="must be a file that can be read and written"):
        EmbeddingCache(Counted().encoder, tmp_path)


def test_arguments_are_checked(path):
    sparse = vizsla.bm25(["fig"]).encoder
    with pytest.raises(InputError, match="`encoder` must give dense vectors"):
        EmbeddingCache(sparse, path)
    with pytest.raises(InputError, match="`max_bytes` must be at least 262,144"):
        EmbeddingCache(Counted().encoder, path, 1000)
    with pytest.raises(InputError, match="`texts` must hold many"):
        EmbeddingCache(Counted().encoder, path).items("fig")


def test_threads_and_forks_share_a_cache(path):
    inner = Counted()
    cache = EmbeddingCache(inner.encoder, path)
    expected, wrong = [truth(word, 1) for word in WORDS], []

    def ask():
        for _ in range(20):
            if not np.array_equal(cache.items(WORDS), expected):
                wrong.append(1)

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    child = os.fork()
    if not child:
        os._exit(0 if np.array_equal(cache.items(WORDS), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_it_can_be_pickled(path):
    lsa = LsaEncoder.fit(WORDS, dim=2)
    cache = EmbeddingCache(lsa, path, 1 << 20)
    other = pickle.loads(pickle.dumps(cache))
    assert other.max_bytes == 1 << 20 and np.array_equal(other.items(WORDS), cache.items(WORDS))
