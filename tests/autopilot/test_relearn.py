"""relearn: a default member is swapped for a sure gain, and stays without one."""

from __future__ import annotations

import json

import pytest

import vizsla
from tests.autopilot.made_log import made_log
from tests.autopilot.test_learn import FEW
from vizsla.autopilot.relearn import INCUMBENT, incumbent, relearn
from vizsla.errors import InputError


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr("vizsla.autopilot.learn.proposed", lambda *_, **__: dict(FEW))


@pytest.fixture
def engine(tmp_path):
    log = made_log()
    with vizsla.Engine.create(
        tmp_path / "shop", members={"words": vizsla.Recipe.of("bm25")}, maintenance="manual"
    ) as made:
        made.add(list(log.items))
        texts = [query.text for query in log.queries]
        rows = zip(*(each.tolist() for each in log.events), strict=True)
        made.clicks([(texts[query], log.item_ids[item], weight, time) for query, item, weight, time in rows])
        yield made


def test_a_sure_gain_is_swapped_in_and_then_stays(engine, few):
    before = engine.search("xkao lamp").ids
    first = relearn(engine, time="10m")
    assert first.swapped
    assert first.default == engine.generation().default == "bm25_clicks_2"
    assert engine.search("xkao lamp", k=1).ids == [["oak-lamp"]] != before
    row = next(one for one in first.report.measured if one.name == INCUMBENT)
    assert row.behind_low > 0
    second = relearn(engine, time="10m")
    assert not second.swapped
    assert "stays: nothing is significantly better" in second.said
    assert "drifted by" in second.said
    history = engine.path.with_name("shop.learn") / "history.jsonl"
    assert [json.loads(line)["swapped"] for line in history.read_text("utf-8").splitlines()] == [True, False]
    engine.rollback("before_learned_2")
    assert engine.generation().default == "words"


def test_the_incumbent_is_built_without_the_newest_clicks(engine):
    log = engine.dataset()
    engine.add_member("adapted", vizsla.Recipe.of("pefa", base="words", variant="xs", weight=0.5, calibrated=False))
    engine.add_member("sum", "0.5*words.scaled() + 0.5*adapted.scaled()")
    found = incumbent(engine, "sum", log)
    words = vizsla.bm25(log)
    adapted = vizsla.pefa(words, log, variant="xs", weight=0.5, calibrated=False)
    ours = (0.5 * words.scaled() + 0.5 * adapted.scaled())("oak lamp please", 5)
    assert found("oak lamp please", 5).to_dict() == ours.to_dict()


def test_an_engine_without_clicks_is_refused(tmp_path):
    with (
        vizsla.Engine.create(tmp_path / "empty", members={"words": vizsla.Recipe.of("bm25")}) as made,
        pytest.raises(InputError, match="must have clicks"),
    ):
        relearn(made)
