"""What a search cost: time, scorer calls, and how much of the index it touched."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Stats:
    """The cost of answering, summed over all queries of the call.

    Parameters
    ----------
    ms : float
        Wall-clock milliseconds.
    scorer_calls : int
        (query, item) pairs that a Scorer scored.
    postings : int
        Entries of inverted lists that were read.
    bytes : int
        Bytes of index data that were read, where the index can tell.

    Examples
    --------
    >>> Stats(ms=1.5, scorer_calls=10) + Stats(ms=0.5, postings=7)
    Stats(ms=2.0, scorer_calls=10, postings=7, bytes=0)
    """

    ms: float = 0.0
    scorer_calls: int = 0
    postings: int = 0
    bytes: int = 0

    def __add__(self, other: Stats) -> Stats:
        return Stats(
            self.ms + other.ms,
            self.scorer_calls + other.scorer_calls,
            self.postings + other.postings,
            self.bytes + other.bytes,
        )

    def to_dict(self) -> dict[str, float]:
        """Return the figures as a dict."""
        return asdict(self)
