"""Sync: the engine holds what a folder or a file holds, reads only what has changed, and survives being killed."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

import vizsla
from vizsla.cli import main
from vizsla.engine.engine import Engine
from vizsla.errors import DataError, InputError
from vizsla.io.documents import FolderSource

LONG_AGO = 1_000_000_000
WORDS = ["fig", "pear", "plum", "tree", "sweet", "sour", "ripe", "green", "garden", "basket"]
QUERIES = ["fig tree", "sweet plum", "green garden basket", "ripe"]


def write(path, text, *, age=0):
    """Write a file whose time is long ago, so that it counts as settled; each age is another time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (LONG_AGO + age, LONG_AGO + age))


def prose(seed):
    chance = random.Random(seed)
    parts = [f"# Part {n} of {seed}\n\n{' '.join(chance.choices(WORDS, k=30))}." for n in range(3)]
    return "\n\n".join(parts)


@pytest.fixture
def folder(tmp_path):
    for number in range(6):
        write(tmp_path / "docs" / f"part{number % 2}" / f"{number}.md", prose(number))
    return tmp_path / "docs"


@pytest.fixture
def engine(tmp_path):
    with Engine.create(tmp_path / "e", members={"words": vizsla.Recipe.of("bm25")}, maintenance="manual") as made:
        yield made


@pytest.fixture
def reads(monkeypatch):
    """The names of the documents that are read."""
    names, content = [], FolderSource.content
    monkeypatch.setattr(FolderSource, "content", lambda self, path: names.append(path.name) or content(self, path))
    return names


def held(engine):
    items = (engine.get(id) for id in engine.items)
    return {item.id: (item.title, item.text, dict(item.metadata)) for item in items}


def wanted(source, **options):
    items = vizsla.Dataset.open(source, **options).items
    return {
        item.id: (item.title, item.text, {k: v for k, v in item.metadata.items() if v not in ("", None)})
        for item in items
    }


def answers(engine):
    found = engine.search(QUERIES, 1000)
    return [{hit.id: hit.score for hit in hits} for hits in found]


def check_as_fresh(engine, source, where):
    """The engine holds what the files hold, and answers as a new engine of them: bit for bit in the same order of rows.

    In the order of the folder, words get other numbers, and sums of three terms may differ in the last bit.
    """
    assert held(engine) == wanted(source)
    items = {item.id: item for item in vizsla.Dataset.open(source).items}
    for name, order in (("folder", list(items)), ("rows", list(engine.items))):
        with Engine.create(where / name, members={"words": vizsla.Recipe.of("bm25")}, maintenance="manual") as fresh:
            fresh.add(items[id] for id in order)
            for got, expected in zip(answers(engine), answers(fresh), strict=True):
                assert got == (expected if name == "rows" else pytest.approx(expected, rel=1e-6))


def counts(report):
    return report.added, report.changed, report.deleted, report.unchanged


def test_only_the_changed_file_is_read(engine, folder, reads, tmp_path):
    assert counts(engine.sync(folder)) == (6, 0, 0, 0)
    check_as_fresh(engine, folder, tmp_path / "f1")
    reads.clear()
    assert counts(engine.sync(folder)) == (0, 0, 0, 6)
    assert reads == []
    write(folder / "part1" / "3.md", prose(30), age=1)
    report = engine.sync(folder)
    assert (counts(report), report.read, reads) == ((0, 1, 0, 5), 1, ["3.md"])
    check_as_fresh(engine, folder, tmp_path / "f2")


def test_a_touched_file_is_read_once_and_nothing_is_stored(engine, folder, reads):
    engine.sync(folder)
    last = engine._catalog.maintain(lambda c: c.execute("SELECT max(n) FROM items").fetchone())
    reads.clear()
    os.utime(folder / "part0" / "0.md", (LONG_AGO + 5, LONG_AGO + 5))
    assert counts(engine.sync(folder)) == (0, 0, 0, 6)
    assert counts(engine.sync(folder)) == (0, 0, 0, 6)
    assert reads == ["0.md"]
    assert engine._catalog.maintain(lambda c: c.execute("SELECT max(n) FROM items").fetchone()) == last


def test_a_change_of_the_same_size_at_the_same_time_is_found(engine, folder):
    path, now = folder / "part0" / "0.md", time.time_ns()
    path.write_text("# A\n\na fig")
    os.utime(path, ns=(now, now))
    engine.sync(folder)
    path.write_text("# A\n\na nut")
    os.utime(path, ns=(now, now))
    engine.sync(folder)
    assert engine.get("part0/0.md#a").text == "a nut"


def test_passages_that_stay_keep_their_rows_and_clicks(engine, folder):
    path = folder / "note.md"
    write(path, "# A\n\na fig\n\n# B\n\na pear\n")
    engine.sync(folder, passage_min=0)
    numbers = dict(engine._catalog.maintain(lambda c: c.execute("SELECT id, n FROM items").fetchall()))
    engine.clicks([("x", "note.md#a"), ("x", "note.md#b")])
    write(path, "# A\n\na fig\nfrom afar\n\n# B\n\na pear\n", age=1)
    engine.sync(folder, passage_min=0)
    again = dict(engine._catalog.maintain(lambda c: c.execute("SELECT id, n FROM items ORDER BY n").fetchall()))
    assert again["note.md#a"] != numbers["note.md#a"]
    assert again["note.md#b"] == numbers["note.md#b"]
    assert engine.get("note.md#b").metadata["start_line"] == 8
    assert engine.count(vizsla.where("start_line=8 and path=note.md")) == 1
    assert engine.stats()["clicks"] == 2


def test_vanished_and_renamed_files(engine, folder, reads, tmp_path):
    engine.sync(folder)
    engine.add({"by hand": "a fig"})
    (folder / "part0" / "0.md").unlink()
    (folder / "part0" / "2.md").rename(folder / "part1" / "two.md")
    reads.clear()
    assert counts(engine.sync(folder)) == (1, 0, 2, 4)
    assert reads == ["two.md"]
    assert not [id for id in engine.items if id.startswith(("part0/0.md", "part0/2.md"))]
    engine.delete("by hand")
    check_as_fresh(engine, folder, tmp_path / "f")


def test_sections_that_are_gone_are_deleted(engine, folder):
    engine.sync(folder)
    write(folder / "part0" / "0.md", "# Only\n\none fig", age=1)
    engine.sync(folder)
    assert [id for id in engine.items if id.startswith("part0/0.md")] == ["part0/0.md#only"]


def test_a_file_that_becomes_unreadable_is_told_and_stays(engine, folder):
    engine.sync(folder)
    before = held(engine)
    write(folder / "part0" / "0.md", b"# Part\n\n\xff\xfe fig", age=1)
    for _ in range(2):
        report = engine.sync(folder)
        assert counts(report) == (0, 0, 0, 5)
        assert "1 documents cannot be read, and stay as they were" in report.left_out[0]
        assert "0.md" in report.left_out[0]
    assert held(engine) == before
    with pytest.raises(DataError, match="not utf-8"):
        engine.sync(folder, on_error="raise")
    write(folder / "part0" / "0.md", "# Part\n\na fig", age=2)
    assert counts(engine.sync(folder)) == (0, 1, 0, 5)
    assert held(engine) == wanted(folder)


def test_other_files_are_counted_with_the_reason(engine, folder):
    write(folder / "photo.jpg", "x")
    report = engine.sync(folder)
    assert ".jpg 1" in report.left_out[0]


def test_a_place_that_is_not_there_deletes_nothing(engine, folder, tmp_path):
    engine.sync(folder)
    count = engine.count()
    folder.rename(tmp_path / "moved")
    with pytest.raises(InputError, match="nothing was deleted"):
        engine.sync(folder)
    with pytest.raises(InputError, match="which came from"):
        engine.sync(tmp_path / "moved")
    assert engine.count() == count
    assert engine.delete(path=folder) == count
    assert counts(engine.sync(tmp_path / "moved")) == (6, 0, 0, 0)
    assert engine.count() == count


def test_deleting_by_path(engine, folder):
    engine.sync(folder)
    assert engine.delete(path=folder / "part0" / "0.md") == 3
    assert engine.delete(path="part0") == 6
    assert all(id.startswith("part1/") for id in engine.items)
    with pytest.raises(InputError, match="that was synced"):
        engine.delete(path="part0")
    assert engine.delete(path="part0", unknown="ignore") == 0
    with pytest.raises(InputError, match="none, or more than one"):
        engine.delete("x", path="y")


def test_other_sizes_of_passages_read_all_again(engine, folder, reads):
    engine.sync(folder)
    reads.clear()
    assert counts(engine.sync(folder, passage_size=10)) == (0, 6, 0, 0)
    assert len(reads) == 6
    assert held(engine) == wanted(folder, passage_size=10)
    with pytest.raises(InputError, match="Got queries"):
        engine.sync(folder, queries="x")


@pytest.mark.parametrize("seed", range(3))
def test_any_sequence_of_changes_ends_as_a_fresh_engine(engine, folder, tmp_path, seed):
    chance = random.Random(seed)
    for step in range(25):
        files = sorted(path for path in folder.rglob("*.md"))
        act, path = chance.choice(["write", "new", "delete", "rename"]), chance.choice(files)
        if act == "write":
            write(path, prose(chance.random()), age=step + 1)
        elif act == "new":
            write(folder / f"new{step}.md", prose(chance.random()), age=step + 1)
        elif act == "delete" and len(files) > 2:
            path.unlink()
        else:
            path.rename(folder / f"renamed{step}.md")
        if chance.random() < 0.5:
            engine.sync(folder)
        if chance.random() < 0.2:
            engine.flush()
    engine.sync(folder)
    check_as_fresh(engine, folder, tmp_path / "fresh")


def table(rows):
    return "id,text,price\n" + "".join(f"{id},{text},{price}\n" for id, (text, price) in rows.items())


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_rows_of_a_catalog(engine, tmp_path, monkeypatch, kind):
    monkeypatch.setattr("vizsla.engine.sync.ITEMS_PER_TRANSACTION", 7)
    rows = {f"p{n}": (f"{WORDS[n % 10]} {WORDS[n // 5]} {n}", n) for n in range(40)}
    path = tmp_path / f"items.{kind}"

    def save(age):
        lines = [f'{{"id": "{id}", "text": "{text}", "price": {price}}}\n' for id, (text, price) in rows.items()]
        write(path, table(rows) if kind == "csv" else "".join(lines), age=age)

    save(0)
    assert counts(engine.sync(path)) == (40, 0, 0, 0)
    check_as_fresh(engine, path, tmp_path / "f1")
    last = engine._catalog.maintain(lambda c: c.execute("SELECT max(n) FROM items").fetchone()[0])
    engine.click("best", "p3")
    rows["p3"] = ("a green fig", 3)
    rows["p4"] = (rows["p4"][0], 99)
    del rows["p5"]
    rows["p99"] = ("a new plum", 1)
    save(1)
    assert counts(engine.sync(path)) == (1, 2, 1, 37)
    assert engine._catalog.maintain(lambda c: c.execute("SELECT max(n) FROM items").fetchone()[0]) == last + 2
    assert engine.stats()["clicks"] == 1
    assert engine.count(vizsla.where("price=99")) == 1
    check_as_fresh(engine, path, tmp_path / "f2")
    report = engine.sync(path)
    assert (counts(report), report.read) == ((0, 0, 0, 40), 0)
    assert engine.delete(path=path) == 40


def test_a_catalog_with_an_id_twice(engine, tmp_path):
    path = tmp_path / "items.csv"
    write(path, "id,text\na,fig\nb,pear\na,plum\n")
    with pytest.raises(DataError, match="line 4.*given before"):
        engine.sync(path)
    report = engine.sync(path, on_error="skip")
    assert (engine.count(), engine.get("a").text) == (2, "fig")
    assert "1 rows" in report.left_out[0]
    other = tmp_path / "other.csv"
    write(other, "id,text\nb,plum\n")
    with pytest.raises(InputError, match=r"came from .*items.csv"):
        engine.sync(other)


def test_a_dataset_folder_names_its_file(engine, tmp_path):
    write(tmp_path / "beir" / "corpus.jsonl", '{"_id": "a", "text": "fig"}\n')
    with pytest.raises(InputError, match=r"give its corpus.jsonl"):
        engine.sync(tmp_path / "beir")
    assert engine.sync(tmp_path / "beir" / "corpus.jsonl").added == 1


@pytest.mark.parametrize("seed", range(8))
def test_killed_in_the_middle_each_file_is_old_or_new(engine, folder, tmp_path, monkeypatch, seed):
    monkeypatch.setattr("vizsla.engine.sync.ITEMS_PER_TRANSACTION", 4)
    engine.sync(folder)
    old, chance = held(engine), random.Random(seed)
    (folder / "part0" / "0.md").unlink()
    for number in range(1, 12):
        write(folder / f"part{number % 2}" / f"{number}.md", prose(100 + number), age=1)
    new = wanted(folder)
    engine.close()
    kill_while_reading(tmp_path / "e", folder, chance.randint(1, 11), chance.random() * 0.01)
    with Engine.open(tmp_path / "e", maintenance="manual") as again:
        now = held(again)
        for file in {item[2]["path"] for item in [*old.values(), *new.values()]}:
            states = [{id: item for id, item in each.items() if item[2]["path"] == file} for each in (now, old, new)]
            assert states[0] in states[1:], file
        again.sync(folder)
        assert again.check() == []
        check_as_fresh(again, folder, tmp_path / "fresh")


def kill_while_reading(where, folder, count, delay):
    """Let a child sync, and kill it a moment after it has read so many files."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            content = FolderSource.content
            FolderSource.content = lambda self, path: (os.write(writing, b"r"), content(self, path))[1]
            Engine.open(where, maintenance="manual").sync(folder)
            time.sleep(60)
        finally:
            os._exit(1)
    os.close(writing)
    for _ in range(count):
        assert os.read(reading, 1) == b"r"
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)


def test_two_processes_may_sync_one_folder(engine, folder, tmp_path):
    program = "import sys, vizsla; e = vizsla.Engine.open(sys.argv[1]); e.sync(sys.argv[2]); e.close()"
    command = [sys.executable, "-c", program, str(tmp_path / "e"), str(folder)]
    others = [subprocess.Popen(command) for _ in range(2)]
    engine.sync(folder)
    assert [other.wait() for other in others] == [0, 0]
    check_as_fresh(engine, folder, tmp_path / "fresh")


def test_the_command_line(engine, folder, tmp_path, capsys):
    shop = str(tmp_path / "e")
    assert main(["engine", "sync", shop, str(folder), "--passage-size", "50"]) == 0
    assert "6 added, 0 changed, 0 deleted, 0 unchanged" in capsys.readouterr().out
    assert main(["engine", "delete", shop, "--path", str(folder / "part0")]) == 0
    assert "9 deleted, 9 items" in capsys.readouterr().out
    assert main(["engine", "sync", shop, str(tmp_path / "nowhere")]) == 2
    assert "nothing was deleted" in capsys.readouterr().err


def test_watching_follows_changes_and_ends_with_ctrl_c(engine, folder, tmp_path):
    command = [sys.executable, "-m", "vizsla", "engine", "sync", str(tmp_path / "e"), str(folder), "--watch"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watcher:
        assert "6 added" in watcher.stdout.readline()
        write(folder / "more.md", "# More\n\na quince")
        assert "1 added, 0 changed, 0 deleted, 6 unchanged" in watcher.stdout.readline()
        assert engine.search("quince").ids == [["more.md#more"]]
        watcher.send_signal(signal.SIGINT)
        assert watcher.wait(60) == 130
        assert "nothing was left half-written" in watcher.stderr.read()
