"""Check an exported or quantized model on a sample before it is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.base.encoder import Encoder, checked_rows
from vizsla.core.validation import generator
from vizsla.errors import InputError, check_positive
from vizsla.indexes.flat import FlatIndex

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset


class CheckSample(NamedTuple):
    """What `check_quantization` asks for.

    Parameters
    ----------
    queries, items : list of str
        Texts.
    relevant : list of list of int, or None
        For each query the positions of its right items among `items`; None when they are unknown.
    """

    queries: list[str]
    items: list[str]
    relevant: list[list[int]] | None


def check_sample(
    dataset: Dataset, *, split: str | None = None, queries: int = 500, items: int = 5000, seed: int = 0
) -> CheckSample:
    """Draw queries of a split, all their right items, and as many others as make `items` together.

    Parameters
    ----------
    dataset : Dataset
        With queries; judgments or clicks say which items are right.
    split : str, optional
        Whose queries; the first one that is not "train", or "train", unless given. Without judgments, any queries.
    queries : int
        How many queries are drawn at most.
    items : int
        How many items are drawn at most, except that every right item is there.
    seed : int
        Fixes the draw.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> data = Dataset.of(["a fig", "a pear"], queries=["figs"], qrels={"0": {"0": 1}})
    >>> check_sample(data)
    CheckSample(queries=['figs'], items=['a fig', 'a pear'], relevant=[[0]])
    """
    random = generator(seed)
    split = split or min(dataset.splits, key=lambda name: name == "train", default=None)
    right = {} if split is None else _right_items(dataset, split)
    rows = np.array(sorted(right) if split else range(len(dataset.queries)), np.int64)
    asked = np.sort(random.permutation(rows)[: check_positive("queries", queries)])
    if not len(asked) or not len(dataset.items):
        raise InputError("The data must have items, and queries to check with. Got none: give a file of queries.")
    chosen = _chosen(len(dataset.items), {item for row in asked.tolist() for item in right.get(row, [])}, items, random)
    place = {number: at for at, number in enumerate(chosen.tolist())}
    texts = {number: item.default_text() for number, item in enumerate(dataset.items) if number in place}
    wanted = set(asked.tolist())
    questions = {row: query.text for row, query in enumerate(dataset.queries) if row in wanted}
    relevant = [[place[item] for item in right[row]] for row in asked.tolist()] if split else None
    return CheckSample([questions[row] for row in asked.tolist()], [texts[n] for n in chosen.tolist()], relevant)


def _right_items(dataset: Dataset, split: str) -> dict[int, list[int]]:
    matrix = dataset.qrels(split)
    found: dict[int, list[int]] = {}
    for row in np.flatnonzero(np.diff(matrix.indptr)).tolist():
        span = slice(matrix.indptr[row], matrix.indptr[row + 1])
        if numbers := matrix.indices[span][matrix.data[span] > 0].tolist():
            found[row] = numbers
    return found


def _chosen(count: int, right: set[int], items: int, random: np.random.Generator) -> NDArray[np.int64]:
    others = np.setdiff1d(random.permutation(count), np.array(sorted(right), np.int64))
    more = max(0, check_positive("items", items) - len(right))
    return np.sort(np.concatenate([np.array(sorted(right), np.int64), random.permutation(others)[:more]]))


MAX_RECALL_LOSS = 0.01
"""How much recall may fall unless told otherwise: one query in a hundred."""


@dataclass(frozen=True)
class QuantizationCheck:
    """What int8 changed on held-out queries.

    Parameters
    ----------
    queries, items : int
        How many were asked, and among how many they searched.
    recall, recall_int8 : float
        The share of relevant items among the best `depth`, before and after.
    agreement : float
        The share of the best `depth` that stays among them.
    speed : float
        How many times faster the items were encoded.
    depth : int
        Depth of the measured recall.
    max_loss : float
        Maximum loss of recall.

    Examples
    --------
    >>> print(QuantizationCheck(200, 5000, 0.86, 0.855, 0.93, 2.5, 10, 0.01))
    int8 accepted: R@10 0.8600 → 0.8550 (-0.0050, allowed 0.0100) on 200 queries among 5,000 items, 93.0% of the
    best 10 agree, 2.5 × as fast
    """

    queries: int
    items: int
    recall: float
    recall_int8: float
    agreement: float
    speed: float
    depth: int
    max_loss: float

    @property
    def loss(self) -> float:
        """How much recall fell; below 0 when it rose."""
        return self.recall - self.recall_int8

    @property
    def accepted(self) -> bool:
        """Whether the loss is within what was allowed."""
        return self.loss <= self.max_loss

    def __str__(self) -> str:
        verdict = "accepted" if self.accepted else "refused"
        change = f"R@{self.depth} {self.recall:.4f} → {self.recall_int8:.4f} ({-self.loss:+.4f}"
        asked = f"on {self.queries:,} queries among {self.items:,} items"
        speed = f"{self.agreement:.1%} of the best {self.depth} agree, {self.speed:.1f} × as fast"
        return f"int8 {verdict}: {change}, allowed {self.max_loss:.4f}) {asked}, {speed}"


def check_quantization(
    full: Encoder,
    small: Encoder,
    queries: Sequence[str],
    items: Sequence[str],
    *,
    relevant: Sequence[Sequence[int]] | None = None,
    depth: int = 10,
    max_loss: float = MAX_RECALL_LOSS,
) -> QuantizationCheck:
    """Let both encoders search the same items for the same queries; each searches what it encoded itself.

    Parameters
    ----------
    full, small : Encoder
        The float32 model and its int8 twin.
    queries, items : sequences of str
        Held-out queries, and the items (or a sample of them) to find.
    relevant : sequence of sequences of int, optional
        For each query the positions of the right items; the one that the float32 model finds first unless given.
    depth : int
        Depth of the measured recall.
    max_loss : float
        Maximum loss of recall.
    """
    if not len(queries) or not len(items) or (relevant is not None and len(relevant) != len(queries)):
        raise InputError("`queries` and `items` must not be empty; `relevant` must have an entry a query. Got less.")
    before, slow = _best(full, queries, items, depth)
    after, fast = _best(small, queries, items, depth)
    wanted = [row[:1] for row in before] if relevant is None else [np.asarray(row, np.int64) for row in relevant]
    return QuantizationCheck(
        queries=len(queries),
        items=len(items),
        recall=recall_of(before, wanted),
        recall_int8=recall_of(after, wanted),
        agreement=recall_of(after, before),
        speed=slow / fast,
        depth=depth,
        max_loss=max_loss,
    )


def _best(encoder: Encoder, queries: Sequence[str], items: Sequence[str], depth: int) -> tuple[list[Any], float]:
    encoder.items(items[:1])  # the first call also sets things up
    start = perf_counter()
    rows = checked_rows(encoder, encoder.items(items), len(items))
    seconds = perf_counter() - start
    found = FlatIndex.build(rows).search(encoder.queries(queries), depth)
    return [found.row(number)[0] for number in range(len(found))], seconds


def recall_of(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """Return the mean share of what is wanted that was found; queries that want nothing do not count."""
    shares = [np.isin(right, row).mean() for row, right in zip(found, wanted, strict=True) if len(right)]
    return float(np.mean(shares)) if shares else 1.0
