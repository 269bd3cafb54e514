"""The order of a run: by score, and of equal scores as its lines stand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vizsla.candidates import Candidates


def in_run_order(answers: Mapping[str, Mapping[str, float]]) -> Candidates:
    """Return answers ranked by score, items of equal scores in the order in which they are given.

    Candidates rank such items by number, which in a run says nothing: its items are numbered as queries before
    happened to find them. So equal scores are set apart by the least step that float32 has.

    Examples
    --------
    >>> in_run_order({"q1": {"fig": 1.0, "pear": 1.0}, "q2": {"pear": 2.0, "fig": 2.0}}).ids
    [['fig', 'pear'], ['pear', 'fig']]
    """
    run = Candidates.from_dict(answers)
    if not _has_ties(run):
        return run
    return Candidates.from_dict({query: _set_apart(row) for query, row in answers.items()})


def _has_ties(run: Candidates) -> bool:
    if run.scores is None or len(run.scores) < 2:
        return False
    same = np.diff(run.scores) == 0
    firsts = run.offsets[(run.offsets > 0) & (run.offsets < len(run.scores))]
    same[firsts - 1] = False  # the last of a query and the first of the next
    return bool(same.any())


def _set_apart(row: Mapping[str, float]) -> dict[str, float]:
    given = np.array(list(row.values()), np.float64)
    places = np.argsort(-given, kind="stable")
    scores, items = given[places].astype(np.float32), list(row)
    for at in range(1, len(scores)):
        scores[at] = min(scores[at], np.nextafter(scores[at - 1], np.float32(-np.inf)))
    return {items[place]: float(score) for place, score in zip(places, scores, strict=True)}
