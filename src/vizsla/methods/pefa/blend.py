"""The rows of a PEFA-XS index: items blended with their clicks, past queries that may score alone, and queries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Numbers
from vizsla.clicks.log import ClickLog, Floats
from vizsla.clicks.matrices import Rows, is_sparse, lengths_of
from vizsla.errors import InputError
from vizsla.methods.pefa.click_vectors import click_vectors
from vizsla.methods.pefa.settings import XsSettings


def blended(
    base: Rows, log: ClickLog, items: NDArray[np.int64], settings: XsSettings, weights: Floats | None = None
) -> Rows:
    """Return the rows of these items, whose base rows are given (Eq. 8); without clicks the base's own."""
    if is_sparse(base):
        return _sparse(base, log, items, settings, weights)
    if settings.length is not None:
        raise InputError(f"`length` must be left out over dense vectors. Got {settings.length!r}.")
    vectors = np.zeros((len(items), base.shape[1] + settings.extra), np.float32)
    vectors[:, : base.shape[1]] = base
    if settings.weight < 1:
        clicks, clicked = click_vectors(log, items, weights)
        share = np.float32((1 - settings.weight) * settings.scale)
        mixed = np.float32(settings.weight) * base[clicked] + share * clicks[clicked]
        vectors[clicked, : base.shape[1]] = mixed
        if settings.extra:
            vectors[clicked, -1] = (1 - settings.weight) * settings.shift
    return vectors


def _sparse(base: Rows, log: ClickLog, items: NDArray[np.int64], settings: XsSettings, weights: Floats | None) -> Rows:
    if settings.extra:
        raise InputError("`shift` and `margin` must be left out over sparse rows. Got one of them.")
    if settings.weight == 1:
        return base
    clicks, clicked = click_vectors(log, items, weights)
    share = np.float32((1 - settings.weight) * settings.scale)
    mixed = _scaled(base, np.where(clicked, np.float32(settings.weight), np.float32(1))) + _scaled(clicks, share)
    return mixed if settings.length is None else _with_length(mixed, clicked, settings.length)


def _with_length(rows: Rows, clicked: NDArray[np.bool_], length: float) -> Rows:
    own = lengths_of(rows)
    return _scaled(rows, np.where(clicked & (own > 0), length / np.where(own > 0, own, 1), 1).astype(np.float32))


def length_factor(
    base: Rows, log: ClickLog, item: NDArray[np.int64], settings: XsSettings, weights: Floats | None = None
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


def past_query_rows(base: Floats, log: ClickLog, settings: XsSettings) -> tuple[Floats, Numbers]:
    """Return a vector for every click, its query blended with its item, and the items that they score."""
    if settings.margin is None:
        return np.zeros((0, base.shape[1] + settings.extra), np.float32), np.zeros(0, np.int32)
    vectors = np.empty((len(log.items), base.shape[1] + 1), np.float32)
    weight = np.float32(settings.item_weight)
    vectors[:, :-1] = weight * base[log.items] + (1 - weight) * log.vectors[log.rows]
    vectors[:, -1] = -settings.margin
    return vectors, log.items


def query_rows(queries: Rows, settings: XsSettings) -> Rows:
    """Return query vectors for the index: the constant is 1, but 0 for a query that says nothing."""
    if not settings.extra:
        return queries
    says = np.any(queries != 0, axis=1, keepdims=True)
    return np.concatenate([queries, says], axis=1, dtype=np.float32)
