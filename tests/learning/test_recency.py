"""Clicks with times: splits by time, weights that decay, and half-lives that are chosen."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import vizsla
from vizsla._native import EntryFormat, EntryTable
from vizsla.artifacts.inspect import inspect
from vizsla.data.dataset import SECONDS_PER_DAY
from vizsla.errors import DataError, InputError
from vizsla.io.interactions import timestamp_of
from vizsla.learning.recency import choose_half_life, decayed

ITEMS = {"old": "an old thing", "new": "a new thing", "other": "something else"}


def log(days: int = 40) -> list[tuple[str, str, float, str]]:
    """People chose `old` until day 30, and `new` since."""
    rows = [("thing", "old" if day < 30 else "new", 1.0, str(day * SECONDS_PER_DAY)) for day in range(days)]
    return rows + [(f"else {day}", "other", 1.0, str(day * SECONDS_PER_DAY)) for day in range(days)]


@pytest.mark.parametrize("half_life", [1.0, 0.5, 3.0])
def test_a_click_counts_up_to_ten_half_lives_ago_and_no_longer(half_life) -> None:
    """In halves down to 1/1024, the least that a log can hold."""
    days = [0.0, 1.0, 9.0, 9.999, 10.0, 10.001, 11.0, 40.0]
    rows = [(f"q{n}", "old", 1.0, -day * half_life * SECONDS_PER_DAY) for n, day in enumerate(days)]
    kept = {query: weight for query, _, weight in decayed(rows, half_life)}
    assert kept == pytest.approx({f"q{n}": 0.5**day for n, day in enumerate(days) if day <= 10.0}, rel=1e-6)
    now = 100 * SECONDS_PER_DAY
    timed = [(query, item, weight, now + time) for query, item, weight, time in rows]
    dataset = vizsla.Dataset.of(ITEMS, clicks=timed)
    left = decayed(dataset, half_life)
    weights = np.asarray(left.clicks.sum(axis=1)).ravel().tolist()
    assert {query.text for query, weight in zip(left.queries, weights, strict=True) if weight} == kept.keys()


@given(st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1)), st.sampled_from("T "), st.sampled_from(["Z", ""]))
def test_times_are_what_datetime_reads(moment, middle, zone) -> None:
    moment = moment.replace(microsecond=0)
    seconds = moment.replace(tzinfo=UTC).timestamp()
    for text in (moment.isoformat(middle) + zone, str(int(seconds)), f"{int(seconds) * 1000}"):
        expected = int(seconds) if abs(seconds) >= 1e9 or text[4:5] == "-" else timestamp_of(text)
        assert timestamp_of(text) == expected
        table = EntryTable(None, None, stop_at_unknown=False)
        data = f"q\ti\t{text}\n".encode()
        at, _, _ = table.read(data, 0, 1, EntryFormat(separator="\t", width=3, query=0, item=1, time=2))
        assert at == 0 or table.take_times().tolist() == [expected]


TWO = st.integers(0, 99).map("{:02}".format)


@given(st.tuples(st.integers(0, 9999).map("{:04}".format), TWO, TWO, st.sampled_from("T "), TWO, TWO, TWO))
@example(("2024", "02", "30", "T", "12", "00", "00"))
@example(("2024", "12", "31", " ", "24", "00", "00"))
@example(("2024", "12", "31", " ", "23", "60", "00"))
@example(("2024", "12", "31", " ", "23", "59", "60"))
@example(("2024", "00", "31", "T", "23", "59", "59"))
@example(("2024", "04", "31", "T", "23", "59", "59"))
@example(("0000", "04", "30", "T", "23", "59", "59"))
def test_native_code_takes_no_time_that_datetime_refuses(parts) -> None:
    """The parts are drawn, so most of the times are impossible: those are left to Python, which says why."""
    year, month, day, middle, *clock = parts
    for text in (f"{year}-{month}-{day}", f"{year}-{month}-{day}{middle}{':'.join(clock)}"):
        table = EntryTable(None, None, stop_at_unknown=False)
        data = f"q\ti\t{text}\n".encode()
        at, _, _ = table.read(data, 0, 1, EntryFormat(separator="\t", width=3, query=0, item=1, time=2))
        assert at == 0 if timestamp_of(text) is None else table.take_times().tolist() in ([], [timestamp_of(text)])


@pytest.mark.filterwarnings("error")
def test_a_split_by_time_parts_the_log_at_a_moment() -> None:
    dataset = vizsla.Dataset.of(ITEMS, clicks=log())
    train, held = dataset.split(by="time", after=str(30 * SECONDS_PER_DAY))
    assert train.clicks.sum() == 60 and train.events.times.max() == 29 * SECONDS_PER_DAY
    assert held.query_texts("cold")[1] == ["thing"]
    assert set(held.query_texts("warm")[1]) == {f"else {day}" for day in range(30, 40)}
    share = dataset.split(by="time", held_out=0.25)[1]
    assert share.qrels("test").nnz == 11, "ten days of `else`, and `thing` once"


def test_a_click_weighs_half_after_its_half_life(tmp_path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("date,search,sku,user\n2024-05-01,fig,f,u1\n2024-05-11,fig,f,u2\n2024-05-11,pear,p,u3\n")
    (tmp_path / "items.tsv").write_text("f\tfig\np\tpear\n")
    dataset = vizsla.open_dataset(tmp_path / "items.tsv", clicks=path)
    assert dataset.clicks.toarray().tolist() == [[2, 0], [0, 1]]
    assert decayed(dataset, 10).clicks.toarray().tolist() == [[1.5, 0], [0, 1]]


def test_a_time_that_is_none_is_named(tmp_path) -> None:
    (tmp_path / "log.tsv").write_text("fig\tf\t1\t2024-05-01\nfig\tf\t1\tsoon\n")
    with pytest.raises(DataError, match="line 2: the time must be like 2024-05-01"):
        vizsla.open_dataset(_items(tmp_path), clicks=tmp_path / "log.tsv")


def test_methods_follow_what_is_recent() -> None:
    clicks = vizsla.Dataset.of(ITEMS, clicks=log())
    for build in (
        lambda half_life: _voted(ITEMS, clicks, half_life=half_life),
        lambda half_life: vizsla.xrlinear(clicks, item_texts=False, click_weights="raw", half_life=half_life),
    ):
        assert build(None)("thing", k=1).ids == [["old"]]
        assert build(2.0)("thing", k=1).ids == [["new"]]


def test_the_token_table_takes_a_half_life() -> None:
    base, clicks = vizsla.tokens(ITEMS), vizsla.Dataset.of(ITEMS, clicks=log())
    plain, recent = (vizsla.learning.train_tokens(base, clicks, epochs=1, half_life=days) for days in (None, 2.0))
    assert not np.array_equal(plain.encoder.weights, recent.encoder.weights) or plain("thing") != recent("thing")


def test_the_half_life_is_saved_and_shown(tmp_path) -> None:
    clicks = vizsla.Dataset.of(ITEMS, clicks=log())
    built = {
        "xs": vizsla.pefa(vizsla.bm25(ITEMS), clicks, variant="xs", weight=0.5, half_life=2.0),
        "xl": _voted(ITEMS, clicks, half_life=2.0),
        "tokens": vizsla.tokens(ITEMS, clicks, epochs=1, half_life=2.0),
    }
    more = [("another", "old")]
    for name, model in built.items():
        model.save(tmp_path / name)
        assert "half_life = 2.0" in str(inspect(tmp_path / name))
        loaded = vizsla.load(tmp_path / name)
        kept = [one if name == "tokens" else one.log for one in (model, loaded, model.with_clicks(more))]
        assert [one.half_life for one in kept] == [2.0] * 3
    assert vizsla.pefa(vizsla.bm25(ITEMS), clicks, variant="xs", weight=0.5).log.half_life is None


def test_a_half_life_is_chosen_on_the_latest_clicks_and_only_if_it_helps() -> None:
    rows = [(query, item, 1.0, float(day) * SECONDS_PER_DAY) for day in range(60) for query, item in _habits(day)]
    items = {f"{kind}{n}": f"thing {n}" for n in range(30) for kind in "ab"}

    def build(clicks):
        return _voted(items, clicks)

    choice = choose_half_life(rows, build)
    assert choice.trials[0]["half_life"] is None and choice.chosen["half_life"] is not None
    steady = [(query, item, weight, time) for query, item, weight, time in rows if item.startswith("a")]
    assert choose_half_life(steady, build).chosen["half_life"] is None


def _numbers(texts):
    rows = np.zeros((len(texts), 101), np.float32)
    for row, text in enumerate(texts):
        rows[row, int(text.split()[-1]) if text[-1].isdigit() else 100] = 1
    return rows


def _voted(items, clicks, **options):
    encoder = vizsla.encoders.FunctionEncoder(_numbers, dim=101, name="numbers")
    fixed = {"weight": 0.1, "neighbors": 1, "votes": "mean", "near": 0.0, "scale": 10.0, "threshold": 0.0}
    return vizsla.pefa(vizsla.bm25(items), clicks, variant="xl", encoder=encoder, **fixed, **options)


def _habits(day: int) -> list[tuple[str, str]]:
    kind = "a" if day < 45 else "b"
    return [(f"thing {n}", f"{kind}{n}") for n in range(30)]


def test_clicks_without_times_have_no_half_life() -> None:
    with pytest.raises(InputError, match="must have a column of times"):
        vizsla.Dataset.of(ITEMS, clicks=[("thing", "old")]).split(by="time")
    with pytest.raises(InputError, match="every click must have a time"):
        vizsla.pefa(vizsla.bm25(ITEMS), [("thing", "old")], variant="xs", weight=0.5, half_life=3.0)


def _items(folder):
    path = folder / "items.tsv"
    path.write_text("f\tfig\n")
    return path


@pytest.mark.parametrize("half_life", [None, 3.0, "auto"])
@pytest.mark.parametrize(
    ("clicks", "message"),
    [
        (np.array([np.nan]), r"Every click must be \(query text, item id\)"),
        ([None], r"Every click must be \(query text, item id\)"),
        (None, "`clicks` must be a Dataset or"),
        ("thing", "`clicks` must be a Dataset or"),
        ([("thing", "old", np.nan, 0.0), ("thing", "new", 1.0, SECONDS_PER_DAY)], "weight must be above 0 .* Got nan"),
        ([("thing", "old", "x", 0.0), ("thing", "new", 1.0, SECONDS_PER_DAY)], "`weight` must be numbers"),
        ([("thing", "old", 10**400, 0.0), ("thing", "new", 1.0, SECONDS_PER_DAY)], "`weight` must be"),
    ],
)
@pytest.mark.parametrize("learn", ["tokens", "pefa"])
def test_clicks_that_are_none_are_refused_whatever_the_half_life(learn, clicks, message, half_life) -> None:
    with pytest.raises(InputError, match=message):
        if learn == "tokens":
            vizsla.learning.train_tokens(vizsla.tokens(ITEMS), clicks, epochs=1, half_life=half_life)
        else:
            vizsla.pefa(vizsla.tfidf(ITEMS), clicks, half_life=half_life)


@pytest.mark.parametrize("time", [np.nan, np.inf, "x", None, 10**400])
def test_a_time_that_is_none_is_refused_and_drops_no_click(time) -> None:
    with pytest.raises(InputError, match="time"):
        decayed([("thing", "old", 1.0, time), ("thing", "new", 1.0, SECONDS_PER_DAY)], 3.0)


def test_a_half_life_can_be_chosen_for_clicks_that_are_read_once() -> None:
    rows = [(query, item, weight, float(time)) for query, item, weight, time in log()]
    learned = [vizsla.tokens(ITEMS, clicks, epochs=1, half_life="auto") for clicks in (rows, iter(rows))]
    assert learned[0].half_life == learned[1].half_life and learned[0]("thing") == learned[1]("thing")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"])
def test_times_without_a_zone_are_utc_wherever_the_process_runs(zone) -> None:
    texts = ["2024-05-01", "2024-05-01T12:30:00", "2024-05-01T12:30", "20240501", "2024-05-01T12:30:00.5+02:00"]
    script = f"from vizsla.io.interactions import timestamp_of; print([timestamp_of(text) for text in {texts!r}])"
    command = [sys.executable, "-c", script]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "TZ": zone}).stdout
    assert said.strip() == "[1714521600.0, 1714566600.0, 1714566600.0, 1714521600.0, 1714559400.5]"


def test_decayed_clicks_keep_the_features_of_the_queries() -> None:
    given = vizsla.Dataset.of(ITEMS, clicks=[("thing", "old", 1.0, 0.0), ("else", "new", 1.0, SECONDS_PER_DAY)])
    features = csr_array(np.array([[1.0, 0.0], [0.5, 2.0]], np.float32))
    timed = vizsla.Dataset(
        given.items, given.queries, clicks=given.clicks, query_features=features, events=given.events
    )
    left = decayed(timed, 2.0)
    assert left.query_features.toarray().tolist() == features.toarray().tolist()
