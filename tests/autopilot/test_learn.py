"""learn: the winner, the limits, the report, the rival, resuming and replaying."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest

import vizsla
from tests.autopilot.made_log import made_log
from vizsla.artifacts.manifest import MANIFEST, Manifest
from vizsla.autopilot import race as racing
from vizsla.autopilot.delivery import Winner, as_stored, lock_of
from vizsla.autopilot.fusing import SearchPlan
from vizsla.autopilot.limits import Limits, SearchCost, seconds_of
from vizsla.autopilot.log_summary import LogSummary
from vizsla.autopilot.proposals import Candidate, Workshop, own_encoder, proposed
from vizsla.autopilot.trials import data_digest
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.scale import connect

FEW = {
    "bm25": Candidate("bm25", "words", Recipe.of("bm25")),
    "bm25_clicks": Candidate("bm25_clicks", "n-grams", Recipe.of("pefa", base="bm25", variant="xs"), True),
    "memory": Candidate("memory", "memory", Recipe.of("click_memory"), True),
    "memory_sure": Candidate("memory_sure", "memory", Recipe.of("click_memory", prior=1.0), True),
}
"""Candidates that are built in no time; the whole race is run by the tutorial."""


@pytest.fixture(scope="module")
def log():
    return made_log()


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr("vizsla.autopilot.learn.proposed", lambda *_, **__: dict(FEW))


@pytest.fixture(scope="module")
def learned(log, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vizsla.autopilot.learn.proposed", lambda *_, **__: dict(FEW))
        path = tmp_path_factory.mktemp("learned") / "shop"
        engine = vizsla.learn(log, path, time="10m")
        yield engine, path
        engine.close()


def test_the_winner_is_significantly_above_words(learned):
    report = learned[0].report
    words = next(one for one in report.measured if one.name == "bm25")
    assert words.behind_low > 0.1
    assert report.measured[0].low <= report.measured[0].quality <= report.measured[0].high


def test_the_engine_answers_as_the_winner_in_memory(learned, log, few):
    engine, _ = learned
    search = vizsla.learn(log, time="10m")
    # Of queries that were asked, PEFA in an engine also remembers the clicks themselves.
    queries = [f"{text} for us" for text in dict.fromkeys(query.text for query in log.queries)][:40]
    assert engine(queries, 5).ids == search(queries, 5).ids
    assert search.report.winner == engine.report.winner


def test_the_engine_takes_new_items_and_clicks(learned):
    engine, _ = learned
    engine.add({"new": "a hammock made of rope"})
    assert engine("hammock", k=1).ids == [["new"]]
    engine.delete("new")


def test_what_is_beside_the_engine(learned):
    _, path = learned
    work = path.with_name("shop.learn")
    report = json.loads((work / "report.json").read_text("utf-8"))
    assert report["split"]["by"] == "time"
    rows = sqlite3.connect(work / "trials.sqlite").execute("SELECT name, searches FROM trials").fetchall()
    assert {name for name, _ in rows} == FEW.keys()
    assert report["lock"] == json.loads((work / "lock.json").read_text("utf-8"))


def test_a_second_run_reads_the_trials_of_the_first(learned, log, few, tmp_path):
    _, path = learned
    (tmp_path / "shop.learn").mkdir()
    known = path.with_name("shop.learn") / "trials.sqlite"
    (tmp_path / "shop.learn" / "trials.sqlite").write_bytes(known.read_bytes())
    seen = []
    vizsla.learn(log, tmp_path / "shop", time="10m", artifact=True, watch=seen.append)
    trials = [progress for progress in seen if isinstance(progress, racing.Progress)]
    assert trials
    assert all(progress.known for progress in trials)
    stages = [str(progress) for progress in seen if isinstance(progress, racing.ProgressStage)]
    assert stages[0].startswith("fusing bm25_clicks, ")
    assert stages[-1].startswith("building the winner on all clicks, ")


def test_replay_gives_the_same_digest(learned, log, tmp_path):
    _, path = learned
    lock = path.with_name("shop.learn") / "lock.json"
    vizsla.learn(log, tmp_path / "again", artifact=True, replay=lock)
    found = Manifest.parse((tmp_path / "again" / MANIFEST).read_bytes()).digest
    assert found == json.loads(lock.read_text("utf-8"))["digest"]
    with pytest.raises(InputError, match="must be that of the lock"):
        vizsla.learn(made_log(seed=2), replay=lock)
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(InputError, match="must be a lock file"):
        vizsla.learn(log, replay=tmp_path / "no.json")


def test_the_report_says_where_it_loses(learned):
    report = learned[0].report
    names = [one["slice"] for one in report.slices]
    assert {"all", "repeated", "tail"} & set(names) >= {"all", "repeated"}
    whole = report.slices[0]
    assert whole["winner"] - whole["baseline"] == pytest.approx(whole["gain"])
    assert all(one["loss"] > 0 and one["wanted"] for one in report.regressions)
    assert len(report.regressions) <= 10


def test_shrinkage_is_the_difference_of_the_two_splits(learned):
    report = learned[0].report
    assert report.shrinkage == pytest.approx(report.measured[0].chosen - report.measured[0].quality)
    assert report.shrinkage_low < report.shrinkage < report.shrinkage_high


def test_limits_are_hard(log, few):
    size = 500
    found = vizsla.learn(log, limit=f"{size} bytes/item", time="10m")
    assert found.nbytes / len(found.items) <= size
    with pytest.raises(InputError, match="some candidate keeps"):
        vizsla.learn(log, limit="1 bytes/item", time="10m")


def test_keep_what_you_have(log, few):
    best = vizsla.learn(log, time="10m")
    kept = vizsla.learn(log, time="10m", against=best)
    assert "Keep what you have" in kept.report.summary
    texts = list(dict.fromkeys(query.text for query in log.queries))
    run = {text: {"oak-lamp": 1.0} for text in texts}
    bad = vizsla.learn(log, time="10m", against=run)
    assert "Keep what you have" not in bad.report.summary
    assert bad.report.measured[-1].name == "today: run"
    with pytest.raises(InputError, match="must answer searches"):
        vizsla.learn(log, time="10m", against={"unheard of": {"oak-lamp": 1.0}})


def test_ctrl_c_returns_the_best_so_far(log, few):
    seen = []

    def press(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    found = vizsla.learn(log, time="10m", watch=press)
    assert "stopped by Ctrl-C" in found.report.notes[0]
    assert found("oak lamp").ids[0]


def test_a_family_goes_on_with_its_better_half(log, few, monkeypatch):
    seen = []
    vizsla.learn(log, time="10m", watch=seen.append)
    memories = [
        progress.trial.name
        for progress in seen
        if isinstance(progress, racing.Progress) and progress.trial.family == "memory"
    ]
    assert len(memories) == 2  # both rounds are the same here, so nothing is tried twice
    monkeypatch.setattr(racing, "FIRST_SEARCHES", 100)
    seen.clear()
    vizsla.learn(log, time="10m", watch=seen.append)
    memories = [
        progress.trial.searches
        for progress in seen
        if isinstance(progress, racing.Progress) and progress.trial.family == "memory"
    ]
    assert memories == [100, 100, 200]  # both at first, then the better one


def test_what_cannot_be_learned_from_is_refused(log, tmp_path):
    with pytest.raises(InputError, match="`path` must be new"):
        vizsla.learn(log, tmp_path)
    with pytest.raises(InputError, match="`path` must be given"):
        vizsla.learn(log, artifact=True)
    with pytest.raises(InputError, match="`limit` must be amounts"):
        vizsla.learn(log, limit="5 parsecs")
    with pytest.raises(InputError, match="`time` must be"):
        vizsla.learn(log, time="soon")


def test_limits_are_read_as_they_are_written():
    limits = Limits.parse("0.1 s, 1.5 kB/item, 2 GB, 50 calls")
    assert limits == Limits(ms=100.0, bytes_per_item=1500.0, bytes=2e9, calls=50.0)
    assert limits.exceeded(SearchCost(1.0, 3_000_000_000, 10_000_000, 0.0)) == "3e+09 bytes of 2e+09"
    assert not limits.exceeded(SearchCost(np.nan, 100, 10, 50.0))
    assert seconds_of("90s") == 90
    assert seconds_of("1.5h") == 5400


def test_the_summary_of_a_log(log):
    found = LogSummary.of(log)
    assert (found.items, found.clicks, found.untitled, found.duplicates) == (80, 2000, 0, 0)
    assert found.fields == {"sold": "number"}
    assert found.lines[0] == "80 items, 0 without a title, 0 without text, 0 twice; fields sold (number)"
    assert found.repeated > 0.5
    assert round(found.days) == 200


def test_replay_fits_its_own_encoder_again_and_holds_to_the_digest(tmp_path):
    items = {f"i{n}": f"word{n} thing{n % 9} some{n % 5}" for n in range(220)}
    data = Dataset.of(items, clicks=[("fig", "i3", 1.0)])
    candidates = proposed(data)
    winner = Winner.of(SearchPlan("vectors", ("vectors",)), candidates)
    shop = Workshop(as_stored(data), winner.candidates, bindings=own_encoder(data, winner.candidates))
    lock = lock_of(winner, data, winner.composed(shop), seed=0)
    file = tmp_path / "lock.json"
    file.write_text(json.dumps(lock))
    assert vizsla.learn(data, replay=file)("word3").ids[0][0] == "i3"
    file.write_text(json.dumps({**lock, "digest": "0" * 16}))
    with pytest.raises(InputError, match="must give the digest of the lock"):
        vizsla.learn(data, tmp_path / "shop", replay=file)
    assert not (tmp_path / "shop").exists() and not (tmp_path / "shop.learn" / "report.json").exists()


def test_data_that_differ_in_a_title_or_in_metadata_have_other_digests():
    rows = [{"title": "red", "text": "fig"}, {"title": "", "text": "red fig"}]
    rows += [{"title": "red", "text": "fig", "price": price} for price in (1, 2)]
    digests = {data_digest(Dataset.of([{"id": "a", **row}])) for row in rows}
    assert len(digests) == len(rows)


@pytest.mark.parametrize("processes", [False, True])
def test_trials_on_workers_choose_the_same(log, learned, few, processes):
    with connect(workers=2, processes=processes) as on:
        found = vizsla.learn(log, time="10m", on=on)
    here = learned[0].report
    assert found.report.winner == here.winner and found.report.members == here.members
    there = {(one["name"], one["clicks"], one["searches"]): one["quality"] for one in found.report.trials}
    assert there == {(one["name"], one["clicks"], one["searches"]): one["quality"] for one in here.trials}
    with pytest.raises(InputError, match="`on` must be a Placement"):
        vizsla.learn(log, on="auto")


@pytest.mark.parametrize("workers", [False, True])
def test_a_candidate_that_cannot_be_built_is_left_out_and_named(log, monkeypatch, workers):
    odd = Candidate("odd", "n-grams", Recipe.of("pefa", base="bm25", variant="xs", weight=7.0), True)
    monkeypatch.setattr("vizsla.autopilot.learn.proposed", lambda *_, **__: {"odd": odd, "bm25": FEW["bm25"]})
    with connect(workers=2, processes=False) as on:
        found = vizsla.learn(log, time="10m", on=on if workers else None)
    assert found.report.winner == "bm25"
    assert [note for note in found.report.notes if note.startswith("odd was left out: `weight` must be")]
