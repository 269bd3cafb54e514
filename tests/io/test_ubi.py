"""User Behavior Insights events as clicks."""

from __future__ import annotations

import csv
import json
import os

import pytest

import vizsla
from vizsla.cli import main
from vizsla.errors import DataError, InputError
from vizsla.io.ubi import UbiClick, click_of, read_ubi, write_ubi_clicks


def event(action="click", **more):
    chosen = {"object": {"object_id": "fig"}, "position": {"ordinal": 3}}
    return {"action_name": action, "query_id": "q1", "event_attributes": chosen, **more}


def test_events_become_clicks_with_weight_time_and_position():
    texts = {"q1": "green figs"}
    assert click_of(event(), texts.get) == UbiClick("green figs", "fig", 1.0, None, 3)
    assert click_of(event("PURCHASE", timestamp="1970-01-01T00:01:00Z"), texts.get) == UbiClick(
        "green figs", "fig", 3.0, 60.0, 3
    )
    assert click_of(event(user_query="own text"), texts.get).query == "own text"
    assert click_of(event("impression"), texts.get) is None
    assert click_of({"action_name": "click", "query_id": "q1", "event_attributes": {}}, texts.get) is None


@pytest.mark.parametrize("ordinal", [0, -1, True, "2", None, 1.5])
def test_a_position_that_is_no_rank_is_unknown(ordinal):
    attributes = {"object": {"object_id": 7}, "position": {"ordinal": ordinal}}
    found = click_of({"action_name": "click", "user_query": "x", "event_attributes": attributes}, {}.get)
    assert (found.item, found.position) == ("7", None)


@pytest.mark.parametrize(
    "bad", [[], {}, {"action_name": 3}, event(query_id="unknown"), event(user_query="x", timestamp="yesterday")]
)
def test_what_is_no_event_raises(bad):
    with pytest.raises(InputError):
        click_of(bad, {}.get)


def written(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def test_the_command_writes_a_click_log_that_is_read_back(tmp_path, capsys):
    events = [
        event(timestamp="2026-01-02T00:00:00Z"),
        event("impression", timestamp="2026-01-02T00:00:01Z"),
        event("add_to_cart", timestamp="2026-01-03T00:00:00Z"),
    ]
    log = written(tmp_path / "events.jsonl", events)
    queries = written(tmp_path / "queries.jsonl", [{"query_id": "q1", "user_query": 'figs, "green"'}])
    out = tmp_path / "clicks.csv"
    assert main(["convert", "ubi", str(log), str(out), "--queries", str(queries)]) == 0
    assert "2 clicks; other events: 1 impression" in capsys.readouterr().out
    items = written(tmp_path / "items.jsonl", [{"id": "fig", "text": "a fig"}])
    data = vizsla.open_dataset(items, clicks=out)
    assert data.clicks.toarray().tolist() == [[3.0]]
    assert main(["convert", "ubi", str(log), str(out), "--queries", str(queries)]) == 2  # it exists
    assert main(["convert", "ubi", str(log), str(out), "--queries", str(queries), "--overwrite"]) == 0


def test_a_bad_line_is_named(tmp_path):
    log = written(tmp_path / "events.jsonl", [event(user_query="x"), event()])
    with pytest.raises(DataError, match=r"line 2: .*Give the file of queries"):
        read_ubi(log)
    (tmp_path / "bad.jsonl").write_text('{"a": ', encoding="utf-8")
    with pytest.raises(DataError, match="line 1: a line must be JSON"):
        read_ubi(tmp_path / "bad.jsonl")


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    items = written(tmp_path / "items.jsonl", [{"id": "fig", "text": "a fig"}])
    with pytest.raises(InputError, match="a pipe"):
        vizsla.open_dataset(items, queries=tmp_path / "pipe")


def test_clicks_are_weighed_against_the_bias_of_their_positions(tmp_path, capsys):
    """A thousand answers show two items in both orders; the second place is clicked an eighth as often."""
    queries, events = [], []
    for number in range(1000):
        order = ["fig", "plum"] if number % 2 else ["plum", "fig"]
        queries.append({"query_id": f"q{number}", "user_query": "fruit", "query_response_hit_ids": order})
        place = 1 if number % 5 else 2 if number % 10 == 0 else 0  # 800 clicks at the first place, 100 at the second
        if place:
            clicked = order[place - 1]
            chosen = {"object": {"object_id": clicked}, "position": {"ordinal": place}}
            events.append({"action_name": "click", "user_query": "fruit", "event_attributes": chosen})
    log, shown = written(tmp_path / "events.jsonl", events), written(tmp_path / "queries.jsonl", queries)
    out = tmp_path / "clicks.csv"
    command = ["convert", "ubi", str(log), str(out), "--correct-positions"]
    assert main(command) == 2
    assert "must give what was shown" in capsys.readouterr().err
    assert main([*command, "--queries", str(shown)]) == 0
    said = capsys.readouterr().out
    first, second = (float(each) for each in said.split("position: ")[1].split())
    places = [event["event_attributes"]["position"]["ordinal"] for event in events]
    assert first == 1
    assert second == pytest.approx(places.count(2) / places.count(1), abs=0.01)
    weights = {}
    with out.open(newline="") as file:
        for row in csv.DictReader(file):
            weights.setdefault(row["position"], set()).add(float(row["weight"]))
    assert max(weights["2"]) / max(weights["1"]) == pytest.approx(1 / second, rel=0.1)


def test_times_are_written_to_the_millisecond(tmp_path):
    write_ubi_clicks(
        [UbiClick("fig", "f", 1.0, 1767312000.25, 3), UbiClick("fig", "g", 2.0, None, None)], tmp_path / "c"
    )
    assert (tmp_path / "c").read_text().splitlines()[1:] == ["fig,f,1,1767312000.250,3", "fig,g,2,,"]
