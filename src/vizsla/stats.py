"""What an answer cost: time, scored pairs, model calls, how much of the index it touched; and whether it is exact."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Stats:
    """The cost of answering, summed over all queries of the call.

    Parameters
    ----------
    ms : float
        Wall-clock milliseconds.
    scored : int
        (query, item) pairs that were scored one by one by arithmetic: inner products, sums over words.
    model_calls : int
        (query, item) pairs that went to a model, such as a cross-encoder: the ones that are paid for.
    postings : int
        Entries of inverted lists that were read.
    bytes : int
        Bytes of index data that were read, where the index can tell.
    exact : bool
        Whether it is certain that scoring every item that a search can find would give the same answer. Items that a
        search cannot find, such as those that share no word with the query, do not count.
    estimated : int
        (query, item) pairs whose score is an estimate, because a budget was spent.
    widened : int
        Queries for which a tree followed more nodes than its beam, because a filter left fewer than `k` items in it.

    Examples
    --------
    >>> Stats(ms=1.5, scored=10, exact=True) + Stats(ms=0.5, postings=7)
    Stats(ms=2.0, scored=10, model_calls=0, postings=7, bytes=0, exact=False, estimated=0, widened=0)
    """

    ms: float = 0.0
    scored: int = 0
    model_calls: int = 0
    postings: int = 0
    bytes: int = 0
    exact: bool = False
    estimated: int = 0
    widened: int = 0

    def __add__(self, other: Stats) -> Stats:
        return Stats(
            self.ms + other.ms,
            self.scored + other.scored,
            self.model_calls + other.model_calls,
            self.postings + other.postings,
            self.bytes + other.bytes,
            self.exact and other.exact,
            self.estimated + other.estimated,
            self.widened + other.widened,
        )

    def with_ms(self, ms: float) -> Stats:
        """Return the same cost with another time."""
        # Every single query pays this: `dataclasses.replace` takes three times as long.
        return Stats(
            ms, self.scored, self.model_calls, self.postings, self.bytes, self.exact, self.estimated, self.widened
        )

    def with_exact(self, exact: bool) -> Stats:
        """Return the same cost of an answer that is exact, or is not."""
        return Stats(
            self.ms, self.scored, self.model_calls, self.postings, self.bytes, exact, self.estimated, self.widened
        )

    def to_dict(self) -> dict[str, float]:
        """Return the figures as a dict."""
        return asdict(self)
