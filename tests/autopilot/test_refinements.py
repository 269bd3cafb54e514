"""Signals and scorers join what `learn` chose where that surely helps; an encoder encodes no text twice."""

from __future__ import annotations

import json
import random
from time import sleep

import pytest

import vizsla
from tests.autopilot.made_log import KINDS, LOOKS, made_log
from tests.autopilot.test_learn import FEW
from vizsla.autopilot.proposals import Candidate
from vizsla.autopilot.refinements import RememberedVectors, signal_candidates
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import SECONDS_PER_DAY, Dataset
from vizsla.encoders import FunctionEncoder
from vizsla.errors import InputError
from vizsla.scorers import FunctionScorer

WORDS = {name: FEW[name] for name in ("bm25", "memory")}
SLANG = {f"x{look[::-1]}": look for look in LOOKS}


@pytest.fixture
def words(monkeypatch):
    monkeypatch.setattr("vizsla.autopilot.learn.proposed", lambda *_, **__: dict(WORDS))


def shelf(*, by_sales: bool, searches: int = 1200) -> Dataset:
    """Return 60 things, each by three makers with the same words; users take what sells best, or any of the three."""
    draw = random.Random(3)
    items = [
        {
            "id": f"{thing}-{maker}",
            "text": f"thing{thing} gadget",
            "sold": (thing * 7 + maker * 31) % 97,
            "price": maker,
        }
        for thing in range(60)
        for maker in range(3)
    ]
    best = {item["text"]: item["id"] for item in sorted(items, key=lambda item: item["sold"])}
    log = []
    for number in range(searches):
        thing = draw.randrange(60)
        item = best[f"thing{thing} gadget"] if by_sales else f"{thing}-{draw.randrange(3)}"
        # No text comes twice, so that memory cannot know it.
        log.append((f"thing{thing} number {number}", item, 1.0, 1e9 + SECONDS_PER_DAY * number / 10))
    return Dataset.of(items, clicks=log)


def test_a_signal_joins_where_users_choose_by_it(words):
    found = vizsla.learn(shelf(by_sales=True), time="10m")
    assert "signal_1" in found.report.winner
    assert found.report.members["signal_1"]["settings"]["field"] == "sold"
    plain = next(row for row in found.report.measured if row.name == "bm25")
    assert plain.behind_low > 0.05
    assert all(hit.startswith("5-") for hit in found("thing5 number", k=3).ids[0])


def test_a_signal_that_says_nothing_stays_out(words):
    found = vizsla.learn(shelf(by_sales=False), time="10m")
    assert "signal" not in found.report.winner


def test_a_signal_comes_into_the_engine(words, tmp_path):
    with vizsla.learn(shelf(by_sales=True), tmp_path / "shop", time="10m") as engine:
        assert "signal_1" in engine.members
        first = engine("thing5 number 0", k=1).ids
        engine.add([{"id": "new", "text": "thing5 gadget", "sold": 96}])
        assert engine("thing5 number 0", k=1).ids == [["new"]] != first


def test_only_fields_of_numbers_and_dates_are_signals():
    rows = [
        {"id": str(n), "text": "fig", "sold": n, "shop": "here", "made": f"2025-01-{n + 1:02}", "one": 7}
        for n in range(9)
    ]
    fields = [one.recipe.settings["field"] for one in signal_candidates(Dataset.of(rows)).values()]
    assert fields == ["sold", "sold", "made", "made"]
    assert signal_candidates(Dataset.of(["a fig"])) == {}


def scorer_of(log: Dataset) -> FunctionScorer:
    """Return a scorer that knows what the users' words mean."""

    def score(query: str, texts: list[str]) -> list[float]:
        meant = {SLANG.get(word, word) for word in query.split()}
        return [float(len(meant & set(text.replace(",", "").split()))) for text in texts]

    return FunctionScorer(score, {item.id: item.default_text() for item in log.items})


def test_a_scorer_re_ranks_within_the_calls_that_are_allowed(words):
    log = made_log(slang=0.9)
    found = vizsla.learn(log, time="10m", scorer=scorer_of(log))
    assert "rerank(scorer, depth=" in found.report.winner
    assert 1 < found.report.measured[0].calls <= 50
    assert next(row for row in found.report.measured if row.name == "bm25").behind_low > 0.1
    assert found.report.lock["digest"] == ""  # a function cannot be saved
    limited = vizsla.learn(log, time="10m", scorer=scorer_of(log), limit="2 calls").report
    assert "rerank" not in limited.winner
    refused = [one["expression"] for one in limited.finalists if one["refused"].endswith("calls of 2")]
    assert len(refused) == 3
    assert all("rerank" in one for one in refused)
    assert "A wider limit" in limited.advice[0]


def test_a_scorer_needs_a_retriever_or_an_artifact(tmp_path):
    log = made_log()
    with pytest.raises(InputError, match="`artifact` must be given with a `scorer`"):
        vizsla.learn(log, tmp_path / "shop", scorer=scorer_of(log))


def test_the_report_says_what_would_gain_more(monkeypatch):
    monkeypatch.setattr("vizsla.autopilot.learn.proposed", lambda *_, **__: dict(FEW))
    report = vizsla.learn(made_log(), time="10m", limit="1 kB/item").report
    clicks = [point["clicks"] for point in report.curve]
    assert clicks == [400, 800, 1600]
    assert report.curve[0]["quality"] < report.curve[-1]["quality"]
    said = " ".join(report.advice)
    assert "clicks" in said
    assert "no encoder was given" in said
    page = report.to_html()
    assert report.advice[0] in page
    assert "<code>--encoder MODEL</code>" in page


def test_vectors_are_made_once_but_single_queries_are_timed():
    calls = []

    def lengths(texts: list[str]) -> list[list[float]]:
        calls.append(list(texts))
        return [[float(len(text)), 1.0] for text in texts]

    encoder = RememberedVectors(FunctionEncoder(lengths, dim=2, name="lengths"))
    first = encoder.items(["fig", "pear"]), encoder.queries(["a", "bb"])
    assert [one.tolist() for one in first] == [
        encoder.items(["fig", "pear"]).tolist(),
        encoder.queries(["a", "bb"]).tolist(),
    ]
    assert len(calls) == 2
    encoder.queries(["a"])
    encoder.queries(["a"])
    assert len(calls) == 4


def test_a_scorer_finds_under_a_budget_what_words_do_not(monkeypatch, tmp_path):
    """Queries share no word with any item, so that there is nothing to re-rank; the scorer alone knows them."""
    candidates = {"bm25": FEW["bm25"], "tfidf": Candidate("tfidf", "n-grams", Recipe.of("tfidf"))}
    monkeypatch.setattr("vizsla.autopilot.learn.proposed", lambda *_, **__: dict(candidates))
    items = {f"{look}-{kind}": f"{look} {kind}" for look in LOOKS for kind in KINDS}
    meaning = {word[::-1] + "x": word for word in (*LOOKS, *KINDS)}
    log = [(f"{look[::-1]}x {kind[::-1]}x {n}", f"{look}-{kind}") for look in LOOKS for kind in KINDS for n in range(5)]

    def score(query: str, texts: list[str]) -> list[float]:
        return [float(len({meaning.get(word) for word in query.split()} & set(text.split()))) for text in texts]

    scorer = FunctionScorer(score, items, name="meaning")
    found = vizsla.learn(Dataset.of(items, clicks=log), time="10m", scorer=scorer)
    assert found.report.winner in ("budgeted_20", "budgeted_50")
    assert found.report.measured[0].quality > 0.5
    plain = [one for one in found.report.finalists if one["expression"].endswith("rerank(scorer, depth=50)")]
    assert plain[0]["quality"] < 0.1
    assert found(log[0][0], k=1).ids == [[log[0][1]]]
    again = FunctionScorer(score, items, name="meaning")
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps(found.report.lock), encoding="utf-8")
    assert vizsla.learn(Dataset.of(items, clicks=log), replay=lock, scorer=again)(log[0][0], k=1).ids == [[log[0][1]]]


def test_a_slow_scorer_ends_with_the_time(words):
    log = made_log(slang=0.9)

    def slow(query: str, texts: list[str]) -> list[float]:
        sleep(0.002 * len(texts))
        return [0.0] * len(texts)

    scorer = FunctionScorer(slow, {item.id: item.default_text() for item in log.items})
    report = vizsla.learn(log, time="4s", scorer=scorer).report
    assert any("There was no time for" in note and "depth=50" in note for note in report.notes)
