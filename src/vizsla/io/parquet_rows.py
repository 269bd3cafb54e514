"""Rows of a Parquet file: what it cannot give is an error that names the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vizsla.errors import DataError

BATCH = 2048


def rows_of(file: Any, path: str | Path, *, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of an open file, or these columns of them; damage, and what no type of Python holds, raises."""
    batches = file.iter_batches(batch_size=BATCH, columns=columns)
    while True:
        with readable(path):
            batch = next(batches, None)
            rows = [] if batch is None else batch.to_pylist()
        if batch is None:
            return
        yield from rows


@contextmanager
def readable(path: str | Path) -> Iterator[None]:
    """Turn what pyarrow raises while it reads into a DataError."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        problem = f"a value of this Parquet file cannot be read ({error})."
        raise DataError(problem, path=path, remedy="Write the column as text or numbers.") from None
