"""What `--where` says: a file of ids, or a condition on metadata; several must all hold."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vizsla.cli.options import read_lines
from vizsla.dataset_warning import DatasetWarning
from vizsla.details.condition import where
from vizsla.errors import InputError
from vizsla.filter import Filter
from vizsla.printable import printable
from vizsla.retriever import Retriever

_CONDITION = re.compile(r"[=<>{]|\b(in|is|contains|startswith)\b", re.IGNORECASE)
"""What tells a condition from the name of a file that is not there."""


def prepared_where(given: Sequence[str], retriever: Retriever) -> Filter | None:
    """Return the filter that all of them make, None for none; what no item has is said on standard error."""
    if not given:
        return None
    conditions = [one for one in given if _is_condition(one)]
    filters = [_listed(one, retriever) for one in given if one not in conditions]
    if conditions:
        filters.append(retriever.filter(where(*conditions)))
        for hint in filters[-1].hints:
            print(printable(f"vizsla: hint: {hint}"), file=sys.stderr)
    return Filter(np.logical_and.reduce([filter.mask for filter in filters]), retriever.items)


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
    return _CONDITION.search(text) is not None and not _is_file(text)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a condition may be longer than any name
        return False
