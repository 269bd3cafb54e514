"""UBI events, one by one, and what is left out of a folder, in words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from vizsla.core.catalog import Item
from vizsla.core.validation import WarningLog
from vizsla.errors import DataError, InputError
from vizsla.io.documents import Documents, FolderSource, KeptItems, documents
from vizsla.io.duplicates import DeduplicatedSource, text_digest, with_digest
from vizsla.io.records import ListSource
from vizsla.io.ubi import UbiClick, click_of, read_ubi, write_ubi_clicks

EVENT = {"action_name": "click", "user_query": "fig", "event_attributes": {"object": {"object_id": "f"}}}


def at(position):
    return {"event_attributes": {"object": {"object_id": "f"}, "position": position}}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, ("fig", "f", 1.0, None, None)),
        ({"action_name": "ADD_TO_CART"}, ("fig", "f", 2.0, None, None)),
        ({"action_name": "purchase"}, ("fig", "f", 3.0, None, None)),
        ({"action_name": "impression"}, None),
        ({"event_attributes": None}, None),
        ({"event_attributes": {"object": "f"}}, None),
        ({"event_attributes": {"object": {}}}, None),
        ({"event_attributes": {"object": {"object_id": 0}}}, ("fig", "0", 1.0, None, None)),
        (at({"ordinal": 3}), ("fig", "f", 1.0, None, 3)),
        (at({"ordinal": 0}), ("fig", "f", 1.0, None, None)),
        (at({"ordinal": True}), ("fig", "f", 1.0, None, None)),
        (at({"ordinal": 1.0}), ("fig", "f", 1.0, None, None)),
        (at(3), ("fig", "f", 1.0, None, None)),
        ({"timestamp": "1970-01-01T00:00:01.500Z"}, ("fig", "f", 1.0, 1.5, None)),
        ({"timestamp": 2}, ("fig", "f", 1.0, 2.0, None)),
        ({"user_query": "", "query_id": "q"}, ("pear", "f", 1.0, None, None)),
        ({"user_query": 3, "query_id": "q"}, ("pear", "f", 1.0, None, None)),
        ({"query_id": "q"}, ("fig", "f", 1.0, None, None)),  # its own text counts
    ],
)
def test_an_event_is_a_click_if_it_chooses_an_item(changes, wanted):
    found = click_of(EVENT | changes, {"q": "pear"}.get)
    assert found == (None if wanted is None else UbiClick(*wanted))


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ([], "an `action_name`"), ({"action_name": 3}, "an `action_name`"),
        (EVENT | {"user_query": ""}, "`user_query`"),
        (EVENT | {"user_query": "", "query_id": "x"}, "Got 'x'"), (EVENT | {"user_query": "", "query_id": 3}, "Got 3"),
        (EVENT | {"timestamp": "soon"}, "ISO 8601"),
    ],
)  # fmt: skip
def test_other_events_are_refused(event, message):
    with pytest.raises(InputError, match=message):
        click_of(event, {}.get)


def lines_of(path: Path, rows) -> Path:
    path.write_text("\n\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
    return path


def test_a_log_is_read_with_its_queries_and_what_was_shown(tmp_path):
    queries = lines_of(
        tmp_path / "q", [{"query_id": "1", "user_query": "fig", "query_response_hit_ids": ["a", 7]},
                         {"query_id": "2", "user_query": "fig", "query_response_hit_ids": ["a", "b"]},
                         {"query_id": "3", "user_query": "pear", "query_response_hit_ids": "a"}])  # fmt: skip
    by_id = EVENT | {"user_query": None, "query_id": "3"}
    seen = EVENT | {"action_name": "Impression"}
    events = lines_of(tmp_path / "e", [EVENT, by_id, seen, seen, EVENT | {"event_attributes": {}}])
    found = read_ubi(events, queries)
    assert [(click.query, click.item) for click in found.clicks] == [("fig", "f"), ("pear", "f")]
    assert found.left_out == {"Impression": 2, "click": 1}
    assert found.shown == {("fig", "a", 1): 2, ("fig", "7", 2): 1, ("fig", "b", 2): 1}
    with pytest.raises(DataError, match="Give the file of queries") as caught:
        read_ubi(events)
    assert caught.value.line == 3  # empty lines count
    for rows, message in ((["[1]"], "a JSON object"), (["{"], "must be JSON"), ([{"query_id": "1"}], "as texts")):
        with pytest.raises(DataError, match=message) as caught:
            read_ubi(events, lines_of(tmp_path / "wrong", [{"query_id": "9", "user_query": "x"}, *rows]))
        assert caught.value.line == 3


def test_clicks_are_written_as_a_table(tmp_path):
    clicks = [UbiClick('a "b", c', "f", 2.0, 1.5, 3), UbiClick("d", "g", 0.25, None, None)]
    write_ubi_clicks(clicks, tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == 'query,item,weight,time,position\n"a ""b"", c",f,2,1.500,3\nd,g,0.25,,\n'
    with pytest.raises(InputError):
        write_ubi_clicks(clicks, tmp_path / "c.csv")
    write_ubi_clicks([], tmp_path / "c.csv", overwrite=True)
    assert (tmp_path / "c.csv").read_text() == "query,item,weight,time,position\n"


# Folders.


def test_what_is_left_out_of_a_folder_is_counted_by_reason(tmp_path):
    outside = tmp_path / "outside.md"
    outside.write_text("# Out\n\nside")
    folder = tmp_path / "f"
    (folder / "deep" / ".hidden").mkdir(parents=True)
    (folder / "B.MD").write_text("# Fig\n\nsweet")
    (folder / "a.txt").write_text("two words")
    (folder / "deep" / "c.md").write_text("# Fig\n\nsweet\n\n# Fig\n\nagain")
    for name in (".secret.md", "deep/.hidden/x.md"):
        (folder / name).write_text("hidden")
    for name in ("x.bin", "y.BIN", "z"):
        (folder / name).write_text("?")
    (folder / "link.md").symlink_to(outside)
    (folder / "inside.txt").symlink_to(folder / "a.txt")
    (folder / "loop").symlink_to(tmp_path)
    (folder / "broken.md").symlink_to(folder / "nowhere.md")
    os.mkfifo(folder / "pipe.md")
    found = documents(folder)
    assert [path.relative_to(folder).as_posix() for path in found.paths] == ["B.MD", "a.txt", "deep/c.md", "inside.txt"]
    assert found.left_out() == 7
    assert found.reasons() == (
        "3 of types that are not read (.bin 2, no suffix 1), such as x.bin; 3 links, such as loop; "
        "1 no regular files, such as pipe.md"
    )
    assert found.summary() == "4 documents (.md 2, .txt 2)"
    assert found.summary([folder / "a.txt"]) == "3 documents (.md 2, .txt 1)"
    source = FolderSource(folder)
    items = list(source)
    assert [item.id for item in items] == ["B.MD#fig", "a.txt", "deep/c.md#fig", "inside.txt"]
    assert [item.id for item in source] == [item.id for item in items] and source.pick(1) == items[1]
    tally = WarningLog()
    source.report(tally)
    assert tally.messages[0].startswith(f"7 files left out of {folder}: 3 of types")


def test_only_the_commonest_types_are_named():
    found = Documents([])
    for number in range(9):
        for _ in range(9 - number):
            found.leave_out(f"{number}", suffix=f".T{number}")
    assert (
        found.reasons()
        == "45 of types that are not read (.t0 9, .t1 8, .t2 7, .t3 6, .t4 5, .t5 4, others 6), such as 0"
    )


def test_kept_passages_are_read_in_pieces(monkeypatch):
    monkeypatch.setattr(KeptItems, "BYTES_PER_READ", 40)
    kept = KeptItems()
    items = []
    for n in range(12):
        spans = {"start_line": n, "end_line": n + 1, "start": 2 * n, "end": 3 * n}
        items.append(Item(f"i{n}", "x" * (n * 13 % 60), f"t{n}", {"path": "p", "heading": "ü", **spans}))
    for item in items:
        kept.add(item)
    assert list(kept) == items and [kept[n] for n in range(12)] == items and len(kept) == 12
    assert list(KeptItems()) == []


# Duplicates.


def test_equal_texts_are_one_group_of_the_first(monkeypatch):
    monkeypatch.setattr("vizsla.io.duplicates.TEXTS_PER_BATCH", 2)
    texts = ["a fig", "a pear", "a  fig", "", "a\nfig", "", "a pear."]
    items = [Item(f"i{n}", text, title="T" if n == 3 else "", metadata={"n": n}) for n, text in enumerate(texts)]
    source = DeduplicatedSource(ListSource(items))
    assert source.pick(0) is None
    found = [item.metadata["same_as"] for item in source]
    assert [found.index(each) for each in found] == [0, 1, 0, 3, 0, 5, 6] and (source.groups, source.repeats) == (5, 2)
    assert [item.metadata["same_as"] for item in source] == found and source.pick(2).metadata == {
        "n": 2,
        "same_as": found[2],
    }
    assert [item.metadata["same_as"] for item in with_digest(items)] == found == [text_digest(item) for item in items]
    tally = WarningLog()
    source.report(tally)
    assert tally.messages[-1].startswith("2 items of ") and "is that of an item before" in tally.messages[-1]
    words = " ".join(f"w{number}" for number in range(90))
    near = DeduplicatedSource(ListSource([Item(end, f"{words} {end}") for end in ("a", "b", "c")]), "near")
    assert len({item.metadata["same_as"] for item in near}) == 1 and near.repeats == 2
    tally = WarningLog()
    near.report(tally)
    assert "resembles that of an item before" in tally.messages[-1]
    with pytest.raises(InputError, match="dedupe"):
        DeduplicatedSource(ListSource(items), "all")
