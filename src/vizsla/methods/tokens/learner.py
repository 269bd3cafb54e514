"""Learn token weights and expansions from clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vizsla.core.candidates import Candidates, Stats
from vizsla.core.sparse import SparseRows, row_numbers
from vizsla.core.validation import ABOVE_0, COUNT, COUNT_FROM_0, check_numbers
from vizsla.encoders.token_table import TokenTable
from vizsla.learning.clicks import ClickLog
from vizsla.methods.tokens.model import TokenRetriever
from vizsla.typing import Float64Array, Int64Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array


Pattern = tuple[NDArray[np.int64], NDArray[np.int32]]


def strongest_pairs(queries: csr_array, clicked: csr_array, weights: NDArray[np.float32], *, most: int) -> Pattern:
    """Return offsets and targets: for each token the `most` others that it meets most, rare ones counting more.

    Parameters
    ----------
    queries, clicked : csr_array
        A row a click: the tokens of its query, and those of its item.
    weights : float32 array
        The weight of each token: its idf.
    most : int
        How many others a token may have.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> queries, clicked = csr_array([[1.0, 0, 0], [1.0, 0, 0]]), csr_array([[0, 1.0, 0], [1.0, 1.0, 1.0]])
    >>> offsets, targets = strongest_pairs(queries, clicked, np.float32([1, 1, 1]), most=1)
    >>> offsets.tolist(), targets.tolist()
    ([0, 1, 1, 1], [1])
    """
    met = (queries.T.tocsr() @ clicked).tocsr().sorted_indices()
    tokens = row_numbers(met.indptr)
    strength = np.where(tokens == met.indices, 0.0, met.data * weights[met.indices])
    order = np.lexsort((met.indices, -strength, tokens))
    rank = np.arange(len(order)) - met.indptr[tokens[order]]
    kept = np.sort(order[(rank < most) & (strength[order] > 0)])
    counts = np.bincount(tokens[kept], minlength=met.shape[0])
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), met.indices[kept].astype(np.int32)


def items_met(queries: csr_array, clicks: csr_array, items: csr_array, pattern: Pattern) -> NDArray[np.float32]:
    """Return at how many different items each pair of tokens met: the one in the item, the other in a query for it.

    Parameters
    ----------
    queries : csr_array
        Queries × tokens.
    clicks : csr_array
        Queries × items.
    items : csr_array
        Items × tokens.
    pattern : offsets and targets
        The pairs, as `strongest_pairs` gives them.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> queries, clicks = csr_array([[1.0, 0]] * 3), csr_array([[1.0, 0], [2.0, 0], [0, 1.0]])
    >>> items_met(queries, clicks, csr_array([[0, 1.0], [0, 1.0]]), (np.array([0, 1, 1]), np.int32([1]))).tolist()
    [2.0]
    """
    offsets, targets = pattern
    if not len(targets):  # scipy looks up no pair at all in a way of its own
        return np.zeros(0, np.float32)
    chosen = (queries.T.tocsr() @ clicks).tocsr()
    chosen.data = np.ones(len(chosen.data), np.float32)
    met = (chosen @ items).tocsr().sorted_indices()
    tokens = row_numbers(offsets)
    return np.asarray(met[tokens, targets], np.float32).reshape(-1)


RANDOM_NEGATIVES = 8
"""Items drawn for a click whose query finds few."""
ADAGRAD_EPSILON = 1e-8

SETTING_RANGES = {
    **dict.fromkeys(("rate", "temperature"), ABOVE_0),
    **dict.fromkeys(("negatives", "batch"), COUNT),
    "expansions": COUNT_FROM_0,
}


@dataclass(frozen=True)
class LearningSettings:
    """How a table is learned.

    Parameters
    ----------
    rate : float
        The step of Adagrad for weights and expansions.
    negatives : int
        How many items that the search now finds stand against a clicked one.
    temperature : float
        Divisor of the scores before the softmax.
    batch : int
        Clicks between two steps.
    expansions : int
        Maximum number of expansions per token.
    """

    rate: float = 0.1
    negatives: int = 64
    temperature: float = 1.0
    batch: int = 128
    expansions: int = 64

    def __post_init__(self) -> None:
        check_numbers(self, SETTING_RANGES)


class TokenLearner:
    """A table on its way: its numbers, and Adagrad's memory of their gradients.

    Parameters
    ----------
    base : TokenRetriever
        The lists, and the table to begin with.
    table : TokenTable
        The table with the pattern of its expansion.
    queries : SparseRows
        The queries' tokens, as the table's `words` counts them.
    clicks : csr_array
        Queries × items.
    settings : LearningSettings
        How to learn.
    """

    def __init__(
        self,
        base: TokenRetriever,
        table: TokenTable,
        queries: SparseRows,
        clicks: csr_array,
        settings: LearningSettings,
    ):
        self.index, self.words, self.settings = base.index, table.words, settings
        self.queries, self.clicks = queries, clicks
        self.items = base.index.item_rows().to_scipy()
        self.offsets, self.targets = table.offsets, table.targets
        self.weights, self.gains = table.weights.astype(np.float64), table.gains.astype(np.float64)
        self.floor = np.zeros(len(self.weights))
        self._trust = self._trusted()
        self._memory = np.zeros(len(self.weights)), np.zeros(len(self.gains))
        self._keys = np.sort(self._pairs()[0] * np.int64(clicks.shape[1]) + self._pairs()[1])

    def _trusted(self) -> Float64Array:
        """Return which share of a step each expansion takes: n / (n + 1), if the pair met at n different items.

        A pair that met at one item may tell what a word means, or only what that item is called. The first helps items
        without clicks, the second harms them. Where a table is learned on, pairs that these clicks lack met once.
        """
        asked = self.queries.with_values(np.ones(len(self.queries.columns), np.float32)).to_scipy()
        met = np.maximum(items_met(asked, self.clicks, self.items, (self.offsets, self.targets)), 1).astype(np.float64)
        return np.asarray(met / (met + 1))

    @property
    def table(self) -> TokenTable:
        """The table as it stands."""
        numbers = self.weights.astype(np.float32), self.offsets, self.targets, self.gains.astype(np.float32)
        return TokenTable(self.words, *numbers)

    def epoch(self, rng: np.random.Generator) -> float:
        """Go through all clicks once, in random order; return the mean loss."""
        queries, items = self._pairs()
        order = rng.permutation(len(queries))
        losses = 0.0
        for start in range(0, len(order), self.settings.batch):
            chosen = order[start : start + self.settings.batch]
            strangers = rng.integers(0, self.items.shape[0], (len(chosen), RANDOM_NEGATIVES))
            losses += self._step(queries[chosen], items[chosen], strangers)
        return losses / max(len(order), 1)

    def _pairs(self) -> tuple[Int64Array, Int64Array]:
        queries = row_numbers(self.clicks.indptr)
        return queries, self.clicks.indices.astype(np.int64)

    def _step(self, queries: Int64Array, items: Int64Array, strangers: Int64Array) -> float:
        rows, table = _taken(self.queries, queries), self.table
        weighted = table.weighted(rows)
        candidates, scores = self._against(weighted, queries, items, strangers)
        loss, slopes = softmax_loss(scores / self.settings.temperature)
        slopes *= self.index.norms[candidates] / self.settings.temperature
        self._move(table, rows, self._wanted(candidates, slopes, np.isfinite(scores)))
        return loss

    def _against(
        self, weighted: SparseRows, queries: Int64Array, items: Int64Array, strangers: Int64Array
    ) -> tuple[Int64Array, Float64Array]:
        """Return a row a click: its item first, then what the search finds now; other clicked items count nothing.

        Where it finds fewer than it may, some of the items that it does not find stand there too: a query whose tokens
        no item holds could learn nothing else.
        """
        found = self.index.search(weighted, self.settings.negatives)
        lengths = np.diff(found.offsets)
        rows = np.repeat(np.arange(len(queries)), lengths)
        at = rows, 1 + np.arange(len(found.items)) - found.offsets[rows]
        most = min(self.settings.negatives, len(self.index))
        candidates = np.zeros((len(queries), 1 + most + RANDOM_NEGATIVES), np.int64)
        scores = np.full(candidates.shape, -np.inf)
        candidates[at], scores[at] = found.items, found._required_scores()
        drawn = np.column_stack([items, strangers])
        known = self._scores(weighted, drawn)
        scores[self._are_clicks(queries[:, None], candidates)] = -np.inf
        candidates[:, 0], scores[:, 0] = items, known[:, 0]
        candidates[:, -RANDOM_NEGATIVES:] = strangers
        far = (lengths < self.settings.negatives)[:, None] & (known[:, 1:] == 0)
        scores[:, -RANDOM_NEGATIVES:] = np.where(far & ~self._are_clicks(queries[:, None], strangers), 0.0, -np.inf)
        return candidates, scores

    def _scores(self, weighted: SparseRows, items: Int64Array) -> NDArray[np.float32]:
        offsets = np.arange(len(items) + 1) * items.shape[1]
        asked = Candidates.unchecked(offsets, items.astype(np.int32).reshape(-1), None, None, Stats())
        return self.index.scores(weighted, asked).scores.reshape(items.shape)

    def _are_clicks(self, queries: Int64Array, items: Int64Array) -> NDArray[np.bool_]:
        keys = queries * np.int64(self.clicks.shape[1]) + items
        places = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.asarray(self._keys[places] == keys)

    def _wanted(self, candidates: Int64Array, slopes: Float64Array, real: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the slope of the loss for every token of every row."""
        from scipy.sparse import csr_array

        starts = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
        shape = (len(candidates), self.items.shape[0])
        by_item: Any = csr_array((slopes[real].astype(np.float32), candidates[real], starts), shape=shape)
        return np.asarray((by_item @ self.items).toarray())

    def _move(self, table: TokenTable, rows: SparseRows, slopes: NDArray[np.float32]) -> None:
        numbers, edges = table.edges(rows)
        own = slopes[rows.row_numbers(), rows.columns]
        self._adagrad(self.weights, self._memory[0], rows.columns, own)
        self._adagrad(self.gains, self._memory[1], edges, slopes[numbers, self.targets[edges]], self._trust)
        np.maximum(self.weights, self.floor, out=self.weights)

    def _adagrad(
        self, numbers: Float64Array, memory: Float64Array, places: NDArray[Any], slopes: NDArray[np.float32],
        trust: Float64Array | None = None,
    ) -> None:  # fmt: skip
        touched, inverse = np.unique(places, return_inverse=True)
        total = np.bincount(inverse, slopes, minlength=len(touched))
        memory[touched] += total * total
        rate = self.settings.rate * (1.0 if trust is None else trust[touched])
        numbers[touched] -= rate * total / np.sqrt(memory[touched] + ADAGRAD_EPSILON)


def softmax_loss(scores: Float64Array) -> tuple[float, Float64Array]:
    """Return the summed cross entropy of the first of each row, and its slope for every score; -inf counts for nothing.

    Examples
    --------
    >>> loss, slopes = softmax_loss(np.array([[0.0, 0.0], [5.0, -np.inf]]))
    >>> round(loss, 4), slopes.tolist()
    (0.6931, [[-0.5, 0.5], [0.0, 0.0]])
    """
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = shifted / shifted.sum(axis=1, keepdims=True)
    loss = float(-np.log(np.maximum(shares[:, 0], 1e-300)).sum())
    shares[:, 0] -= 1
    return loss, shares


def _taken(rows: SparseRows, numbers: Int64Array) -> SparseRows:
    lengths = np.diff(rows.offsets)[numbers]
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(rows.offsets[numbers] - ends + lengths, lengths)
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    return SparseRows(offsets, rows.columns[places], rows.values[places], rows.width)


def new_learner(base: TokenRetriever, clicked: ClickLog, clicks: csr_array, settings: LearningSettings) -> TokenLearner:
    """Return a learner at the base's own table, with room for the expansions that these clicks suggest."""
    queries = base.encoder.words.queries(clicked.texts)
    table = _with_room(base, queries, clicks, settings.expansions)
    return TokenLearner(base, table, queries, clicks, settings)


def _with_room(base: TokenRetriever, queries: SparseRows, clicks: csr_array, most: int) -> TokenTable:
    """Return the base's table with the strongest pairs of these clicks added to its expansions, at 0."""
    table: TokenTable = base.encoder
    items = base.index.item_rows().to_scipy()
    rows = row_numbers(clicks.indptr)
    asked = queries.with_values(np.ones(len(queries.columns), np.float32)).to_scipy()
    offsets, targets = strongest_pairs(asked[rows], items[clicks.indices], table.weights, most=most)
    if not table.expands:
        return TokenTable(table.words, table.weights, offsets, targets, np.zeros(len(targets), np.float32))
    return table.with_edges(offsets, targets)
