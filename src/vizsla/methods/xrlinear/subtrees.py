"""Training by sub-trees: the tree is cut into parts that workers train, each from its own rows and features.

A node's weights depend on its instances, on its siblings' positives, on the order of its features and on its parent's
number, which seeds the order of visits. A part keeps all of them, so that its weights are those of the whole, bit for
bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.core.sparse import SparseRows
from vizsla.methods.xrlinear.layer import LayerWeights, train_layer

if TYPE_CHECKING:
    from vizsla.base.placement import Placement

LANES = 16
"""Children that the solver trains at a time."""
PARTS_PER_WORKER = 4
"""Sub-trees for each worker, heaviest first, so that none is left with a large one at the end."""
FEATURE_BYTES, ROW_BYTES, ENTRY_BYTES = 192, 192, 48
"""What the solver holds for each feature, row and entry of a part, at most."""
BASE_MB = 64.0


class LayerProblem(NamedTuple):
    """The training data of the nodes of one layer.

    Attributes
    ----------
    labels : SparseRows
        Instances by nodes of this layer.
    reached : SparseRows
        Instances by nodes of the layer above.
    offsets : int64 array
        Where the children of each node of the layer above begin.
    tolerance : float
        See `train_layer`.
    """

    labels: SparseRows
    reached: SparseRows
    offsets: NDArray[np.int64]
    tolerance: float


class LayerRange(NamedTuple):
    """Some nodes of one layer: the children from `first` to `last` of parents that begin with number `parent`."""

    layer: int
    parent: int
    first: int
    last: int


class PartProblem(NamedTuple):
    """The input of one task: its rows, with renumbered features, and the ranges to train."""

    features: SparseRows
    columns: NDArray[np.int32] | None
    ranges: list[tuple[int, LayerProblem]]
    options: dict[str, Any]


def train_on(
    on: Placement, features: SparseRows, problems: list[LayerProblem], *, first_layer: int, options: dict[str, Any]
) -> list[LayerWeights]:
    """Train layers whose problems are known, in parts; return what `train_layer` returns for each.

    Parameters
    ----------
    on : Placement
        Where.
    features : SparseRows
        Instances by features.
    problems : list of LayerProblem
        Layers, one below the other.
    first_layer : int
        The number of the first of them, for the progress bar.
    options : dict
        Options of `train_layer`.
    """
    cut = cut_layer(problems, on.workers)
    made: dict[LayerRange, LayerWeights] = {}
    if cut > 0:
        upper = [each for number in range(cut) for each in split_layer(number, problems[number], on.workers)]
        tasks = (_narrowed(each, problems[each.layer], np.arange(len(features))) for each in upper)
        memory = _memory_mb(len(features), len(features.columns), features.width)
        found = on.map(
            _train_upper, ((task, options) for task in tasks), common=features, memory_mb=memory, total=len(upper),
            what=f"training layers {first_layer + 1} to {first_layer + cut}",
        )  # fmt: skip
        made.update(zip(upper, found, strict=True))
    if cut == len(problems):
        return [_joined(made, number) for number in range(len(problems))]
    trees = subtrees(features, problems[cut:], PARTS_PER_WORKER * on.workers, first=cut)
    largest = max((_needed_mb(features, rows) for rows, _ in trees), default=BASE_MB)
    answers = on.map(
        train_part, _parts(features, problems, trees, options), memory_mb=largest, total=len(trees),
        what="training sub-trees",
    )  # fmt: skip
    for (_, ranges), answer in zip(trees, answers, strict=True):
        made.update(zip(ranges, answer, strict=True))
    return [_joined(made, number) for number in range(len(problems))]


def cut_layer(problems: list[LayerProblem], workers: int) -> int:
    """Return the first layer whose parents are enough sub-trees for the workers; one past the last where none is."""
    parents = [len(problem.offsets) - 1 for problem in problems]
    for enough in (PARTS_PER_WORKER * workers, workers):
        for number, count in enumerate(parents):
            if count >= enough and (count > 1 or workers == 1):
                return number
    return len(problems)


def split_layer(number: int, problem: LayerProblem, workers: int) -> list[LayerRange]:
    """Return ranges of children for the workers: of one parent where it has enough, or of whole parents.

    Examples
    --------
    >>> empty = SparseRows.of(np.zeros((1, 64)))
    >>> split_layer(0, LayerProblem(empty, empty, np.array([0, 64]), 0.1), 2)
    [LayerRange(layer=0, parent=0, first=0, last=32), LayerRange(layer=0, parent=0, first=32, last=64)]
    """
    ranges = []
    share = -(-int(problem.offsets[-1]) // workers)
    for parent, (first, last) in enumerate(pairwise(problem.offsets.tolist())):
        step = max(-(-min(share, max(last - first, 1)) // LANES) * LANES, 1)
        ranges += [LayerRange(number, parent, start, min(start + step, last)) for start in range(first, last, step)]
    return ranges


def subtrees(
    features: SparseRows, problems: list[LayerProblem], wanted: int, *, first: int
) -> list[tuple[NDArray[np.int64], list[LayerRange]]]:
    """Return runs of sub-trees of about equal work, the heaviest first: their rows, and their range in each layer.

    The work of a sub-tree is the number of non-zeros of the rows that reach it.

    Parameters
    ----------
    features : SparseRows
        Instances by features.
    problems : list of LayerProblem
        The layers from the cut down.
    wanted : int
        How many runs.
    first : int
        The number of the first of these layers.
    """
    reached = problems[0].reached
    by_node = reached.to_scipy().tocsc()
    sizes = np.diff(features.offsets)
    work = np.bincount(reached.columns, sizes[reached.row_numbers()], reached.width)
    ends = np.cumsum(work)
    targets = ends[-1] * np.arange(1, wanted) / wanted if len(ends) else []
    cuts = np.unique([0, *(np.searchsorted(ends, targets) + 1), reached.width]).tolist()
    found = []
    for low, high in pairwise(cuts):
        rows = np.unique(by_node.indices[by_node.indptr[low] : by_node.indptr[high]]).astype(np.int64)
        weight = float(ends[high - 1] - (ends[low - 1] if low else 0))
        ranges, parents = [], (int(low), int(high))
        for number, problem in enumerate(problems, first):
            children = int(problem.offsets[parents[0]]), int(problem.offsets[parents[1]])
            ranges.append(LayerRange(number, parents[0], *children))
            parents = children
        found.append((weight, rows, ranges))
    return [(rows, ranges) for _, rows, ranges in sorted(found, key=lambda each: -each[0])]


def _parts(
    features: SparseRows,
    problems: list[LayerProblem],
    trees: list[tuple[NDArray[np.int64], list[LayerRange]]],
    options: dict[str, Any],
) -> Iterator[PartProblem]:
    for rows, ranges in trees:
        own, columns = compacted(features.take(rows))
        narrowed = [_narrowed(each, problems[each.layer], rows) for each in ranges]
        yield PartProblem(own, columns, narrowed, options)


def compacted(rows: SparseRows) -> tuple[SparseRows, NDArray[np.int32]]:
    """Return rows over the columns that occur in them, renumbered in the same order, and these columns.

    Examples
    --------
    >>> rows, columns = compacted(SparseRows.of(np.array([[0, 2, 0, 1], [0, 3, 0, 0]])))
    >>> rows.columns.tolist(), columns.tolist()
    ([0, 1, 0], [1, 3])
    """
    used = np.zeros(rows.width, np.bool_)
    used[rows.columns] = True
    columns = np.flatnonzero(used).astype(np.int32)
    numbers = np.zeros(rows.width, np.int32)
    numbers[columns] = np.arange(len(columns), dtype=np.int32)
    return SparseRows(rows.offsets, numbers[rows.columns], rows.values, len(columns)), columns


def _narrowed(part: LayerRange, problem: LayerProblem, rows: NDArray[np.int64]) -> tuple[int, LayerProblem]:
    """Return the first parent of a range, and its problem over these rows, whose parents begin with that one."""
    offsets = problem.offsets
    end = int(np.searchsorted(offsets, part.last, side="left"))
    labels = _columns_between(problem.labels.take(rows), part.first, part.last)
    reached = _columns_between(problem.reached.take(rows), part.parent, end)
    own = np.clip(offsets[part.parent : end + 1], part.first, part.last) - part.first
    return part.parent, LayerProblem(labels, reached, own, problem.tolerance)


def _columns_between(rows: SparseRows, low: int, high: int) -> SparseRows:
    """Return the rows' entries in some columns, numbered from 0."""
    kept = (rows.columns >= low) & (rows.columns < high)
    before = np.concatenate([[0], np.cumsum(kept)])
    columns = rows.columns[kept] - np.int32(low)
    return SparseRows(before[rows.offsets].astype(np.int64), columns, rows.values[kept], high - low)


def _train_upper(task: tuple[tuple[int, LayerProblem], dict[str, Any]], features: SparseRows) -> LayerWeights:
    part, options = task
    return _train_range(features, *part, options)


def train_part(part: PartProblem) -> list[LayerWeights]:
    """Train the ranges of one part; features have their numbers in the whole."""
    found = []
    for parent, problem in part.ranges:
        trained = _train_range(part.features, parent, problem, part.options)
        if part.columns is not None:
            dim = np.int32(part.options["dim"])  # the number of the bias, which follows those of the features
            numbers = np.append(part.columns, dim)
            trained = trained._replace(features=numbers[trained.features])
        found.append(trained)
    return found


def _train_range(features: SparseRows, parent: int, problem: LayerProblem, options: dict[str, Any]) -> LayerWeights:
    """Train a range as a layer whose parents before the first one have no children: each keeps its number."""
    named = {name: value for name, value in options.items() if name != "dim"}
    offsets = np.concatenate([np.zeros(parent, np.int64), problem.offsets])
    reached = SparseRows(
        problem.reached.offsets,
        problem.reached.columns + np.int32(parent),
        problem.reached.values,
        problem.reached.width + parent,
    )
    return train_layer(features, problem.labels, reached, offsets, tolerance=problem.tolerance, **named)


def _joined(made: dict[LayerRange, LayerWeights], layer: int) -> LayerWeights:
    """Return the weights of a layer from those of its ranges."""
    keys = sorted((key for key in made if key.layer == layer and key.first < key.last), key=lambda key: key.first)
    parts = [made[key] for key in keys]
    sizes = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.offsets) for part in parts)])
    return LayerWeights(
        np.cumsum(sizes).astype(np.int64),
        np.concatenate([np.zeros(0, np.int32), *(part.features for part in parts)]),
        np.concatenate([np.zeros(0, np.float32), *(part.values for part in parts)]),
        np.concatenate([np.zeros(0, np.int32), *(part.epochs for part in parts)]),
    )


def _needed_mb(features: SparseRows, rows: NDArray[np.int64]) -> float:
    entries = int(np.diff(features.offsets)[rows].sum())
    return _memory_mb(len(rows), entries, min(entries, features.width))


def _memory_mb(rows: int, entries: int, features: int) -> float:
    """Return an upper bound of the memory that training on this data takes."""
    return BASE_MB + (rows * ROW_BYTES + entries * ENTRY_BYTES + features * FEATURE_BYTES) / 2**20
