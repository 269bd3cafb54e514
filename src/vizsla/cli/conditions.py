"""What `--where` says: a file of ids, or a condition on metadata; several must all hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vizsla.cli.options import read_lines
from vizsla.details.condition import where
from vizsla.filter import Filter
from vizsla.retriever import Retriever


def prepared_where(given: Sequence[str], retriever: Retriever) -> Filter | None:
    """Return the filter that all of them make; None for none."""
    if not given:
        return None
    masks = [retriever.filter(where(one) if _is_condition(one) else read_lines(one)).mask for one in given]
    return Filter(np.logical_and.reduce(masks), retriever.items)


def _is_condition(text: str) -> bool:
    return re.search("[=<>]", text) is not None and not Path(text).is_file()
