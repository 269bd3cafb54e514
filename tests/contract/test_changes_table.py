"""The table of what can change later, in docs/how-to/add-and-remove-items.md, against what every kind really does."""

from __future__ import annotations

import re
import warnings
from functools import cache
from pathlib import Path

import pytest

from tests.contract.catalog import ITEMS
from tests.contract.registry import RETRIEVERS
from vizsla.compose.composition import Composition
from vizsla.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-and-remove-items.md"
SECTION = "## What can change later"
CHANGES = {
    "with_items": {"quite new": "a fig tree"},
    "without_items": [next(iter(ITEMS))],
    "with_clicks": [("fig tree", next(iter(ITEMS)))],
}


@cache
def table():
    """Return for each kind whether it takes new items, lets items go, and takes clicks, as the page has it."""
    section = PAGE.read_text(encoding="utf-8").partition(SECTION)[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| `")]
    return {
        kind: [cell.strip().startswith("yes") for cell in cells] for kinds, *cells in rows for kind in _named(kinds)
    }


def _named(cell):
    return re.findall("`([^`]+)`", cell)


def named(retriever):
    """Return what the page calls this retriever."""
    if retriever.kind == "bm25" and (retriever.fields or retriever.statistics.documents > len(retriever.items)):
        return "bm25 fields"
    if retriever.kind in ("tokens", "tfidf") and retriever.fields:
        return f"{retriever.kind} fields"
    inner = getattr(retriever, "index", None)
    kind = getattr(inner, "kind", "")
    if retriever.kind == "dense" or (retriever.kind == "pefa-xs" and kind == "pq"):
        return f"{retriever.kind} {kind}"
    return retriever.kind


def takes(retriever, method):
    try:
        with warnings.catch_warnings(action="ignore"):
            changed = getattr(retriever, method)(CHANGES[method])
    except (InputError, AttributeError):
        return False
    return isinstance(changed, type(retriever))


def said(retriever):
    """Return what the page says of this retriever: what stands on others takes items where all of them do."""
    below = retriever.children() if isinstance(retriever, Composition) else getattr(retriever, "base", None)
    if isinstance(retriever, Composition):
        items = [all(each) for each in zip(*(said(part)[:2] for part in below), strict=True)]
        return [*items, takes(retriever, "with_clicks")]
    row = table()[named(retriever)]
    return [*said(below)[:2], row[2]] if named(retriever) in ("pefa-xl", "pefa-xs") else row


@pytest.mark.parametrize("name", RETRIEVERS)
def test_the_page_says_what_every_kind_does(name):
    retriever = RETRIEVERS[name].make()
    assert [takes(retriever, method) for method in CHANGES] == said(retriever), named(retriever)


def test_every_row_is_of_a_kind_that_is_there():
    there = {named(case.make()) for case in RETRIEVERS.values()}
    assert set(table()) <= there
