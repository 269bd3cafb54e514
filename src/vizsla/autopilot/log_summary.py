"""LogSummary: what a catalog and its click log hold, before anything is learned from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from vizsla.artifacts.manifest import digest
from vizsla.core.catalog import details_of
from vizsla.data.dataset import SECONDS_PER_DAY, Dataset
from vizsla.learning.query_mix import predicted_mix, text_numbers

TITLE = "title"
"""A column of every catalog, which is no further field."""


@dataclass(frozen=True)
class LogSummary:
    """What is there to learn from.

    Parameters
    ----------
    items, searches, texts, clicks : int
        Items, queries with clicks, different texts of them, and clicks.
    untitled, empty, duplicates : int
        Items without a title, without any text, and with the same text as another.
    fields : dict of str to str
        Further fields of the items, and what kind of values each has.
    clicked_items : int
        Items with a click.
    repeated, warm, cold : float
        The shares that the log predicts among the searches to come: repeated texts, new texts about items with clicks,
        and new texts about items without.
    first, last : str
        The days of the first and the last click; "" without times.
    days : float
        How many days lie between them.
    warnings : tuple of str
        What was handled by a rule when the data were read.

    Examples
    --------
    >>> log = [("sweet", "f", 1, "2025-01-01"), ("juicy", "p", 1, "2025-03-01")]
    >>> found = LogSummary.of(Dataset.of({"f": "a fig", "p": "a pear", "q": "a pear"}, clicks=log))
    >>> found.items, found.duplicates, found.first, found.days
    (3, 1, '2025-01-01', 59.0)
    """

    items: int
    searches: int
    texts: int
    clicks: int
    untitled: int
    empty: int
    duplicates: int
    fields: dict[str, str]
    clicked_items: int
    repeated: float = 0.0
    warm: float = 0.0
    cold: float = 0.0
    first: str = ""
    last: str = ""
    days: float = 0.0
    warnings: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, dataset: Dataset) -> LogSummary:
        """Read a dataset once."""
        untitled, empty, seen = 0, 0, Counter[str]()
        for item in dataset.items:
            text = item.default_text()
            untitled += not item.title
            empty += not text.strip()
            seen[digest(text.encode())] += 1
        clicks, details = dataset.clicks, details_of(dataset.item_ids)
        asked = np.flatnonzero(np.diff(clicks.indptr))
        known: dict[str, Any] = {}
        if len(asked):
            known |= predicted_mix(dataset).shares
        events = dataset.events
        if events is not None and len(events.times):
            first, last = float(events.times.min()), float(events.times.max())
            known |= {"first": _day(first), "last": _day(last), "days": round((last - first) / SECONDS_PER_DAY, 1)}
        return cls(
            items=len(dataset.items),
            searches=len(asked),
            texts=len(np.unique(text_numbers(dataset)[1][asked])) if len(asked) else 0,
            clicks=round(float(clicks.sum())) if dataset.events is None else len(dataset.events.times),
            untitled=untitled,
            empty=empty,
            duplicates=sum(count - 1 for count in seen.values()),
            fields={}
            if details is None
            else {name: details.column(name).kind for name in sorted(details.columns) if name != TITLE},
            clicked_items=len(np.unique(clicks.indices)),
            warnings=tuple(dataset.warnings),
            **known,
        )

    @property
    def lines(self) -> list[str]:
        """The summary in words."""
        named = ", ".join(f"{name} ({kind})" for name, kind in self.fields.items())
        fields = f"; fields {named}" if named else ""
        missing = f"{self.untitled:,} without a title, {self.empty:,} without text"
        said = [f"{self.items:,} items, {missing}, {self.duplicates:,} twice{fields}"]
        if self.clicks:
            said.append(
                f"{self.clicks:,} clicks of {self.texts:,} different queries on {self.clicked_items:,} items"
                + (f", {self.first} to {self.last}" if self.first else ", without times")
            )
            said.append(
                f"expected: {self.repeated:.0%} repeated queries, {self.warm:.0%} new ones about items with clicks, "
                f"{self.cold:.0%} about items without"
            )
        else:
            said.append("no clicks")
        return [*said, *self.warnings]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the lines as a dict."""
        return {**asdict(self), "lines": self.lines}


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).date().isoformat()
