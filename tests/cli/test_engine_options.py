"""Every option of `vizsla engine` arrives at the engine, and what is printed is what the engine said."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vizsla.base.recipe import Recipe
from vizsla.cli import engine as verb
from vizsla.cli import main
from vizsla.core.candidates import Candidates
from vizsla.core.catalog import Catalog, Item
from vizsla.core.strings import Strings
from vizsla.data.metadata_builder import DetailsCollector
from vizsla.engine.sync import SyncReport
from vizsla.errors import DataError


class Recorded:
    """Stands in the place of an Engine: notes calls in their order, and answers what the test says."""

    def __init__(self, answers=None, counts=(5, 5)):
        self.calls, self.answers, self.counts = [], dict(answers or {}), list(counts)
        self.members = ("words", "best")

    def open(self, path, **options):
        self.calls.append(("open", (path,), options))
        return self

    def create(self, path, **options):
        self.calls.append(("create", (path,), options))
        return self

    def count(self):
        return self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.calls.append(("close", (), {}))

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def called(*given, **named):
            given = tuple([*map(str, one)] if isinstance(one, list) else one for one in given)
            self.calls.append((name, given, named))
            answer = self.answers.get(name, self if name in ("transaction", "generation") else 0)
            return answer(*given) if callable(answer) and answer is not self else answer

        return called

    def of(self, name):
        return [(given, named) for called, given, named in self.calls if called == name]

    @property
    def default(self):
        return "best"


@pytest.fixture
def engine(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    made = Recorded()
    monkeypatch.setattr(verb, "Engine", made)
    return made


def shell(capsys, *argv, code=0):
    assert main(["engine", *map(str, argv)]) == code
    return capsys.readouterr().out


def test_create_takes_members_of_every_form_their_default_and_fields(engine, capsys):
    recipe = '{"recipe": "bm25", "settings": {"k1": 1.5}}'
    options = ["--member", "words=bm25", "--member", f"own={recipe}", "--member", "best=words + own"]
    fields = ["--default", "own", "--field", "price=number", "--field", "tags=list"]
    assert shell(capsys, "create", "shop", *options, *fields) == "shop: members words, best, default best\n"
    wanted = {"words": Recipe.of("bm25"), "own": Recipe.from_dict(json.loads(recipe)), "best": "words + own"}
    named = {"members": wanted, "default": "own", "metadata": {"price": "number", "tags": "list"}}
    assert engine.of("create") == [(("shop",), named)]
    shell(capsys, "create", "shop")
    plain = {"members": {"words": Recipe.of("bm25")}, "default": None, "metadata": {}}
    assert engine.of("create")[1] == (("shop",), plain)


@pytest.mark.parametrize(("action", "done"), [("add", "added"), ("upsert", "stored")])
def test_items_are_put_a_batch_at_a_time_and_counted(action, done, engine, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(verb, "ITEMS_PER_TRANSACTION", 2)
    (tmp_path / "items.csv").write_text("sku;text\n" + "".join(f"i{n};fig\n" for n in range(5)))
    batches = []
    engine.answers[action] = lambda batch: batches.append(len(batch)) or len(batch)
    engine.counts = [1234]
    said = shell(capsys, action, "shop", "items.csv", "--id", "sku", "--separator", ";")
    assert batches == [2, 2, 1] and said == f"shop: 5 {done}, 1,234 items\n"
    assert not engine.of("upsert" if action == "add" else "add")
    assert engine.of("open") == [(("shop",), {}), (("shop",), {"maintenance": "manual"})]


@pytest.mark.parametrize(("options", "unknown"), [([], "raise"), (["--missing-ok"], "ignore")])
def test_all_that_is_named_is_deleted_in_one_transaction(options, unknown, engine, capsys, tmp_path):
    (tmp_path / "ids.txt").write_text("c\nd\n")
    engine.counts = [9, 5, 5]
    named = ["a", "b", "--from", "ids.txt", "--path", "docs", "--where", "price<5"]
    said = shell(capsys, "delete", "shop", *named, *options)
    assert said == "shop: 4 deleted, 5 items\n" and len(engine.of("transaction")) == 1
    (ids, path, condition) = engine.of("delete")
    assert ids == ((["a", "b", "c", "d"],), {"unknown": unknown})
    assert path == ((), {"path": "docs", "unknown": unknown})
    assert str(condition[1]["where"]) == "price < 5"
    names = [name for name, _, _ in engine.calls]
    assert names.index("transaction") < names.index("delete") < names.index("close")


@pytest.mark.parametrize("given", [["--where", "price<5"], ["--path", "docs"], ["--from", "ids.txt"], ["a"]])
def test_one_way_to_name_items_is_enough(given, engine, capsys, tmp_path):
    (tmp_path / "ids.txt").write_text("c\n")
    shell(capsys, "delete", "shop", *given)
    assert len(engine.of("delete")) == 1


def test_a_click_has_its_weight_and_a_log_its_times(engine, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(verb, "ITEMS_PER_TRANSACTION", 2)
    engine.answers |= {"click": 1, "clicks": len}
    assert shell(capsys, "click", "shop", "sweet", "fig") == "shop: 1 clicks stored\n"
    shell(capsys, "click", "shop", "sweet", "fig", "--weight", "2.5")
    assert engine.of("click") == [(("sweet", "fig", 1.0), {}), (("sweet", "fig", 2.5), {})]
    (tmp_path / "log.csv").write_text("query,item,weight,time\na,fig,2,10\nb,pear,1,20\nc,fig,3,30\n")
    assert shell(capsys, "click", "shop", "--clicks", "log.csv", "--dangling", "raise") == "shop: 3 clicks stored\n"
    rows = [row for (batch,), _ in engine.of("clicks") for row in batch]
    log = [("a", "fig", 2.0, 10.0), ("b", "pear", 1.0, 20.0), ("c", "fig", 3.0, 30.0)]
    assert len(engine.of("clicks")) == 2 and rows == [*map(str, log)]
    for wrong in (["a"], [], ["a", "b", "--clicks", "log.csv"]):
        shell(capsys, "click", "shop", *wrong, code=2)


def some_hits():
    """Return the answer of an engine."""
    known = DetailsCollector.of([Item("fig", "", metadata={"price": 3}), Item("pear", "")])
    catalog = Catalog(Strings.of(["fig", "pear"]), known)
    scores = np.array([2.5, 1.5], np.float32)
    return Candidates(np.array([0, 2]), np.array([0, 1], np.int32), scores, catalog=catalog)


def test_a_search_takes_its_options_and_prints_every_hit(engine, capsys):
    engine.answers["search"] = some_hits()
    options = ["-k", "7", "--offset", "3", "--where", "price<5", "--using", "best"]
    said = shell(capsys, "search", "shop", "a fig", *options, "--json")
    ((given, named),) = engine.of("search")
    assert given == ("a fig", 7) and str(named.pop("where")) == "price < 5"
    assert named == {"offset": 3, "using": "best", "syntax": "web"}
    assert [json.loads(line) for line in said.splitlines()] == [
        {"rank": 4, "id": "fig", "score": 2.5, "metadata": {"price": 3}},
        {"rank": 5, "id": "pear", "score": 1.5, "metadata": {}},
    ]
    assert shell(capsys, "search", "shop", "a fig").split() == [
        *["query", "a", "fig"],
        "1",
        "2.5000",
        "fig",
        "2",
        "1.5000",
        "pear",
    ]
    shown = shell(capsys, "search", "shop", "a fig", "--show", "price").split()
    assert shown.index("price") < shown.index("fig", 3) < shown.index("3", 5)
    shell(capsys, "search", "shop", "a fig", "--syntax", "plain")
    usual = {"offset": 0, "where": None, "using": ""}
    assert engine.of("search")[-2:] == [(("a fig", 10), usual | {"syntax": syntax}) for syntax in ("web", "plain")]
    assert {tuple(named.items()) for _, named in engine.of("open")} == {(("maintenance", "manual"),)}


@pytest.mark.parametrize(
    ("argv", "name", "wanted", "said"),
    [
        (["compact"], "compact", ((), {"erase": False}), "shop: 5 items in one segment\n"),
        (["compact", "--erase"], "compact", ((), {"erase": True}), None),
        (["rebuild"], "rebuild", ((None,), {"threads": 1}), "shop: rebuilt all members that are built whole\n"),
        (["rebuild", "best", "--threads", "3"], "rebuild", (("best",), {"threads": 3}), "shop: rebuilt best\n"),
        (["snapshot", "one"], "snapshot", (("one",), {}), "shop: snapshot one\n"),
        (["rollback", "one"], "rollback", (("one",), {}), "shop: rollback one\n"),
    ],
)
def test_maintenance_takes_its_options(argv, name, wanted, said, engine, capsys):
    printed = shell(capsys, argv[0], "shop", *argv[1:])
    assert engine.of(name) == [wanted] and (said is None or printed == said)
    assert not any(engine.of(other) for other in {"snapshot", "rollback", "compact", "rebuild"} - {name})


def test_problems_are_told_each_and_are_exit_code_1(engine, capsys):
    engine.answers["check"] = []
    assert shell(capsys, "check", "shop") == "shop: sound\n"
    engine.answers["check"] = ["segment 1 is damaged", "segment 2 is damaged"]
    said = shell(capsys, "check", "shop", "--repair", code=1)
    assert said == "segment 1 is damaged\nsegment 2 is damaged\nshop: 2 problems\n"
    assert engine.of("check") == [((), {"repair": False}), ((), {"repair": True})]


def test_stats_are_json_and_a_backup_goes_to_its_folder(engine, capsys, tmp_path):
    engine.answers["stats"] = {"items": 3, "clicks": 2}
    assert json.loads(shell(capsys, "stats", "shop")) == {"items": 3, "clicks": 2}
    assert shell(capsys, "backup", "shop", "-o", "copy") == "copy: a copy of shop\n"
    assert [str(given[0]) for given, _ in engine.of("backup")] == ["copy"]


def test_sync_takes_how_data_are_read_and_says_what_is_left_out(engine, capsys):
    engine.answers["sync"] = SyncReport(left_out=("a.pdf: no reader",))
    assert main(["engine", "sync", "shop", "docs", "--id", "sku", "--on-error", "skip"]) == 0
    told = capsys.readouterr()
    ((given, named),) = engine.of("sync")
    assert given == ("docs",) and named == {"id": "sku", "on_error": "skip"}
    assert told.err.count("a.pdf: no reader") == 1 and told.out.startswith("shop: ")
    shell(capsys, "sync", "shop", "docs")
    assert engine.of("sync")[1] == (("docs",), {})  # what is not said is left to the engine


def test_a_watch_looks_again_and_tells_what_is_new_only(engine, capsys, monkeypatch, tmp_path):
    (tmp_path / "docs").mkdir()
    nothing, left = SyncReport(), SyncReport(left_out=("a.pdf: no reader",))
    waits, looks = [], iter([left, left, nothing, DataError("half written"), SyncReport(added=2), None])

    def look(path):
        report = next(looks)
        if report is None:
            raise KeyboardInterrupt
        if isinstance(report, Exception):
            raise report
        return report

    engine.answers["sync"] = look
    monkeypatch.setattr(verb.time, "sleep", waits.append)
    assert main(["engine", "sync", "shop", "docs", "--watch"]) == 130
    told = capsys.readouterr()
    assert waits == [1.0] * 5 and told.err.count("a.pdf: no reader") == 1 and told.err.count("half written") == 1
    assert told.out.count("shop: ") == 2  # the first report, and the one in which something was added
    looks = iter([nothing, nothing])
    engine.answers["sync"] = lambda path: next(looks)
    (tmp_path / "docs").rmdir()
    waits.clear()

    def stop(seconds):
        waits.append(seconds)
        if len(waits) > 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(verb.time, "sleep", stop)
    assert main(["engine", "sync", "shop", "docs", "--watch"]) == 130
    assert capsys.readouterr().err.count("docs is not there; nothing is deleted") == 1


def test_a_search_with_facets_is_a_page(engine, capsys):
    class Shown:
        candidates = None

        def to_dict(self, fields=None):
            return {"total": 3}

    engine.answers["page"] = Shown()
    options = [
        "--facets",
        "brand",
        "--sort",
        "price",
        "--distinct",
        "doc",
        "--highlight",
        "title,text",
        "--offset",
        "5",
        "--min-confidence",
        "0.5",
    ]
    assert json.loads(shell(capsys, "search", "shop", "a fig", *options, "--json")) == {"total": 3}
    ((given, named),) = engine.of("page")
    assert given == ("a fig", 10) and named == {
        "offset": 5, "where": None, "using": "", "facets": "brand", "sort": "price", "distinct": "doc",
        "highlight": ["title", "text"], "syntax": "web", "min_confidence": 0.5,
    }  # fmt: skip
