"""Every file truncated and flipped, and folders that cannot be written: a typed error or the same answers."""

import os
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest

from tests.engine.model import MEMORY
from vizsla import Recipe, where
from vizsla.engine.engine import Engine
from vizsla.errors import EngineError, VizslaError

ITEMS = [{"id": f"i{n}", "text": f"fig {n} of {n % 3}", "price": n % 5} for n in range(40)]
FLIPS = 2


@pytest.fixture(scope="module")
def engine():
    """A folder with segments, rows in the log alone, deletions, and a model that is built whole."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as base:
        folder = Path(base) / "engine"
        made = Engine.create(folder, members={"words": Recipe.of("bm25")}, maintenance="manual")
        made.add(ITEMS[:30])
        made.flush()
        made.clicks([(f"fig {n}", f"i{n}") for n in range(20)])
        made.add_member("tree", Recipe.of("xrlinear"))
        made.update_metadata({"i3": {"price": 4}})
        made.delete(["i7"])
        made.add(ITEMS[30:])
        yield made
        made.close()


def answers(engine):
    asked = ["fig 3", "fig 12 of 0", "35"]
    found = [engine.search(asked, 20, using=name).to_dict() for name in ("words", "tree")]
    return found, engine.count(where("price>=4")), [engine.get(f"i{n}") for n in range(40)]


def damages(data):
    yield from (data[:size] for size in {0, len(data) // 2, len(data) - 1} if size < len(data))
    for flip in range(FLIPS):
        at = (2 * flip + 1) * len(data) // (2 * FLIPS)
        if data:
            yield data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]


def test_damaged_segments_and_models_are_named_or_made_anew(engine):
    wanted, refused, same = answers(engine), 0, 0
    with tempfile.TemporaryDirectory(dir=MEMORY) as base, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy = Path(base) / "copy"
        for path in sorted(each for each in engine.path.rglob("*") if each.is_file()):
            name = path.relative_to(engine.path)
            if name.name.startswith("catalog.sqlite"):
                continue
            for data in damages(path.read_bytes()):
                shutil.copytree(engine.path, copy)
                (copy / name).write_bytes(data)
                try:
                    with Engine.open(copy, maintenance="manual") as opened:
                        assert answers(opened) == wanted, name
                        assert opened.check() == [], name
                    same += 1
                except VizslaError:
                    refused += 1
                shutil.rmtree(copy)
    assert same > 50
    assert refused > 0  # a model that is built whole is not made anew by itself


@pytest.mark.parametrize("name", ["catalog.sqlite", "catalog.sqlite-wal", "catalog.sqlite-shm"])
def test_a_damaged_catalog_is_a_typed_error_or_goes_unnoticed_by_sqlite_but_never_breaks_the_process(engine, name):
    with tempfile.TemporaryDirectory(dir=MEMORY) as base, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copy = Path(base) / "copy"
        for data in damages((engine.path / name).read_bytes()):
            shutil.copytree(engine.path, copy)
            (copy / name).write_bytes(data)
            try:
                with Engine.open(copy, maintenance="manual") as opened:
                    answers(opened)
            except VizslaError:
                pass
            shutil.rmtree(copy)


@pytest.mark.parametrize("act", [lambda folder: Engine.open(folder), lambda folder: Engine.create(folder / "new")])
def test_a_folder_that_cannot_be_written_is_one_clear_sentence(act):
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "engine"
        Engine.create(folder, members={"words": Recipe.of("bm25")}, maintenance="manual").close()
        for path in (Path(base), folder, *folder.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        child = os.fork()
        if not child:
            code = 1
            try:
                if not os.getuid():
                    os.setuid(65534)  # root may write everywhere
                act(folder)
            except EngineError as error:
                code = 0 if "can be read and written" in str(error) or "can be made" in str(error) else 2
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        for path in (Path(base), folder):
            path.chmod(0o755)
        assert os.waitstatus_to_exitcode(status) == 0
