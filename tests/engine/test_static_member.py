"""A member that was built once and takes later items: what it finds after all of its items were replaced."""

from __future__ import annotations

import pytest

import vizsla
from vizsla.core.strings import Strings
from vizsla.engine.static_member import StaticMember


@pytest.mark.parametrize(
    "new",
    [
        {"a": "plum", "b": "date"},
        {"b": "date", "a": "plum", "c": "quince"},
        {"a": "plum"},
        {"c": "quince"},
    ],
)
def test_replaced_items_are_found_by_their_new_texts(new):
    old = {"a": "fig", "b": "pear"}
    built = vizsla.tokens(old)
    assert built.takes_items
    member, now = StaticMember(built, 2), old | new
    found = member.over(Strings.of(list(now)), 2 + len(new), lambda last: new)
    for id, text in now.items():
        assert found(text).ids == [[id]]
    for id in old.keys() & new.keys():
        assert found(old[id]).ids == [[]]
