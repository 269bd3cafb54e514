"""Merging stays within the declared memory, beside searches and deletions that go on."""

import os
import random
import shutil
import subprocess
import sys
import threading

import pytest

from vizsla import Recipe
from vizsla.engine import word_member
from vizsla.engine.engine import Engine
from vizsla.errors import InputError
from vizsla.text.analyzers import AnyLanguage

WORDS = {"words": Recipe.of("bm25", analyzer=AnyLanguage("english"))}
SMALL_MB, ROWS, SEGMENTS = 40, 3000, 10


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """An engine of ten segments that need more memory to be merged than 40 MB."""
    folder = tmp_path_factory.mktemp("bounded") / "engine"
    chance = random.Random(0)
    words = [f"w{number}" for number in range(5000)]
    with Engine.create(folder, members=WORDS, memory_mb=SMALL_MB, maintenance="manual") as engine:
        for number in range(SEGMENTS):
            rows = {f"i{number * ROWS + n}": " ".join(chance.choices(words, k=80)) for n in range(ROWS)}
            rows |= {f"f{number}": "fig one two"}
            engine.add(rows)
            engine.flush()
    return folder


def merged(folder, megabytes):
    command = [sys.executable, "-m", "tests.engine.merge_within", str(folder), str(megabytes)]
    limited = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, env=limited, capture_output=True, text=True, check=True).stdout.split()


def test_a_merge_takes_no_more_memory_than_was_declared(template, tmp_path):
    shutil.copytree(template, tmp_path / "engine")
    left = [int(rows) for rows in merged(tmp_path / "engine", SMALL_MB)]
    assert sum(left) == SEGMENTS * (ROWS + 1)
    assert 1 < len(left) < SEGMENTS


def test_the_same_memory_is_not_enough_where_more_was_declared(template, tmp_path):
    shutil.copytree(template, tmp_path / "engine")
    with Engine.open(tmp_path / "engine", maintenance="manual") as engine:
        engine._writer.store(
            lambda connection: (
                connection.execute("UPDATE settings SET value = '9999' WHERE name = 'memory_mb'") and None
            )
        )
    assert merged(tmp_path / "engine", SMALL_MB) == ["MemoryError"]


def test_a_deletion_and_a_search_during_a_merge_wait_for_nothing_and_are_not_lost(template, tmp_path, monkeypatch):
    shutil.copytree(template, tmp_path / "engine")
    begun, go_on, real = threading.Event(), threading.Event(), word_member.write_segment

    def slow(folder, arrays):
        begun.set()
        assert go_on.wait(60)
        real(folder, arrays)

    monkeypatch.setattr(word_member, "write_segment", slow)
    with Engine.open(tmp_path / "engine", maintenance="manual") as engine:
        worker = threading.Thread(target=engine.compact)
        worker.start()
        assert begun.wait(60)
        assert "f3" in engine.search("fig one two", 20).ids[0]
        engine.delete(["f3", "i5"])
        engine.add({"new": "fig one two"})
        found = engine.search("fig one two", 20).ids[0]
        assert "f3" not in found
        assert "new" in found
        assert worker.is_alive()
        go_on.set()
        worker.join()
        again = engine.search("fig one two", 20)
        assert again.ids[0] == found
        assert engine.count() == SEGMENTS * (ROWS + 1) - 1
        assert engine.check() == []
        assert engine.stats()["maintenance_error"] is None


def test_new_rows_become_a_segment_before_they_take_too_much(tmp_path):
    with Engine.create(tmp_path / "engine", members=WORDS, memory_mb=1) as engine:
        for number in range(4):
            engine.add({f"i{number}-{n}": " ".join(f"w{n}x{k}" for k in range(100)) for n in range(400)})
            engine.search("w1x1")
        engine.close()
        assert len(engine.stats()["segments"]) > 0
    with pytest.raises(InputError, match="memory_mb"):
        Engine.create(tmp_path / "other", memory_mb=0)
