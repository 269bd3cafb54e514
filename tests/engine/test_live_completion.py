"""`engine.complete` follows every change: after any of them it answers as a fresh start does."""

import numpy as np
import pytest

from vizsla import Engine
from vizsla.core.catalog import Item
from vizsla.engine import live_completion
from vizsla.errors import InputError

DAY = 86400.0
WORDS = ["fire", "fox", "fig", "tree", "browser", "alarm", "red", "firefox"]


@pytest.fixture
def engine(tmp_path):
    with Engine.create(tmp_path / "engine") as made:
        yield made


def test_titles_and_queries_are_suggested_at_once(engine):
    engine.add([Item("f", "a browser", title="Firefox"), Item("a", "loud", title="Fire alarm")])
    assert engine.complete("fire") == ["Fire alarm", "Firefox"]
    engine.click("fire safety", "f")
    assert engine.complete("fire") == ["fire safety", "Firefox", "Fire alarm"]
    engine.click("firewall", "a", time=(2**31))
    assert engine.complete("fire", k=2) == ["Fire alarm", "firewall"]
    engine.upsert([Item("f", "a browser", title="Fire Fox")])
    assert "Firefox" not in engine.complete("fire")
    assert "Fire Fox" in engine.complete("fire")
    engine.delete(["a"])
    assert engine.complete("fire a", typos=False) == []


def test_another_process_is_followed(engine, tmp_path):
    engine.add([Item("f", "x", title="Firefox")])
    with Engine.open(tmp_path / "engine") as other:
        assert other.complete("fir") == ["Firefox"]
        engine.add([Item("g", "x", title="Firewall")])
        assert other.complete("fir") == ["Firefox", "Firewall"]


def test_what_comes_and_goes_leaves_nothing_behind(engine):
    engine.add([Item("f", "x", title="Firefox")])
    for round in range(150):
        engine.add([Item(f"new {round}", "x", title=f"Fire {round}")])
        assert engine.complete(f"fire {round}") == [f"Fire {round}"]
        engine.delete([f"new {round}"])
        assert engine.complete("f") == ["Firefox"]
    known = engine._completions
    assert list(known._texts) == ["firefox"] and list(known._titles) == list(known._ids.values()) == ["f"]
    assert sum(len(keys) for _, keys in known._levels) < 20 and list(known._chosen) == ["f"]


def test_typos_and_arguments(engine):
    engine.add([Item("f", "x", title="Firefox")])
    assert engine.complete("fierf") == ["Firefox"]
    assert engine.complete("fierf", typos=False) == []
    with pytest.raises(InputError, match="`k`"):
        engine.complete("f", k=0)


@pytest.mark.parametrize("seed", range(4))
def test_after_any_changes_it_answers_as_a_fresh_start(tmp_path, seed, monkeypatch):
    monkeypatch.setattr(live_completion, "MERGE_RATIO", seed)
    rng = np.random.default_rng(seed)

    def text():
        return " ".join(rng.choice(WORDS, rng.integers(1, 4)))

    path = tmp_path / "engine"
    with Engine.create(path) as engine:
        for step in range(60):
            what, id = rng.integers(0, 10), str(rng.integers(0, 12))
            if what < 4:
                engine.upsert([Item(id, "long " * 40, title=text())])
            elif what < 8 and engine.get(id) is not None:
                engine.click(text(), id, 1.0, float(rng.integers(0, 200)) * DAY)
            elif what == 8:
                engine.delete([id], unknown="ignore")
            else:
                engine.flush()
                engine.compact()
            if step % 3 == 0:
                followed = {prefix: engine.complete(prefix, 6) for prefix in ("", "f", "fire", "fire f", "fxre", "tre")}
                with Engine.open(path) as fresh:
                    assert {prefix: fresh.complete(prefix, 6) for prefix in followed} == followed
