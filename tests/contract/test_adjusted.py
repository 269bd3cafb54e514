"""Rules over every Retriever: pinned items come first, banned ones are gone, the rest keeps its order (law 20)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.catalog import ITEMS, QUERIES
from tests.contract.registry import RETRIEVERS
from vizsla.artifacts.artifact import load
from vizsla.compose.adjustments import adjust

IDS = list(ITEMS)
PINNED, BANNED = [IDS[7], IDS[2]], IDS[0]
RULES = {"rules": [{"pattern": ".", "pin": PINNED, "ban": [BANNED]}]}
MASKS = {"all": np.ones(len(IDS), np.bool_), "filtered": np.arange(len(IDS)) % 3 != 1}


@pytest.fixture(scope="module", params=[name for name, case in RETRIEVERS.items() if case.scored], ids=str)
def case(request):
    return RETRIEVERS[request.param]


@pytest.fixture(scope="module")
def retriever(case):
    return case.make()


@pytest.mark.parametrize("mask", MASKS)
def test_rules_hold_under_a_filter_and_move_nothing_else(case, retriever, mask):
    allowed = {id for id, flag in zip(IDS, MASKS[mask], strict=True) if flag}
    adjusted = adjust(retriever, RULES)
    for query in (QUERIES[0], QUERIES[2]):
        found = adjusted(query, 8, where=MASKS[mask]).ids[0]
        pinned = [id for id in PINNED if id in allowed]
        assert found[: len(pinned)] == pinned and BANNED not in found and set(found) <= allowed
        scores = adjusted(query, 8, where=MASKS[mask]).row(0)[1]
        assert adjusted.page(query, 8, where=MASKS[mask]).ids == found and (np.diff(scores) <= 0).all()
        for id, score in zip(found, scores, strict=True):
            assert adjusted.explain(query, id, where=MASKS[mask]).score == pytest.approx(score, rel=1e-5, abs=1e-6)
        if not case.exact:  # a longer answer may differ
            continue
        plain = [id for id in retriever(query, 100, where=MASKS[mask]).ids[0] if id not in (*PINNED, BANNED)]
        assert found[len(pinned) :] == plain[: len(found) - len(pinned)]


def test_a_saved_one_answers_as_before(retriever, tmp_path):
    adjusted = adjust(retriever, RULES)
    try:
        adjusted.save(tmp_path / "saved")
    except Exception:  # code, which no artifact holds; test_artifact.py says which
        return
    loaded = load(tmp_path / "saved")
    for query in (QUERIES[0], QUERIES[2]):
        assert loaded(query, 8).ids == adjusted(query, 8).ids
