"""The verb `vizsla engine`: files in, answers out, and what is wrong in one line."""

import io
import json

import pytest

from vizsla.cli import main
from vizsla.engine.engine import Engine

CLICKS = '{"query": "sweet", "item": "fig", "weight": 2}\n{"query": "sour", "item": "plum", "time": 5.5}\n'


@pytest.fixture
def shop(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("id,text,price\nfig,a fig tree,3\npear,a ripe pear,2\n")
    (tmp_path / "new.jsonl").write_text('{"id": "plum", "text": "a plum tree", "price": 1}\n')
    (tmp_path / "clicks.csv").write_text("query,item\nsweet,fig\nsour,plum\n")
    both = "best=0.6*words.normalized() + 0.4*letters.normalized()"
    options = ["--member", "words=bm25", "--member", "letters=tfidf", "--member", both, "--field", "price=number"]
    assert main(["engine", "create", "shop", *options]) == 0
    assert main(["engine", "add", "shop", "items.csv"]) == 0
    assert main(["engine", "upsert", "shop", "new.jsonl"]) == 0
    capsys.readouterr()
    return tmp_path / "shop"


def found(capsys, *arguments):
    assert main(["engine", "search", "shop", *arguments, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_items_from_files_are_searched_and_filtered(shop, capsys):
    with Engine.open(shop, maintenance="manual") as engine:
        wanted = engine.search("fig tree").ids[0]
    assert [hit["id"] for hit in found(capsys, "fig tree")] == wanted
    hits = found(capsys, "tree", "--where", "price<2", "--using", "words")
    assert [(hit["rank"], hit["id"], hit["metadata"]) for hit in hits] == [(1, "plum", {"price": 1})]
    assert [hit["rank"] for hit in found(capsys, "tree", "--offset", "1")] == [2]
    assert main(["engine", "search", "shop", "fig"]) == 0
    assert "a fig tree" in capsys.readouterr().out


def test_deletions_and_clicks_are_stored(shop, capsys):
    assert main(["engine", "click", "shop", "sweet", "fig", "--weight", "2"]) == 0
    assert main(["engine", "click", "shop", "--clicks", "clicks.csv"]) == 0
    assert main(["engine", "delete", "shop", "pear", "--where", "price<2"]) == 0
    assert "2 deleted, 1 items" in capsys.readouterr().out
    assert main(["engine", "stats", "shop"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["items"], told["clicks"]) == (1, 2)
    assert main(["engine", "delete", "shop", "nothing", "--missing-ok"]) == 0
    assert main(["engine", "delete", "shop", "nothing"]) == 2
    assert "'nothing', which is none" in capsys.readouterr().err


@pytest.mark.parametrize("log", ["query,item\nsweet,fig\nsour,plum\n", CLICKS])
def test_clicks_are_read_from_standard_input_and_from_jsonl(shop, capsys, monkeypatch, log):
    monkeypatch.setattr("sys.stdin", io.StringIO(log))
    assert main(["engine", "click", "shop", "--clicks", "-"]) == 0
    (shop.parent / "clicks.jsonl").write_text(CLICKS)
    assert main(["engine", "click", "shop", "--clicks", "clicks.jsonl"]) == 0
    assert capsys.readouterr().out.count("2 clicks stored") == 2
    (shop.parent / "clicks.jsonl").write_text(CLICKS + '{"query": "sweet"}\n')
    assert main(["engine", "click", "shop", "--clicks", "clicks.jsonl"]) == 2
    assert 'clicks.jsonl, line 3: expected an object with "query"' in capsys.readouterr().err


def test_maintenance_goes_through(shop, capsys):
    for action in (["compact", "--erase"], ["snapshot", "one"], ["rebuild", "words"], ["rollback", "one"], ["check"]):
        assert main(["engine", action[0], "shop", *action[1:]]) == 0
    assert main(["engine", "backup", "shop", "-o", "copy"]) == 0
    assert "shop: sound" in capsys.readouterr().out
    with Engine.open("copy", maintenance="manual") as copy:
        assert copy.count() == 3
    for file in shop.glob("segments/*/*/*"):
        file.write_bytes(b"")
        break
    assert main(["engine", "check", "shop"]) == 0
    assert "made anew" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "shop"], "new or an empty folder"),
        (["create", "other", "--member", "a={not json"], "must be JSON"),
        (["search", "nowhere", "fig"], "which is not there"),
        (["delete", "shop"], "At least one id"),
        (["click", "shop", "sweet"], "Either QUERY and ID"),
    ],
)
def test_what_cannot_be_done_is_one_line(shop, capsys, arguments, said):
    assert main(["engine", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_clicks_on_items_that_are_gone_are_left_out_and_counted(shop, tmp_path, capsys):
    (tmp_path / "clicks.csv").write_text("query,item,weight,time\nsweet,fig,2,2025-01-01\nold,gone,1,2025-01-02\n")
    assert main(["engine", "click", "shop", "--clicks", "clicks.csv"]) == 0
    said = capsys.readouterr()
    assert said.out == "shop: 1 clicks stored\n"
    assert "1 clicks of clicks.csv left out: unknown item, for example 'gone'" in said.err
    with Engine.open(shop, maintenance="manual") as engine:
        assert engine.dataset().clicks.nnz == 1
    assert main(["engine", "click", "shop", "--clicks", "clicks.csv", "--dangling", "raise"]) == 2
    assert "'gone'" in capsys.readouterr().err


def test_a_backup_is_restored(shop, tmp_path, capsys):
    assert main(["engine", "backup", "shop", "-o", "copy"]) == 0
    assert main(["engine", "restore", "copy", "-o", "again"]) == 0
    assert capsys.readouterr().out.endswith("again: 3 items of copy\n")
    with Engine.open(shop, maintenance="manual") as one, Engine.open(tmp_path / "again") as other:
        assert other.search("tree").ids == one.search("tree").ids
    assert main(["engine", "restore", "copy", "-o", "again"]) == 2


def test_what_was_said_of_items_is_not_said_again_at_each_search(shop, tmp_path, recwarn):
    with Engine.open(shop) as engine:
        engine.add([{"id": "none", "text": ""}])
    recwarn.clear()
    with Engine.open(shop, maintenance="manual") as engine:
        assert engine.search("tree", using="letters").ids[0]
    assert not [str(each.message) for each in recwarn]


def test_a_path_that_is_not_there_and_a_recipe_that_is_none_say_what_to_do(shop, capsys):
    assert main(["engine", "check", "shap"]) == 2
    assert "shap, which is not there: check the path" in capsys.readouterr().err
    assert main(["engine", "create", "new", "--member", "words=bm52"]) == 2
    assert "Did you mean the recipe 'bm25'?" in capsys.readouterr().err


def test_the_beginning_of_an_option_is_no_option(shop, capsys):
    with pytest.raises(SystemExit):
        main(["search", "items.csv", "fig", "--k", "3"])
    assert "unrecognized arguments: --k" in capsys.readouterr().err


def told(capsys, *arguments, code=0):
    capsys.readouterr()
    assert main(["engine", *arguments]) == code
    said = capsys.readouterr()
    return said.out if code == 0 else said.err


def test_metadata_is_changed_by_field_or_from_a_file(shop, capsys, tmp_path):
    assert told(capsys, "update", "shop", "fig", "price=7", "brand=Ace") == "shop: 1 changed\n"
    (tmp_path / "prices.csv").write_text("id,price,brand\npear,9,\nplum,8,Bo\n")
    assert told(capsys, "update", "shop", "--from", "prices.csv") == "shop: 2 changed\n"
    (tmp_path / "more.jsonl").write_text('{"id": "plum", "price": 5.5}\n{"id": "plum", "brand": null}\n')
    assert told(capsys, "update", "shop", "--from", "more.jsonl") == "shop: 1 changed\n"
    with Engine.open(shop, maintenance="manual") as engine:
        held = {id: engine.get(id).metadata for id in engine.items}
    assert held == {"fig": {"price": 7, "brand": "Ace"}, "pear": {"price": 9}, "plum": {"price": 5.5}}
    assert [hit["id"] for hit in found(capsys, "tree", "--where", "price>6")] == ["fig"]
    assert "'nothing'" in told(capsys, "update", "shop", "nothing", "price=1", code=2)
    for wrong in (["fig"], [], ["fig", "price=1", "--from", "prices.csv"], ["fig", "text=other"]):
        told(capsys, "update", "shop", *wrong, code=2)
    (tmp_path / "bad.csv").write_text("sku,price\npear,9\n")
    assert "`id`" in told(capsys, "update", "shop", "--from", "bad.csv", code=2)


def test_clicks_are_forgotten(shop, capsys):
    with Engine.open(shop) as engine:
        engine.clicks([("sweet", "fig", 1, 1e9), ("sweet", "pear", 1, 2e9), ("sour", "plum", 1, 2e9)])
    assert told(capsys, "unclick", "shop", "--before", "2010-01-01") == "shop: 1 clicks deleted\n"
    assert told(capsys, "unclick", "shop", "--query", "sweet", "--item", "plum") == "shop: 0 clicks deleted\n"
    assert told(capsys, "unclick", "shop", "--item", "plum") == "shop: 1 clicks deleted\n"
    assert json.loads(told(capsys, "stats", "shop"))["clicks"] == 1
    assert "must be a date" in told(capsys, "unclick", "shop", "--before", "soon", code=2)
    told(capsys, "unclick", "shop", code=2)


def test_members_snapshots_and_history_are_listed(shop, capsys):
    told(capsys, "snapshot", "shop", "before")
    own = 'own={"recipe": "bm25", "settings": {"k1": 1.5}}'
    listed = told(capsys, "members", "shop", "--add", own, "--default", "own")
    assert listed.splitlines()[-1] == "own  bm25  (default)"
    listed = told(capsys, "members", "shop", "--default", "words", "--drop", "own")
    assert listed.splitlines()[0] == "words  bm25  (default)" and "own" not in listed
    assert told(capsys, "snapshots", "shop").split()[2:] == ["before"]
    told(capsys, "rollback", "shop", "before")
    rows = [json.loads(line) for line in told(capsys, "history", "shop", "--json").splitlines()]
    acts = ["snapshot", "add member", "default", "default", "drop member", "rollback"]
    assert [row["action"] for row in rows][-6:] == acts
    assert [row["generation"] for row in rows] == sorted(row["generation"] for row in rows)
    assert told(capsys, "history", "shop").splitlines()[-1].endswith("rollback  before")
    with Engine.open(shop, maintenance="manual") as engine:
        assert [row["name"] for row in engine.snapshots()] == ["before"]


def test_an_engine_is_compared_and_diagnosed_as_an_artifact_is(shop, capsys):
    (shop.parent / "queries.tsv").write_text("q1\tfig tree\nq2\tripe\n")
    (shop.parent / "judged.qrels").write_text("q1 0 fig 1\nq2 0 pear 1\n")
    judged = ["--queries", "queries.tsv", "--qrels", "judged.qrels"]
    assert main(["index", "bm25", "items.csv", "-o", "words.idx"]) == 0
    assert main(["compare", "items.csv", "shop", "words.idx", *judged, "--json", "both.json"]) == 0
    both = json.loads((shop.parent / "both.json").read_text())
    assert {name: one["measures"]["nDCG@10"] for name, one in both.items()} == {"shop": 1.0, "words.idx": 1.0}
    assert main(["diagnose", "shop", "items.csv", *judged]) == 0
    assert "the model itself" in capsys.readouterr().out
