"""What `--where` says: a file of ids, or a condition on metadata; several must all hold."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vizsla.cli.options import read_lines
from vizsla.dataset_warning import DatasetWarning
from vizsla.details.condition import where
from vizsla.errors import InputError
from vizsla.filter import Filter
from vizsla.retriever import Retriever


def prepared_where(given: Sequence[str], retriever: Retriever) -> Filter | None:
    """Return the filter that all of them make; None for none."""
    if not given:
        return None
    masks = [(retriever.filter(where(one)) if _is_condition(one) else _listed(one, retriever)).mask for one in given]
    return Filter(np.logical_and.reduce(masks), retriever.items)


def _listed(path: str, retriever: Retriever) -> Filter:
    """Return the filter of a file of ids; a list of what is in stock is never quite in step, so others are counted."""
    if path != "-" and not Path(path).is_file():
        raise InputError(f"`--where` must be a file of ids, or a condition such as price<20. Got {path!r}.")
    ids = read_lines(path)
    unknown = [id for id in ids if id not in retriever.items]
    if unknown:
        place = "standard input" if path == "-" else path
        said = f"{len(unknown):,} of {len(ids):,} ids of {place} are of no item, for example {unknown[0]!r:.60}"
        warnings.warn(said, DatasetWarning, stacklevel=2)
    return retriever.filter(ids, unknown="ignore")


def _is_condition(text: str) -> bool:
    return re.search("[=<>]", text) is not None and not Path(text).is_file()
