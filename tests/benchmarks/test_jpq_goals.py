"""JPQ's goals as rows: which figures have a target, and when it is met."""

from __future__ import annotations

from types import SimpleNamespace

from benchmarks.jpq_goals import MEASURES, SEEN, UNSEEN, goal_rows


def compared(**values: float) -> SimpleNamespace:
    """Return a comparison of systems with the same figure for both measures."""
    measured = {name: SimpleNamespace(measures=dict.fromkeys(MEASURES, value)) for name, value in values.items()}
    pairs = [(a, b) for a in values for b in values if a < b]
    tests = [SimpleNamespace(a=a, b=b, measure=measure, p=0.01) for a, b in pairs for measure in MEASURES]
    return SimpleNamespace(names=list(values), evaluations=measured, tests=tests)


def met(size: int, split: str, **values: float) -> dict[str, bool]:
    """Return the verdicts of all rows that have a target."""
    rows = goal_rows("made", split, compared(**values), size)
    return {f"{row.work.split(', ')[-1]} / {row.peer}": row.met for row in rows if row.target and " R@10" in row.work}


def test_seen_items_win_back_seven_tenths_of_what_short_codes_lost():
    assert met(8, SEEN, opq=0.5, flat=1.0, jpq=0.86)["jpq: won back / goal"]
    assert not met(24, SEEN, opq=0.5, flat=1.0, jpq=0.84)["jpq: won back / goal"]


def test_unseen_items_win_back_a_third_at_8_bytes_and_lose_nowhere():
    assert met(8, UNSEEN, opq=0.5, flat=1.0, jpq=0.7) == {"jpq / opq": True, "jpq: won back / goal": True}
    assert met(16, UNSEEN, opq=0.5, flat=1.0, jpq=0.49) == {"jpq / opq": False}


def test_at_48_bytes_flat_is_the_goal_of_seen_items_and_of_a_pefa_teacher():
    figures = {"opq": 0.7, "flat": 0.8, "jpq": 0.79, "jpq of pefa": 0.81}
    assert met(48, SEEN, **figures) == {"jpq / opq": True, "jpq / flat": False, "jpq of pefa / flat": True}
    assert met(48, UNSEEN, **figures) == {"jpq / opq": True, "jpq of pefa / flat": True}
