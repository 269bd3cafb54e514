"""One system at several settings: the rows are those of single evaluations, the curve is theirs."""

from __future__ import annotations

import json

import pytest

from tests.evaluation.random_systems import judged_dict, noisy_system
from vizsla.errors import InputError
from vizsla.evaluation import evaluate, sweep
from vizsla.evaluation.sweep import Sweep

DATA = judged_dict(40)
SYSTEMS = {noise: noisy_system(DATA, noise=noise, seed=1) for noise in (0.1, 1.0, 4.0)}


@pytest.fixture(scope="module")
def swept():
    return sweep("noise", SYSTEMS.items(), DATA, measures=["R@5", "nDCG@10"], latency_queries=5)


def test_every_setting_is_evaluated_as_it_would_be_alone(swept):
    for noise, system in SYSTEMS.items():
        alone = evaluate(system, DATA, measures=["R@5", "nDCG@10"], latency_queries=0)
        assert swept.evaluations[noise].measures == alone.measures
    assert [quality for _, quality in swept.curve(x="bytes", y="R@5")] == [
        swept.evaluations[noise].measures["R@5"] for noise in SYSTEMS
    ]
    assert {cost for cost, _ in swept.curve(x="bytes")} == {480}


def test_it_can_be_read_written_and_drawn(swept, tmp_path, capsys):
    swept.show()
    assert "noise 0.1" in capsys.readouterr().out
    rows = json.loads(swept.to_json(tmp_path / "s.json"))
    assert rows["setting"] == "noise" and [row["noise"] for row in rows["values"]] == [0.1, 1.0, 4.0]
    assert swept.to_markdown().splitlines()[0].startswith("| system | R@5 | nDCG@10 |")
    assert swept.plot(tmp_path / "s.png").stat().st_size > 5000


def test_wrong_wishes_are_refused(swept):
    with pytest.raises(InputError, match="`measures` must name measures"):
        sweep("noise", SYSTEMS, DATA, measures=-1)
    with pytest.raises(InputError, match="`y` must be one of"):
        swept.curve(y="P@1")
    with pytest.raises(InputError, match="`x` must be one of"):
        swept.curve(x="money")
    with pytest.raises(InputError, match="at least one setting"):
        sweep("noise", {}, DATA)
    untimed = sweep("noise", SYSTEMS, DATA, measures=["R@5"], latency_queries=0)
    with pytest.raises(InputError, match="no query was timed"):
        untimed.curve()


def test_settings_are_shown_in_their_own_order(swept):
    turned = Sweep("noise", dict(reversed(swept.evaluations.items())))
    assert list(turned.evaluations) == [0.1, 1.0, 4.0]
    assert turned.curve(x="bytes", y="R@5") == swept.curve(x="bytes", y="R@5")
