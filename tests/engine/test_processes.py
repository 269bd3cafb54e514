"""Several processes and threads over one engine: writes are serialized, readers follow, a fork goes on by itself."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from vizsla import Recipe
from vizsla.engine.engine import Engine
from vizsla.errors import InputError

WORDS = {"words": Recipe.of("bm25")}


def started(folder, name, count):
    command = [sys.executable, "-m", "tests.engine.write_items", str(folder), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def expected(name, count):
    numbers = [n for n in range(count) if (n + 3) % 5 != 0 or n + 2 >= count]
    return {f"{name}-{number}" for number in numbers}


def test_two_processes_and_this_one_write_at_the_same_time(tmp_path):
    engine = Engine.create(tmp_path / "engine", members=WORDS, flush_rows=15)
    writers = [started(tmp_path / "engine", name, 40) for name in ("a", "b")]
    for number in range(40):
        engine.add({f"c-{number}": f"c fig {number}"})
        assert f"c-{number}" in engine.search(f"c {number}", 100).ids[0]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    wanted = {f"c-{number}" for number in range(40)} | expected("a", 40) | expected("b", 40)
    assert set(engine.items) == wanted
    engine.maintain()
    assert set(engine.items) == wanted
    assert engine.check() == []
    fresh = Recipe.of("bm25").build({id: engine.get(id).text for id in engine.items})
    assert engine.search("a fig 7", 200).ids == fresh("a fig 7", 200).ids
    assert engine.search("a fig 7", 200).scores.tolist() == fresh("a fig 7", 200).scores.tolist()
    engine.close()


def test_what_another_process_was_told_is_stored_is_found_by_the_next_search(tmp_path):
    engine = Engine.create(tmp_path / "engine", members=WORDS, flush_rows=10)
    assert engine.search("fig").ids == [[]]
    writer = started(tmp_path / "engine", "a", 30)
    for line in writer.stdout:
        number = int(line)
        if number % 5 != 2:
            assert f"a-{number}" in engine.search(str(number), 100).ids[0]
        if number % 5 == 4:
            assert f"a-{number - 2}" not in engine.search("fig", 100).ids[0]
    assert writer.wait() == 0
    assert set(engine.items) == expected("a", 30)
    engine.close()


def test_threads_share_commits_and_each_gets_its_own_answer(tmp_path):
    engine = Engine.create(tmp_path / "engine", members=WORDS)
    before, wrong, barrier = engine.stats()["commits"], [], threading.Barrier(8)

    def write(name):
        barrier.wait()
        for number in range(20):
            engine.add({f"{name}-{number}": "a fig"})
            try:
                engine.add({f"{name}-{number}": "twice"})
            except InputError as error:
                if f"{name}-{number}" in str(error):
                    continue
            wrong.append((name, number))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert engine.count() == 160
    assert engine.stats()["commits"] - before <= 160
    assert all(engine.get(id).text == "a fig" for id in engine.items)
    engine.close()


def test_searches_of_several_threads_go_on_while_items_change_and_segments_are_merged(tmp_path):
    engine = Engine.create(tmp_path / "engine", members=WORDS, flush_rows=20, durability="process")
    engine.add({f"kept-{number}": "a kept fig" for number in range(30)})
    stop, wrong = threading.Event(), []

    def search():
        while not stop.is_set():
            found = engine.search("kept", 100).ids[0]
            if sorted(found) != sorted(f"kept-{number}" for number in range(30)):
                wrong.append(found)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(60):
        engine.add({f"new-{number}-{each}": "a new pear" for each in range(4)})
        engine.delete(f"new-{number}-1")
    stop.set()
    for thread in threads:
        thread.join()
    engine.close()
    assert wrong == []
    again = Engine.open(tmp_path / "engine")
    assert again.stats()["maintenance_error"] is None
    assert again.count() == 30 + 60 * 3
    assert len(again.stats()["segments"]) >= 1
    again.close()


def test_a_forked_child_reads_and_writes_by_itself(tmp_path):
    engine = Engine.create(tmp_path / "engine", members=WORDS)
    engine.add({"a": "a fig"})
    assert engine.search("fig").ids == [["a"]]
    child = os.fork()
    if not child:
        code = 1
        try:
            engine.add({"b": "another fig"})
            code = 0 if engine.search("another").ids == [["b"]] else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert engine.search("another").ids == [["b"]]
    engine.close()


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_writers_with_stale_views_the_second_sees_what_the_first_stored(tmp_path, order):
    engines = [Engine.create(tmp_path / "engine", members=WORDS), Engine.open(tmp_path / "engine")]
    for engine in engines:
        assert engine.count() == 0
    first, second = (engines[at] for at in order)
    first.add({"a": "a fig"})
    with pytest.raises(InputError, match="must be new"):
        second.add({"a": "a pear"})
    second.upsert({"a": "a pear"})
    first.delete("a")
    with pytest.raises(InputError, match="must be items"):
        second.click("fig", "a")
    assert [engine.count() for engine in engines] == [0, 0]
    for engine in engines:
        engine.close()


def kill_at(number, folder):
    """Kill this process at the given change of a file or folder below another; return what counts them."""
    seen = []

    def hook(event, values):
        places = [str(value) for value in values[:2] if isinstance(value, str | os.PathLike)]
        if event in ("open", "os.mkdir", "os.rename", "sqlite3.connect") and any(str(folder) in at for at in places):
            seen.append(event)
            if len(seen) == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    return seen


def test_an_engine_whose_making_is_stopped_is_there_whole_or_not_at_all(tmp_path):
    members = {**WORDS, "more": Recipe.of("bm25", b=0.3), "both": "words|more"}
    killed, made = 0, False
    for number in range(1, 400, 3):
        folder = tmp_path / f"made-{number}" / "engine"
        folder.parent.mkdir()
        child = os.fork()
        if not child:
            try:
                kill_at(number, folder.parent)
                Engine.create(folder, members=members, metadata={"price": "number"}, maintenance="manual")
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        made = os.waitstatus_to_exitcode(status) == 0
        assert made or os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        killed += not made
        if folder.exists():
            with Engine.open(folder, maintenance="manual") as engine:
                assert list(engine.members) == list(members)
        else:
            assert not made
            with Engine.create(folder, members=members, maintenance="manual") as engine:
                assert list(engine.members) == list(members)
        if made:
            break
    assert made and killed > 5


def test_a_member_that_was_dropped_and_is_back_hides_what_was_removed(tmp_path):
    members = {"words": Recipe.of("bm25"), "extra": Recipe.of("bm25", k1=0.9)}
    with Engine.create(tmp_path / "e", members=members, default="extra", maintenance="manual") as writer:
        writer.add({f"i{n}": f"a fig tree {n}" for n in range(6)})
        writer.flush()
        writer.delete(["i0", "i3"])
        with Engine.open(tmp_path / "e", maintenance="manual") as reader:
            wanted = reader.search("fig tree 4")
            writer.snapshot("before")
            writer.set_default("words")
            writer.drop_member("extra")
            writer.rollback("before")  # writes the parts of the member anew
            found = reader.search("fig tree 4")
            assert found.ids == wanted.ids
            assert found.scores.tobytes() == wanted.scores.tobytes()
