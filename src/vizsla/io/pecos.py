"""PECOS folders: X.npz (queries × features) and Y.npz (queries × items), or X.trn, Y.trn, X.tst, Y.tst."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.core.catalog import Item, Query
from vizsla.core.strings import Strings
from vizsla.core.validation import WarningLog
from vizsla.data.dataset import Dataset
from vizsla.errors import DataError
from vizsla.io.files import Line, LineFile, is_bomb
from vizsla.io.records import LineSource, ListSource, Records, Source, scan

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_EMPTY_ROWS = 2_000_000
"""Rows and columns that a matrix may have although its file has fewer bytes: each is an id of about 50 bytes."""
_UNREADABLE = (ValueError, TypeError, KeyError, OSError, EOFError, OverflowError, MemoryError, zipfile.BadZipFile)


def read_pecos(folder: str | Path) -> Dataset:
    """Return the dataset of a PECOS folder.

    Ids are row and column numbers. `Y.npz` or `Y.trn.npz` holds the clicks; `Y.tst.npz` the split "test", grade 1 for
    every entry, whose queries follow the others. Features are in `query_features`. Texts are empty unless there are
    `output-items.txt` and `X.txt` (or `X.trn.txt` and `X.tst.txt`), one a line.
    """
    folder, tally = Path(folder), WarningLog()
    names = [name for name in ("", ".trn", ".tst") if (folder / f"Y{name}.npz").is_file()]
    labels = {name: _weights(folder / f"Y{name}.npz") for name in names}
    features = {name: _matrix(folder / f"X{name}.npz") for name in names if (folder / f"X{name}.npz").is_file()}
    _check(folder, names, labels, features)
    counts = {name: labels[name].shape[0] for name in names}
    items = _items(folder / "output-items.txt", labels[names[0]].shape[1], tally)
    queries = _queries(folder, counts, tally)
    clicks, grades = _stacked(labels, ("", ".trn")), _stacked(labels, (".tst",)).astype(np.int32)
    grades.data[:] = 1
    tally.emit()
    return Dataset(
        items,
        queries,
        clicks=clicks if clicks.nnz else None,
        qrels={"test": grades} if ".tst" in names else {},
        warnings=tally.messages,
        query_features=_stacked(features, tuple(features)) if features else None,
    )


def _check(folder: Path, names: list[str], labels: dict[str, Any], features: dict[str, Any]) -> None:
    if not names or ("" in names and len(names) > 1):
        raise DataError("there must be Y.npz, or Y.trn.npz with Y.tst.npz.", path=folder, remedy="Give one of these.")
    for name, matrix in features.items():
        rows = labels[name].shape[0]
        if matrix.shape[0] != rows:
            raise DataError(
                f"X{name}.npz must have a row for each of the {rows} rows of Y{name}.npz. Got {matrix.shape[0]}.",
                path=folder,
                remedy="Check that the two belong together.",
            )
    for what, kind in (("Y", labels), ("X", features)):
        if len({matrix.shape[1] for matrix in kind.values()}) > 1 or (kind and len(kind) != len(names)):
            raise DataError(
                f"all {what} files must be there and have the same columns.", path=folder, remedy="Check the folder."
            )


def _weights(path: Path) -> csr_array:
    matrix = _matrix(path)
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise DataError("a weight is negative or not a number.", path=path, remedy="Write weights of 0 or more.")
    matrix.eliminate_zeros()
    return matrix


def _matrix(path: Path) -> csr_array:
    from scipy.sparse import csr_array, load_npz

    _check_unpacked(path)
    try:
        matrix: Any = load_npz(path)
        if matrix.format not in ("csr", "csc", "coo"):
            raise ValueError(f"format {matrix.format}")
        if matrix.format != "coo":
            matrix.check_format(full_check=True)
        if sum(matrix.shape) > max(MAX_EMPTY_ROWS, path.stat().st_size):
            raise ValueError(f"shape {matrix.shape} is more than so few bytes can hold")
        plain: Any = csr_array(matrix).astype(np.float32)
    except _UNREADABLE as error:
        raise DataError(f"this is no SciPy sparse matrix ({error}).", path=path, remedy="Use `save_npz`.") from None
    plain.sum_duplicates()
    return plain  # type: ignore[no-any-return]


def _check_unpacked(path: Path) -> None:
    """Raise for a file that says to unpack to far more than its bytes."""
    try:
        with zipfile.ZipFile(path) as file:
            unpacked = sum(entry.file_size for entry in file.infolist())
    except _UNREADABLE as error:
        raise DataError(f"this is no SciPy sparse matrix ({error}).", path=path, remedy="Use `save_npz`.") from None
    if is_bomb(path.stat().st_size, unpacked):
        problem = f"it says to unpack to {unpacked:,} bytes, which no matrix does."
        raise DataError(problem, path=path, remedy="Save it without compression if it is sound.")


def _stacked(matrices: dict[str, csr_array], kept: tuple[str, ...]) -> csr_array:
    """All rows of all matrices; those of a matrix that is not kept are empty."""
    from scipy.sparse import csr_array, vstack

    blocks: list[Any] = [
        matrix if name in kept else csr_array(matrix.shape, dtype=np.float32) for name, matrix in matrices.items()
    ]
    return csr_array(vstack(blocks, format="csr"))


def _items(path: Path, count: int, tally: WarningLog) -> Records[Item]:
    if path.is_file():
        return _counted(scan(_texts(path, 0, Item), tally, what="item", skips=False), count, path)
    ids = Strings.of(map(str, range(count)))
    return Records(ListSource(_Untexted(ids, Item), name=str(path.parent)), ids)


def _queries(folder: Path, counts: dict[str, int], tally: WarningLog) -> Records[Query]:
    from vizsla.io.records import ChainSource

    paths = [folder / f"X{name}.txt" for name in counts]
    total = sum(counts.values())
    if all(path.is_file() for path in paths):
        starts = np.cumsum([0, *counts.values()]).tolist()
        sources: list[Source[Query]] = [_texts(path, start, Query) for path, start in zip(paths, starts, strict=False)]
        return _counted(scan(ChainSource(sources), tally, what="query", skips=False), total, folder)
    ids = Strings.of(map(str, range(total)))
    return Records(ListSource(_Untexted(ids, Query), name=str(folder)), ids)


def _texts(path: Path, start: int, kind: Any) -> LineSource[Any]:
    def parse(line: Line) -> Any:
        return kind(str(start + line.number - 1), line.text)

    return LineSource(LineFile(path), parse)


def _counted(records: Records[Any], count: int, path: Path) -> Records[Any]:
    if len(records) != count:
        raise DataError(
            f"there must be {count} texts, one a line. Got {len(records)}.", path=path, remedy="Check the folder."
        )
    return records


class _Untexted:
    """Records that have an id and no text."""

    def __init__(self, ids: Strings, kind: Any):
        self._ids, self._kind = ids, kind

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, number: int) -> Any:
        if number >= len(self._ids):
            raise IndexError(number)
        return self._kind(self._ids[number], "")
