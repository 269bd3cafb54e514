"""Blend item rows with the queries clicked for them (Eq. 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.base.index_retriever import RowSpaceRetriever
from vizsla.base.queries import Queries
from vizsla.core.candidates import Candidates, Stats
from vizsla.core.sparse import SparseRows, as_scipy, row_numbers
from vizsla.errors import InputError
from vizsla.indexes.inverted import InvertedIndex
from vizsla.learning.clicks import ClickLog, Encode
from vizsla.learning.matrices import Rows, divided, is_sparse, lengths_of, widened
from vizsla.methods.pefa.options import XsSettings
from vizsla.typing import Float32Array, Float64Array, Int32Array, Int64Array

FIXED_POINT_SCALE = 2**28
"""A vector's numbers are rounded to 1 / STEP and added as whole numbers: exact, so the order cannot matter."""
MAX_FIXED_POINT_SUM = 2**62
COLUMNS_PER_BLOCK = 64


def click_vectors(
    log: ClickLog, items: NDArray[np.int64], weights: Float32Array | None = None
) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the click vectors of these items, of length 1, and which of them have clicks; others get zeros.

    `weights` scales each column of an item's row: rare words count more than common ones.

    Examples
    --------
    >>> from vizsla.core.strings import Strings
    >>> log = ClickLog.of([("a", "x", 3), ("b", "x", 4)], Strings.of(["x", "y"]), lambda texts: np.eye(2))
    >>> vectors, clicked = click_vectors(log, np.arange(2))
    >>> vectors.astype(float).round(4).tolist(), clicked.tolist()
    ([[0.6, 0.8], [0.0, 0.0]], [True, False])
    """
    by_item = log.matrix.T.tocsr()[items]
    totals = by_item.sum(axis=1) if by_item.nnz else np.zeros(len(items), np.int64)
    if len(totals) and int(np.max(totals)) > MAX_FIXED_POINT_SUM // FIXED_POINT_SCALE:
        most = MAX_FIXED_POINT_SUM // FIXED_POINT_SCALE // 1024
        raise InputError(f"The clicks of an item must weigh less than {most} in all. Got more.")
    sums: Rows = _sparse_sums(by_item, log.vectors) if is_sparse(log.vectors) else _sums(by_item, log.vectors)
    if weights is not None:
        sums = sums.multiply(weights[None, :]).tocsr() if is_sparse(sums) else sums * weights
    lengths = lengths_of(sums)
    return divided(sums, lengths), lengths > 0


def _sums(by_item: Any, vectors: Float32Array) -> NDArray[np.float64]:
    sums = np.empty((by_item.shape[0], vectors.shape[1]), np.float64)
    for start in range(0, vectors.shape[1], COLUMNS_PER_BLOCK):
        part = np.rint(vectors[:, start : start + COLUMNS_PER_BLOCK].astype(np.float64) * FIXED_POINT_SCALE).astype(
            np.int64
        )
        sums[:, start : start + COLUMNS_PER_BLOCK] = by_item @ part
    return sums


def _sparse_sums(by_item: Any, vectors: Rows) -> Rows:
    whole = vectors.astype(np.float64)
    whole.data = np.rint(whole.data * FIXED_POINT_SCALE)
    sums = (by_item @ whole.astype(np.int64)).tocsr()
    sums.sort_indices()
    return sums.astype(np.float64)


def blended(
    base: Rows, log: ClickLog, items: NDArray[np.int64], settings: XsSettings, weights: Float32Array | None = None
) -> Rows:
    """Return the rows of these items, whose base rows are given (Eq. 8); without clicks the base's own."""
    if is_sparse(base):
        return _blended_sparse(base, log, items, settings, weights)
    if settings.length is not None:
        raise InputError(f"`length` must be left out over dense vectors. Got {settings.length!r}.")
    vectors = np.zeros((len(items), base.shape[1] + settings.extra), np.float32)
    vectors[:, : base.shape[1]] = base
    if settings.weight < 1:
        clicks, clicked = click_vectors(log.binary if settings.paper else log, items, weights)
        if settings.paper:
            vectors *= np.float32(settings.weight)
        share = np.float32((1 - settings.weight) * settings.scale)
        mixed = np.float32(settings.weight) * base[clicked] + share * clicks[clicked]
        vectors[clicked, : base.shape[1]] = mixed
        if settings.extra:
            vectors[clicked, -1] = (1 - settings.weight) * settings.shift
    return vectors


def _blended_sparse(
    base: Rows, log: ClickLog, items: NDArray[np.int64], settings: XsSettings, weights: Float32Array | None
) -> Rows:
    if settings.extra:
        raise InputError("`shift` and `margin` must be left out over sparse rows. Got one of them.")
    if settings.weight == 1:
        return base
    clicks, clicked = click_vectors(log.binary if settings.paper else log, items, weights)
    share = np.float32((1 - settings.weight) * settings.scale)
    own = np.where(clicked | settings.paper, np.float32(settings.weight), np.float32(1))
    mixed = _scaled(base, own) + _scaled(clicks, share)
    return mixed if settings.length is None else _with_length(mixed, clicked, settings.length)


def _with_length(rows: Rows, clicked: NDArray[np.bool_], length: float) -> Rows:
    own = lengths_of(rows)
    return _scaled(rows, np.where(clicked & (own > 0), length / np.where(own > 0, own, 1), 1).astype(np.float32))


def length_factor(
    base: Rows, log: ClickLog, item: NDArray[np.int64], settings: XsSettings, weights: Float32Array | None = None
) -> float:
    """Return by what an item's blended row was multiplied to have its length; 1 without a length."""
    if settings.length is None:
        return 1.0
    own = float(lengths_of(blended(base, log, item, replace(settings, length=None), weights))[0])
    return settings.length / own if own > 0 else 1.0


def _scaled(rows: Rows, by: NDArray[np.float32] | np.float32) -> Rows:
    other = rows.copy()
    other.data = rows.data * np.repeat(np.broadcast_to(by, rows.shape[0]), np.diff(rows.indptr))
    return other


def past_query_rows(base: Float32Array, log: ClickLog, settings: XsSettings) -> tuple[Float32Array, Int32Array]:
    """Return a vector for every click, its query blended with its item, and the items that they score."""
    if settings.margin is None:
        return np.zeros((0, base.shape[1] + settings.extra), np.float32), np.zeros(0, np.int32)
    vectors = np.empty((len(log.items), base.shape[1] + 1), np.float32)
    weight = np.float32(settings.item_weight)
    vectors[:, :-1] = weight * base[log.items] + (1 - weight) * log.vectors[log.rows]
    vectors[:, -1] = -settings.margin
    return vectors, log.items


def query_rows(queries: Rows, settings: XsSettings) -> Rows:
    """Return query vectors for the index: the constant is 1, but 0 for a query without features."""
    if not settings.extra:
        return queries
    says = np.any(queries != 0, axis=1, keepdims=True)
    return np.concatenate([queries, says], axis=1, dtype=np.float32)


class BlendSquares(NamedTuple):
    """|λp + (1 - λ)c|² = λ²|p|² + (1 - λ)²|c|² + 2λ(1 - λ)⟨p, c⟩: three numbers an item serve every λ.

    Attributes
    ----------
    base, clicks, both : float64 arrays
        For each item |p|², |c|² and ⟨p, c⟩.

    Examples
    --------
    >>> rows, clicks = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    >>> BlendSquares.of(rows, clicks).lengths(0.5).round(3).astype(str).tolist()
    ['0.707']
    """

    base: Float64Array
    clicks: Float64Array
    both: Float64Array

    @classmethod
    def of(cls, base: Rows, clicks: Rows) -> Self:
        """Measure rows and click vectors, a pair an item."""
        product = base.multiply(clicks).sum(axis=1) if is_sparse(base) else np.einsum("ij,ij->i", base, clicks)
        return cls(lengths_of(base) ** 2, lengths_of(clicks) ** 2, np.asarray(product, np.float64).reshape(-1))

    def lengths(self, weight: float) -> Float32Array:
        """Return the length of each item's blend, 1 for one of nothing."""
        other = 1 - weight
        squares = weight * weight * self.base + other * other * self.clicks + 2 * weight * other * self.both
        return np.where(squares > 0, np.sqrt(np.maximum(squares, 0)), 1.0).astype(np.float32)


MAX_ROWS_SAMPLED = 20_000
MAX_PAIRED_SAMPLES = 2000
Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


class KnnCalibration(NamedTuple):
    """A click score s becomes ``scale · s + shift``; `spread` is the base's own, the unit of other shifts."""

    scale: float
    shift: float
    spread: float


def calibrate(base: Rows, clicks: Rows, queries: Rows) -> KnnCalibration:
    """Match mean and spread of ``queries · clicks`` to those of ``queries · base``, over all pairs of rows.

    The moments of all pairs follow from the rows' means and second moments, so no pair is ever scored:
    E[(q·v)²] is the inner product of E[qqᵀ] and E[vvᵀ].

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> base, queries = rng.normal(size=(50, 4)).astype("f"), rng.normal(size=(30, 4)).astype("f")
    >>> found = calibrate(base, base / 2, queries)
    >>> round(found.scale, 4), abs(round(found.shift, 4))
    (2.0, 0.0)
    """
    if is_sparse(base):
        return _sparse(base, clicks, queries)
    by_query = _moments(queries)
    base_mean, base_spread = _pairs(by_query, _moments(base))
    click_mean, click_spread = _pairs(by_query, _moments(clicks))
    scale = base_spread / click_spread if click_spread > 0 else 1.0
    # Rounded, so that the last bits of a threaded matrix product cannot change a score.
    return KnnCalibration(_short(scale), _short(base_mean - scale * click_mean), _short(base_spread))


def _sparse(base: Rows, clicks: Rows, queries: Rows) -> KnnCalibration:
    """Match the spread only: an inverted list cannot hold a shift, which would put every item into every answer."""
    few = queries[:: -(-queries.shape[0] // MAX_PAIRED_SAMPLES) or 1]
    step = -(-base.shape[0] // MAX_PAIRED_SAMPLES) or 1
    spreads = [_spread(few @ rows[::step].T) for rows in (base, clicks)]
    return KnnCalibration(_short(spreads[0] / spreads[1] if spreads[1] > 0 else 1.0), 0.0, _short(spreads[0]))


def _spread(scores: Rows) -> float:
    pairs, values = max(1, scores.shape[0] * scores.shape[1]), scores.data.astype(np.float64)
    return float(np.sqrt(max(0.0, float(np.square(values).sum()) / pairs - (float(values.sum()) / pairs) ** 2)))


def _moments(rows: Float32Array) -> Moments:
    step = -(-len(rows) // MAX_ROWS_SAMPLED) or 1
    sample: NDArray[np.float64] = rows[::step].astype(np.float64)
    count = max(1, len(sample))
    return sample.sum(axis=0) / count, sample.T @ sample / count


def _pairs(left: Moments, right: Moments) -> tuple[float, float]:
    mean = float(left[0] @ right[0])
    return mean, float(np.sqrt(max(0.0, float((left[1] * right[1]).sum()) - mean * mean)))


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def grown_log(base: RowSpaceRetriever, clicks: Any) -> ClickLog:
    """Read clicks, with rows that hold every word of the queries."""
    return ClickLog.of(clicks, base.items, grown_encode(base))


def grown_encode(base: RowSpaceRetriever) -> Encode:
    """Return how all texts of a log become rows: an array, or a CSR array with columns for words new to the base."""

    def encode(texts: list[str]) -> Any:
        rows = Queries(texts).encoded(base.grown_encoder(texts))
        return as_scipy(rows) if base.encoder.sparse else rows

    return encode


def grown_item_rows(base: RowSpaceRetriever, log: ClickLog, items: NDArray[np.int64] | slice = slice(None)) -> Rows:
    """Return the base's rows of these items, as wide as the log's."""
    return widened(base.item_rows(items), log.dim)


def grown_column_weights(base: RowSpaceRetriever, log: ClickLog) -> Float32Array | None:
    """Return what each column weighs, those included that are new to the base."""
    weights = base.column_weights
    if weights is None:
        return None
    return np.append(weights, np.full(log.dim - len(weights), base.new_column_weight, np.float32))


def narrowed(rows: Rows, dim: int) -> Rows:
    """Return queries' rows with the base's columns alone, as they are weighed among the new ones."""
    if not isinstance(rows, SparseRows) or rows.width == dim:
        return rows
    return SparseRows.of(rows.to_scipy()[:, :dim])


def sparse_candidates(
    queries: Rows, wanted: Any, parts: list[InvertedIndex], *, near: int, lowest: np.float32
) -> tuple[list[Float32Array], NDArray[np.bool_], Int64Array]:
    """Return the scores by each part, whether they are relevant, and the numbers of each query's candidates.

    Candidates are the `near` best of each part and what is wanted; a query that has fewer than another is filled up
    with number -1 and the score `lowest`. Inverted lists find them many times as fast as all products would.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> queries, wanted = csr_array([[1.0, 0.0]]), csr_array([[0, 0, 1]])
    >>> part = InvertedIndex.build(csr_array([[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    >>> scores, relevant, numbers = sparse_candidates(queries, wanted, [part], near=1, lowest=np.float32(-1))
    >>> numbers.tolist(), scores[0].tolist(), relevant.tolist()
    ([[0, 2]], [[2.0, 0.0]], [[False, True]])
    """
    rows, items = SparseRows.of(queries), len(parts[0])
    found = [part.search(rows, near) for part in parts]
    own = _keys(wanted.indptr, wanted.indices, items)
    keys = np.unique(np.concatenate([own, *(_keys(one.offsets, one.items, items) for one in found)]))
    offsets = np.searchsorted(keys, np.arange(len(rows) + 1, dtype=np.int64) * items).astype(np.int64)
    candidates = Candidates.unchecked(offsets, (keys % max(items, 1)).astype(np.int32), None, None, Stats())
    scores = [_filled(part.scores(rows, candidates).scores, offsets, lowest) for part in parts]
    numbers: Int64Array = _filled(keys % max(items, 1), offsets, -1)
    return scores, _filled(np.isin(keys, own), offsets, False), numbers


def _keys(offsets: Any, numbers: Any, items: int) -> Int64Array:
    """Return a number for each pair of row and item, ascending by row."""
    rows = row_numbers(offsets)
    keys: Int64Array = rows * items + numbers
    return keys


def _filled(values: Any, offsets: Int64Array, fill: Any) -> Any:
    lengths = np.diff(offsets)
    full = np.full((len(lengths), int(lengths.max(initial=0))), fill, values.dtype)
    full[np.arange(full.shape[1]) < lengths[:, None]] = values
    return full
