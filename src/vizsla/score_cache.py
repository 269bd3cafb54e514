"""ScoreCache: scores that were paid for once, kept in a file beside the scorer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vizsla.candidates import Candidates, Scores
from vizsla.checked import checked
from vizsla.chosen_pairs import chosen_pairs
from vizsla.errors import CompositionError, InputError, ScorerError, check_positive
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.score_store import Pair, ScoreStore
from vizsla.scored import Scored
from vizsla.scorer import Scorer, unwrapped
from vizsla.stats import Stats
from vizsla.text_scorer import TextScorer
from vizsla.wrapped_scorer import WrappedScorer

Places = NDArray[np.int64]


class ScoreCache(WrappedScorer):
    """A scorer that asks the one inside only for pairs of texts that it has not scored before, in any process.

    Scores are stored by the scorer's fingerprint, the query's text and the item's text, bit for bit. What is missing
    is sent in chunks, and a chunk is stored before the next one is sent: who stops or fails loses at most one chunk,
    and of a scorer that tells what it has answered before it failed, as an HttpReranker does, nothing.
    `stats` count only the calls that were made. A saved composition holds the scorer inside, never the scores.

    Parameters
    ----------
    scorer : TextScorer, or a Budget around one
        What makes the scores. A function must have a `name`.
    path : path
        An SQLite file, made when it is not there. Scorers, threads and processes may share it.
    chunk : int
        How many pairs are sent at a time.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from vizsla import FunctionScorer
    >>> folder = TemporaryDirectory()
    >>> scorer = FunctionScorer(lambda q, ts: [len(t) for t in ts], {"a": "fig", "b": "pear"}, name="length 1")
    >>> cache = ScoreCache(scorer, Path(folder.name) / "scores.db")
    >>> pair = Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}})
    >>> cache.score("fruit", pair).stats.model_calls, cache.score("fruit", pair).stats.model_calls, len(cache)
    (2, 0, 2)
    >>> cache.close()
    >>> folder.cleanup()
    """

    @checked
    def __init__(self, scorer: Scorer, path: str | Path, *, chunk: int = 512):
        super().__init__(scorer)
        self._text_scorer = _text_scorer(scorer)
        self.chunk = check_positive("chunk", chunk)
        self._store = ScoreStore(path)

    @property
    def path(self) -> Path:
        """Where the scores are."""
        return self._store.path

    def __len__(self) -> int:
        """Return how many pairs of this scorer are stored."""
        return self._store.count(self._text_scorer.fingerprint)

    def __bool__(self) -> bool:
        return True

    def known(self, queries: str | Sequence[str] | Queries) -> Candidates:
        """Return all items whose scores are stored for each query, ranked; nothing is asked of the scorer.

        Past queries can so become further anchors: see `reused_anchors`.
        """
        asked = Queries.of(queries)
        every = Candidates.matches([np.arange(len(self.items), dtype=np.int32)] * len(asked), catalogue=self.items)
        pairs, _, places = _distinct(*self._text_scorer.pairs(asked, every))
        scores = self._store.get(self._text_scorer.fingerprint, pairs)[places]
        stored = np.flatnonzero(~np.isnan(scores))
        return chosen_pairs(every, stored).rescored(Scored(scores[stored], Stats()))

    def clear(self) -> None:
        """Forget all scores of this scorer; those of others in the same file stay."""
        self._store.clear(self._text_scorer.fingerprint)

    def close(self) -> None:
        """Close the file for this thread; the next use opens it again."""
        self._store.close()

    def __repr__(self) -> str:
        return f"ScoreCache({self.wrapped}, {str(self.path)!r})"

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> Scored:
        pairs, first, places = _distinct(*self._text_scorer.pairs(queries, candidates))
        scores = np.full(len(pairs), np.nan, np.float32)
        missing = self._look_up(pairs, scores, np.arange(len(pairs)))
        self.wrapped._afford(queries, np.diff(chosen_pairs(candidates, first[missing]).offsets))
        stats = Stats()
        for start in range(0, len(missing), self.chunk):
            chunk = missing[start : start + self.chunk]
            if start:  # another process may have stored some of them while the chunk before was scored
                chunk = self._look_up(pairs, scores, chunk)
            if len(chunk):
                asked, wanted = chosen_pairs(candidates, first[chunk]), [pairs[at] for at in chunk.tolist()]
                scored = self._kept(queries, asked, wanted, filter, threads)
                scores[chunk], stats = scored.scores, stats + scored.stats
        return Scored(scores[places], stats)

    def _kept(
        self, queries: Queries, asked: Candidates, pairs: list[Pair], filter: Filter | None, threads: int
    ) -> Scored:
        """Score pairs and store them; of a call that fails, what was answered before."""
        try:
            scored = self.wrapped._score(queries, asked, filter, threads)
        except ScorerError as failure:
            known = np.array(failure.answered, np.float32)
            self._store.put(self._text_scorer.fingerprint, pairs[: len(known)], known)
            failure.answered, failure.sent = (), None  # these were this chunk's first pairs, not the caller's
            raise
        self._store.put(self._text_scorer.fingerprint, pairs, scored.scores)
        return scored

    def _look_up(self, pairs: list[Pair], scores: Scores, at: Places) -> Places:
        """Fill in the scores that are stored, and return where there are none."""
        scores[at] = self._store.get(self._text_scorer.fingerprint, [pairs[place] for place in at.tolist()])
        return at[np.isnan(scores[at])]


def _text_scorer(scorer: Scorer) -> TextScorer:
    inner = unwrapped(scorer)
    if not isinstance(inner, TextScorer):
        raise CompositionError(
            f"`scorer` must be a TextScorer, so that its scores can be kept by texts. Got {type(inner).__name__}."
        )
    if not inner.named:
        raise InputError(
            f"A scorer whose scores are kept must have an explicit name. Got {inner}: its code may change, and old "
            'scores would stay. Give it one with a version, FunctionScorer(…, name="overlap 1"), and change it when '
            "the code changes."
        )
    return inner


def _distinct(queries: list[str], texts: list[str]) -> tuple[list[Pair], Places, Places]:
    """Return the distinct pairs, the first candidate of each, and the pair of each candidate."""
    seen: dict[Pair, int] = {}
    places = np.array([seen.setdefault(pair, len(seen)) for pair in zip(queries, texts, strict=True)], np.int64)
    return list(seen), np.unique(places, return_index=True)[1], places
