"""Trials: every measurement as a row in SQLite, so that a search that was stopped goes on where it was."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from vizsla.artifacts.manifest import digest
from vizsla.autopilot.limits import SearchCost
from vizsla.base.recipe import Recipe
from vizsla.data.dataset import Dataset
from vizsla.typing import Float64Array

_TABLE = """
CREATE TABLE IF NOT EXISTS trials (
  key TEXT PRIMARY KEY, name TEXT NOT NULL, family TEXT NOT NULL, recipe TEXT NOT NULL, clicks INTEGER NOT NULL,
  searches INTEGER NOT NULL, quality REAL NOT NULL, seconds REAL NOT NULL, ms REAL, bytes INTEGER NOT NULL,
  items INTEGER NOT NULL, calls REAL NOT NULL, refused TEXT NOT NULL, trial_values BLOB NOT NULL
)"""


@dataclass(frozen=True)
class LearningTrial:
    """What one candidate was worth on a share of the searches, after learning from a share of the clicks.

    Parameters
    ----------
    name, family : str
        Which candidate.
    recipe : Recipe
        Its recipe, with the settings that it has chosen for itself.
    clicks, searches : int
        How many it has learned from, and was measured on.
    quality : float
        nDCG@10 on the mean search to come.
    seconds : float
        Time of building and searching.
    cost : SearchCost
        The cost of a search.
    refused : str
        Which limit it exceeds; "" for none.
    values : array
        nDCG@10 of every search.
    """

    name: str
    family: str
    recipe: Recipe
    clicks: int
    searches: int
    quality: float
    seconds: float
    cost: SearchCost
    refused: str
    values: Float64Array

    def to_dict(self) -> dict[str, Any]:
        """Return what a report holds: all but the values of single searches."""
        ms = None if np.isnan(self.cost.ms) else self.cost.ms
        return {
            "name": self.name, "family": self.family, "recipe": self.recipe.to_dict(), "clicks": self.clicks,
            "searches": self.searches, "quality": self.quality, "seconds": self.seconds, "ms": ms,
            "bytes_per_item": self.cost.bytes_per_item, "calls": self.cost.calls, "refused": self.refused,
        }  # fmt: skip


class TrialStore:
    """Rows of trials in a SQLite file; in memory without a path.

    Parameters
    ----------
    path : path, optional
        The file.
    """

    def __init__(self, path: str | Path | None = None):
        self._connection = sqlite3.connect(":memory:" if path is None else str(path))
        self._connection.execute(_TABLE)
        self._connection.commit()

    def find(self, key: str) -> LearningTrial | None:
        """Return the trial of a key; None where there is none."""
        sql = (
            "SELECT name, family, recipe, clicks, searches, quality, seconds, ms, bytes, items, calls, refused,"
            " trial_values FROM trials WHERE key = ?"
        )
        row = self._connection.execute(sql, (key,)).fetchone()
        if row is None:
            return None
        name, family, recipe, clicks, searches, quality, seconds, ms, size, items, calls, refused, values = row
        cost = SearchCost(float("nan") if ms is None else ms, size, items, calls)
        known = Recipe.stored(json.loads(recipe))
        numbers = np.frombuffer(values, np.float64)
        return LearningTrial(name, family, known, clicks, searches, quality, seconds, cost, refused, numbers)

    def put(self, key: str, trial: LearningTrial) -> None:
        """Store a trial."""
        cost = trial.cost
        row = (
            key, trial.name, trial.family, json.dumps(trial.recipe.to_dict()), trial.clicks, trial.searches,
            trial.quality, trial.seconds, None if np.isnan(cost.ms) else cost.ms, cost.bytes, cost.items, cost.calls,
            trial.refused, trial.values.astype(np.float64).tobytes(),
        )  # fmt: skip
        self._connection.execute(f"INSERT OR REPLACE INTO trials VALUES ({','.join('?' * len(row))})", row)
        self._connection.commit()

    def __len__(self) -> int:
        return int(self._connection.execute("SELECT COUNT(*) FROM trials").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def data_digest(dataset: Dataset) -> str:
    """Return what tells a dataset from others: its items with their metadata, and its clicks with their times.

    Examples
    --------
    >>> one, other = Dataset.of({"f": "a fig"}), Dataset.of({"f": "a figs"})
    >>> data_digest(one) == data_digest(Dataset.of({"f": "a fig"})), data_digest(one) == data_digest(other)
    (True, False)
    """
    known = ([item.id, item.title, item.text, dict(item.metadata)] for item in dataset.items)
    lines = (json.dumps(each, sort_keys=True, default=str) for each in (*known, *(one.text for one in dataset.queries)))
    parts = [digest("\n".join(lines).encode())]
    clicks = dataset.clicks.sorted_indices()
    arrays = [clicks.indptr.astype(np.int64), clicks.indices.astype(np.int64), clicks.data.astype(np.float64)]
    if dataset.events is not None:
        arrays += [np.asarray(each, np.float64) for each in dataset.events]
    parts += [digest(np.ascontiguousarray(each).view(np.uint8)) for each in arrays]
    return digest(" ".join(parts).encode())
