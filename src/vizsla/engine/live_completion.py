"""Completion in an engine: titles of the live items and queries of their clicks, as the last transaction left them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable
from math import log2
from typing import NamedTuple

from vizsla.data.dataset import SECONDS_PER_DAY
from vizsla.engine.catalog import last_given
from vizsla.engine.follower import Follower
from vizsla.text.completion import (
    HALF_LIFE_DAYS,
    MAX_TITLE_CHARS,
    Completer,
    CompletionEntry,
    Suggested,
    completion_key,
    joined_entry,
    title_of,
)

MERGE_RATIO = 4
"""Entries that have changed are sorted together with those before them, unless these are so many times as many."""
EPOCH_S = 1_577_836_800.0
"""Weights are those of the year 2020, in seconds since 1970, so that they never change; later clicks weigh more."""
MAX_HALVINGS = 1000.0
NO_CLICKS = -2 * MAX_HALVINGS
"""The logarithm of what an entry without clicks weighs."""
QUERY = ""
"""Where a text comes from: an item's id with a space before it, or the queries."""

LIVE_ITEMS = "SELECT n, id, title, text FROM items WHERE n > ? AND n NOT IN (SELECT n FROM deletions) ORDER BY n"
CLICKS = "SELECT c, query, item, weight, time FROM clicks WHERE c > ? ORDER BY c"


class _Click(NamedTuple):
    query: str
    item: str
    weight: float


class _Shown(NamedTuple):
    text: str
    weight: float


class LiveCompletions:
    """Completes what is typed from the catalog of an engine; reads what is new in it when it is asked.

    Entries that have changed are sorted by themselves, in levels: a key counts in the newest level that has it. Small
    levels are merged, so that an entry is sorted a few times at most.

    Parameters
    ----------
    follower : Follower
        Whose connection is read.
    """

    def __init__(self, follower: Follower):
        self._follower = follower
        self._forget()

    def _forget(self) -> None:
        self._pid, self._version = os.getpid(), -1
        self._last = {"deletions": 0, "click_deletions": 0}
        self._last_item = self._last_click = 0
        self._ids: dict[int, str] = {}
        self._titles: dict[str, str] = {}
        self._chosen: dict[str, float] = {}
        self._clicks: dict[int, _Click] = {}
        self._texts: dict[str, dict[str, _Shown]] = {}
        self._levels: list[tuple[Completer, frozenset[str]]] = []

    def __call__(self, prefix: str, k: int, *, typos: bool) -> list[str]:
        """Return at most `k` texts that go on as the prefix does."""
        with self._follower.lock:
            self._follow()
            levels = self._levels
        found: list[Suggested] = []
        newer: list[frozenset[str]] = []
        for completer, keys in reversed(levels):
            found += _unchanged(completer, newer, prefix, k, typos)
            newer.append(keys)
        found.sort(key=lambda each: (each.edits, -each.entry.weight, each.entry.key.encode()))
        return [each.entry.text for each in found[:k]]

    def _follow(self) -> None:
        if self._pid != os.getpid():
            self._forget()
        catalog = self._follower.catalog
        version = catalog.data_version()
        if version == self._version:
            return
        with catalog.reading() as connection:
            if (changed := self._removed(connection)) is None:
                self._forget()
                changed = set()
                self._last = {table: last_given(connection, table) for table in self._last}
            changed |= self._read_items(connection) | self._read_clicks(connection)
        self._version = version
        if changed:
            self._add_level(changed)

    def _add_level(self, changed: set[str]) -> None:
        levels, keys = list(self._levels), frozenset(changed)
        while levels and len(levels[-1][1]) <= MERGE_RATIO * len(keys):
            keys |= levels.pop()[1]
        if not levels:
            keys = frozenset(keys & self._texts.keys())  # no older level has what is gone
        self._levels = [*levels, (Completer.from_entries(self._entries(keys)), keys)]

    def _removed(self, connection: sqlite3.Connection) -> set[str] | None:
        """Forget deleted items and clicks; None where the list of some is gone, and everything must be read again."""
        lost: dict[str, list[int]] = {}
        for table, column, key in (("deletions", "n", "d"), ("click_deletions", "c", "x")):
            last, known = last_given(connection, table), self._last[table]
            rows = connection.execute(f"SELECT {column} FROM {table} WHERE {key} > ?", (known,)).fetchall()
            if len(rows) != last - known:
                return None
            self._last[table], lost[table] = last, [row[0] for row in rows]
        changed = self._removed_clicks(lost["click_deletions"])
        for n in lost["deletions"]:
            if (id := self._ids.pop(n, None)) is not None and (title := self._titles.pop(id, None)) is not None:
                key = completion_key(title)
                self._forget_text(key, f" {id}")
                if not self._chosen.get(id):
                    self._chosen.pop(id, None)
                changed.add(key)
        return changed

    def _forget_text(self, key: str, source: str) -> None:
        """Forget what one source shows for a key, and the key after its last source."""
        sources = self._texts.get(key, {})
        sources.pop(source, None)
        if not sources:
            self._texts.pop(key, None)

    def _removed_clicks(self, numbers: list[int]) -> set[str]:
        """Forget clicks; what they were added to is added up again, so that sums are those of a fresh start."""
        gone = [click for c in numbers if (click := self._clicks.pop(c, None)) is not None]
        if not gone:
            return set()
        keys, items = {completion_key(click.query) for click in gone}, {click.item for click in gone}
        for key in keys:
            self._forget_text(key, QUERY)
        for item in items:
            self._chosen.pop(item, None)
        changed = {*keys, *(key for item in items for key in self._choose(item, 0.0))}
        for click in self._clicks.values():
            if completion_key(click.query) in keys:
                self._weigh(click)
            if click.item in items:
                self._choose(click.item, click.weight)
        return changed

    def _read_items(self, connection: sqlite3.Connection) -> set[str]:
        changed = set()
        for n, id, title, text in connection.execute(LIVE_ITEMS, (self._last_item,)):
            self._last_item = n
            if shown := title_of(title, text):
                self._ids[n], self._titles[id] = id, shown
                changed |= self._choose(id, 0.0)
        return changed

    def _read_clicks(self, connection: sqlite3.Connection) -> set[str]:
        changed = set()
        for c, query, item, weight, time in connection.execute(CLICKS, (self._last_click,)):
            self._last_click = c
            halvings = (time - EPOCH_S) / SECONDS_PER_DAY / HALF_LIFE_DAYS
            weight *= 2.0 ** max(min(halvings, MAX_HALVINGS), -MAX_HALVINGS)
            click = self._clicks[c] = _Click(" ".join(query.split()), item, weight)
            changed |= self._weigh(click) | self._choose(item, weight)
        return changed

    def _weigh(self, click: _Click) -> set[str]:
        """Add a click to what its query weighs."""
        key = completion_key(click.query)
        if not key or len(key) > MAX_TITLE_CHARS:
            return set()
        sources = self._texts.setdefault(key, {})
        known = sources.get(QUERY, _Shown(click.query, 0.0))
        sources[QUERY] = _Shown(known.text, known.weight + click.weight)
        return {key}

    def _choose(self, item: str, weight: float) -> set[str]:
        """Add to what an item weighs, and note what its title weighs."""
        self._chosen[item] = self._chosen.get(item, 0.0) + weight
        shown = self._titles.get(item, "")
        if not (key := completion_key(shown)) or len(key) > MAX_TITLE_CHARS:
            return set()
        self._texts.setdefault(key, {})[f" {item}"] = _Shown(shown, self._chosen[item])
        return {key}

    def _entries(self, keys: Iterable[str]) -> Iterable[CompletionEntry]:
        for key in keys:
            entry: CompletionEntry | None = None
            for _, (text, weight) in sorted(self._texts.get(key, {}).items()):
                entry = joined_entry(entry, CompletionEntry(key, text, weight))
            if entry is not None:
                yield entry._replace(weight=log2(entry.weight) if entry.weight > 0 else NO_CLICKS)


def _unchanged(completer: Completer, newer: list[frozenset[str]], prefix: str, k: int, typos: bool) -> list[Suggested]:
    """Return the best k entries of a level that no newer one has."""
    asked = k
    while True:
        found = completer.find(prefix, asked, typos=typos)
        kept = [each for each in found if not any(each.entry.key in keys for keys in newer)]
        if len(kept) >= k or len(found) < asked:
            return kept[:k]
        asked *= 2
