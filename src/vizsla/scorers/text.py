"""TextScorer: the base of scorers that read the texts of queries and items."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from vizsla.base.contract import checked_numbers
from vizsla.base.queries import Queries
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.strings import Strings
from vizsla.data.filter import Filter
from vizsla.errors import InputError
from vizsla.io.frames import plain_items
from vizsla.typing import Int32Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset


class TextScorer(Scorer):
    """Scores pairs of texts: a cross-encoder, a service, any function.

    A kind implements `score_pairs` and `fingerprint`. It gets all pairs of a call at once, whatever the number of
    queries, in the candidates' order; to sort them, by length for example, is its own affair.

    Parameters
    ----------
    texts : mapping or Dataset
        Item texts by id, or what `Dataset.of` makes a dataset of: a data frame, or dicts. A mapping or a dataset is
        read when its texts are needed.
    scale : str
        The name of what the scores measure.
    model_calls : bool
        Whether a pair counts as a model call, which is paid for, or as arithmetic.

    Examples
    --------
    >>> class Shorter(TextScorer):
    ...     fingerprint = "shorter, version 1"
    ...
    ...     def score_pairs(self, queries, texts):
    ...         return [len(query) - len(text) for query, text in zip(queries, texts)]
    >>> found = Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}})
    >>> Shorter({"a": "fig", "b": "pear"}).score("fig", found).to_dict()
    {'0': {'a': 0.0, 'b': -1.0}}
    """

    named: bool = True
    """Whether `fingerprint` changes with the scores, so that scores may be kept under it."""

    def __init__(self, texts: Mapping[str, str] | Dataset, *, scale: str = "text", model_calls: bool = True):
        texts = plain_items(texts)
        if isinstance(texts, Mapping):
            self._items = Strings.of(texts)
        elif hasattr(texts, "item_ids"):
            self._items = texts.item_ids
        else:
            raise InputError(f"`texts` must be a mapping of id to text, or a Dataset. Got {type(texts).__name__}.")
        self._texts, self.scale, self.model_calls = texts, scale, model_calls

    @property
    def items(self) -> Strings:
        """The ids that have a text."""
        return self._items

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """The same in every process, and another one whenever the scores may be others."""

    @abstractmethod
    def score_pairs(self, queries: list[str], texts: list[str]) -> Any:
        """Return a number for each (query text, item text), higher is better.

        Parameters
        ----------
        queries, texts : list of str
            As many of one as of the other: pair `i` is `queries[i]` and `texts[i]`. A query that has many pairs
            stands here many times, one after the other.
        """

    def pairs(self, queries: Queries, candidates: Candidates) -> tuple[list[str], list[str]]:
        """Return the query's and the item's text of each candidate; the candidates carry this scorer's numbers."""
        counts = np.diff(candidates.offsets).tolist()
        return list(chain.from_iterable(map(repeat, queries.texts, counts))), self._item_texts(candidates.items)

    def _score(self, queries: Queries, candidates: Candidates, filter: Filter | None, threads: int) -> PairScores:
        pairs = len(candidates.items)
        if not pairs:
            return PairScores(np.zeros(0, np.float32), Stats())
        scores = checked_numbers(self.score_pairs(*self.pairs(queries, candidates)), pairs)
        return PairScores(scores, Stats(model_calls=pairs) if self.model_calls else Stats(scored=pairs))

    def _item_texts(self, numbers: Int32Array) -> list[str]:
        distinct, places = np.unique(numbers, return_inverse=True)
        texts = list(self._texts_of(distinct))
        if not all(isinstance(text, str) for text in texts):
            wrong = next(at for at, text in enumerate(texts) if not isinstance(text, str))
            item, kind = self._items[int(distinct[wrong])], type(texts[wrong]).__name__
            raise InputError(f"`texts` must hold texts. Got {kind} for {item!r}.")
        return [texts[place] for place in places.tolist()]

    def _texts_of(self, numbers: Int32Array) -> Iterator[str]:
        if not isinstance(self._texts, Mapping):
            records = self._texts.items
            yield from (records[number].default_text() for number in numbers.tolist())
            return
        for item in self._items.take(numbers):
            try:
                yield self._texts[item]
            except KeyError:
                raise InputError(f"`texts` must have a text for every item. Got none for {item!r}.") from None
