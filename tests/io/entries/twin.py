"""A click log read in plain Python, by the rules of docs/how-to/read-your-data.md and with nothing of the library."""

from __future__ import annotations

import csv
from dataclasses import dataclass, field

Entry = tuple[str, str, float]


@dataclass
class Twin:
    """What a log says: its entries, and the numbers of its blank and of its unreadable lines."""

    entries: list[Entry] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    bad: list[int] = field(default_factory=list)

    def queries(self) -> list[str]:
        return list(dict.fromkeys(query for query, _, _ in self.entries))

    def sums(self, items: list[str]) -> dict[tuple[str, str], float]:
        sums: dict[tuple[str, str], float] = {}
        for query, item, weight in self.entries:
            if item in items:
                sums[query, item] = sums.get((query, item), 0.0) + weight
        return {pair: weight for pair, weight in sums.items() if weight != 0}

    def dangling(self, items: list[str]) -> list[str]:
        return [item for _, item, _ in self.entries if item not in items]


def read(data: bytes, *, commas: bool, width: int) -> Twin:
    """Read a log without a header: query, item, weight, time, or the first `width` of them."""
    twin = Twin()
    lines = data.decode("utf-8-sig").split("\n")
    for number, line in enumerate(lines[:-1], 1):
        text = line.removesuffix("\r")
        entry = _entry(text, commas, width)
        if not text.strip():
            twin.blank.append(number)
        elif entry is None:
            twin.bad.append(number)
        else:
            twin.entries.append(entry)
    assert lines[-1] == "", "a twin's log ends with a newline"
    return twin


def _entry(text: str, commas: bool, width: int) -> Entry | None:
    try:
        fields = next(csv.reader([text], strict=True)) if commas else text.split("\t")
        query, item, weight, time = [*fields, *["1", "now"][width - 2 :]]
        value = float(weight)
    except (csv.Error, ValueError, StopIteration):
        return None
    sound = query.strip() and item.strip() and time.strip() and 0 <= value < 3e38
    return (query, item, value) if sound else None
