"""Every retriever of the registry can be a member of an engine: it answers, says how stale it is, and is rebuilt."""

from __future__ import annotations

import warnings

import pytest

from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from tests.contract.registry import RETRIEVERS, anchors
from vizsla import Engine
from vizsla.data.dataset import Dataset

NEW = {"brand new": "fig tree leaf seed bark root", "gone": "pear plum"}

ANCHORED = ("sum under a budget", "adacur")
"""Whose anchors know the first items alone: others need new anchors."""
CLICKED_ONLY = ("click memory",)
"""Which find no item that was never clicked."""


def clicks():
    return [(CLICKED[query], item, weight) for query, item, weight in CLICKS]


@pytest.mark.parametrize("name", RETRIEVERS)
def test_a_member_answers_says_how_stale_it_is_and_is_rebuilt(name, tmp_path):
    original, given = RETRIEVERS[name].make(), {}
    if name.startswith("residual cur"):
        given = {"anchors": anchors(), "encoder": RETRIEVERS["dense flat"].make().encoder}
    with (
        warnings.catch_warnings(action="ignore"),
        Engine.create(tmp_path / "engine", bindings=given, maintenance="manual") as engine,
    ):
        engine.add(ITEMS)
        engine.clicks(clicks())
        engine.add_member("one", original)
        engine.set_default("one")
        engine.search(QUERIES, 10)
        new = {} if name in ANCHORED else NEW
        engine.add(new)
        engine.delete("gone", unknown="ignore")
        found = engine.search([*QUERIES, NEW["brand new"]], 10)
        assert all("gone" not in row for row in found.ids)
        told = engine.stats()["members"]["one"]
        if told["type"] == "live":
            assert ("brand new" in found.ids[-1]) == (name not in CLICKED_ONLY)
        if told["type"] == "static":
            assert told["items_since"] == len(new) // 2 and told["clicks_since"] == 0 and told["trained_at"] > 0
        engine.rebuild("one")
        assert not engine.stats()["members"]["one"].get("items_since")
        counted = {} if name.startswith("tfidf") else {"clicks": clicks()}
        left = {id: text for id, text in (ITEMS | new).items() if id != "gone"}
        fresh = original.recipe.build(Dataset.of(left, **counted), bindings=given)
        member = engine.generation().retriever("one")
        member = getattr(member, "part", member) if member.scale == fresh.scale and "pefa" in name else member
        assert member(QUERIES, 10).ids == fresh(QUERIES, 10).ids
