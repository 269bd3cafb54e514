"""Rival: what is used today, a retriever or a run, measured on the same searches."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vizsla.artifacts.artifact import load
from vizsla.autopilot.searches import DEPTH, Searches
from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates, Stats
from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.evaluation.runs import run_of, system_name
from vizsla.typing import Float64Array


class Rival:
    """A system that was not learned here.

    Parameters
    ----------
    name : str
        Its name.
    dataset : Dataset
        Whose items it finds.
    system : Retriever, optional
        What is asked; or
    answers : mapping of str to list of str, optional
        The ids that it found, by text.
    fair : bool
        Whether the system is known not to have learned from the searches that it is measured on.
    """

    def __init__(
        self,
        name: str,
        dataset: Dataset,
        *,
        system: Retriever | None = None,
        answers: Mapping[str, list[str]] | None = None,
        fair: bool = False,
    ):
        self.name, self._dataset, self._system, self._answers, self._fair = name, dataset, system, answers, fair
        self.note = ""

    def measured(self, searches: Searches) -> tuple[Float64Array, Candidates]:
        """Return nDCG@10 of every search, and the answers to the different texts, numbered as the dataset's items."""
        texts = list(dict.fromkeys(searches.texts))
        if self._system is not None:
            lists = self._system(texts, min(DEPTH, len(self._system.items))).ids
            if not self._fair:
                self.note = f"{self.name} may have learned from the searches that report, and look better than it is."
        else:
            known = self._answers or {}
            lists = [known.get(text, [])[:DEPTH] for text in texts]
            missing = sum(text not in known for text in texts)
            if missing == len(texts):
                raise InputError(
                    f"`against` must answer searches of the log, such as {texts[0]!r:.60}. Got none of them."
                )
            if missing:
                self.note = f"{self.name} answers {len(texts) - missing:,} of {len(texts):,} texts; others count as 0."
        flat = [item for row in lists for item in row]
        numbers = self._dataset.item_ids.find_all(flat) if flat else np.zeros(0, np.int64)
        rows = np.repeat(np.arange(len(lists)), [len(row) for row in lists])[numbers >= 0]
        offsets = np.searchsorted(rows, np.arange(len(lists) + 1)).astype(np.int64)
        found = Candidates.unchecked(
            offsets, numbers[numbers >= 0].astype(np.int32), None, self._dataset.item_ids, Stats()
        )
        return searches.measure(found), found


def rival_of(against: Any, dataset: Dataset) -> Rival | None:
    """Return what is used today: a retriever, an artifact's folder, or a run by query ids or texts; None for none."""
    if against is None:
        return None
    if isinstance(against, str | os.PathLike) and Path(against).is_dir():
        against = load(Path(against))
    if isinstance(against, Retriever):
        return Rival(f"today: {system_name(against)}", dataset, system=against)
    run = run_of(against)
    ids, texts = dataset.query_texts()
    text_of = dict(zip(ids, texts, strict=True))
    answers = {text_of.get(query, query): row for query, row in zip(run.query_ids, run.ids, strict=True)}
    return Rival(f"today: {system_name(against)}", dataset, answers=answers)
