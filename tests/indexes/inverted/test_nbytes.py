"""`nbytes` counts every byte that answering needs: the artifact's own arrays, and what is derived from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vizsla
from vizsla.methods.bm25 import bm25
from vizsla.methods.bm25_statistics import VARIANTS
from vizsla.text.analyzers import Analyzer

TEXTS = [f"the running of {n} shoes in w{n % 17} and w{n % 5}" for n in range(700)]
BLOCK = 128


def array_bytes(folder: Path) -> int:
    """Return the bytes of all arrays in a saved index, children too, except for the item ids."""
    files = [file for file in folder.rglob("*.npy") if "items" not in file.relative_to(folder).parts[:-1]]
    return sum(np.load(file).nbytes for file in files)


def block_bytes(offsets: np.ndarray) -> int:
    """Return what the bounds take: 8 bytes a block; 8 bytes a term and one more for places, 4 for its own bound."""
    blocks = int((-(-np.diff(offsets) // BLOCK)).sum())
    return 8 * blocks + 8 * len(offsets) + 4 * (len(offsets) - 1)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("analyzer", [Analyzer(), Analyzer.named("english")], ids=["words", "english"])
def test_nbytes_is_what_was_saved_and_the_bounds(tmp_path: Path, variant: str, analyzer: Analyzer) -> None:
    search = bm25(TEXTS, variant=variant, analyzer=analyzer)
    saved = search.save(tmp_path / "saved")
    bounds = block_bytes(np.load(saved / "index" / "offsets.npy"))
    assert search.nbytes == array_bytes(saved) + bounds
    assert vizsla.load(saved).nbytes == search.nbytes  # type: ignore[attr-defined]


def test_every_array_that_a_bm25_holds_is_counted() -> None:
    """Whatever array hangs on the object: none is left out, none is counted twice."""
    search = bm25(TEXTS, analyzer=Analyzer.named("english"), variant="bm25+")
    search(["running"], 5)
    search.explain("running", "3")
    held = held_arrays(search, leave_out=search.items)
    assert search.nbytes == sum(array.nbytes for array in held) + search.index._postings.block_bytes


def held_arrays(thing: object, *, leave_out: object) -> list[np.ndarray]:
    found: dict[int, np.ndarray] = {}
    seen, waiting = {id(leave_out)}, [thing]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            found[id(one)] = one
        elif type(one).__module__.startswith("vizsla."):
            waiting.extend(getattr(one, "__dict__", {}).values())
    return list(found.values())
