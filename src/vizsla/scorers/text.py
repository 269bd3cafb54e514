"""Scorers of texts: the base class, and any function of a query and texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice, repeat
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.base.contract import checked_numbers
from vizsla.base.queries import Queries
from vizsla.base.scorer import Scorer
from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.catalog import details_of
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.errors import InputError, check_choice
from vizsla.io.frames import plain_items
from vizsla.text.word_filter import stored_texts
from vizsla.typing import Float32Array, Int32Array

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset


class StoredTexts(Mapping[str, str]):
    """Texts by id, read when they are asked for: from string tables, or from where a catalog keeps them.

    Parameters
    ----------
    ids : Strings
        The ids.
    texts : Strings or other sequence of str
        As many texts.
    """

    def __init__(self, ids: Strings, texts: Sequence[str] | Strings):
        self.ids, self.texts = ids, texts

    @classmethod
    def kept_by(cls, scorer: Scorer) -> Self:
        """Return the texts that a retriever or an engine keeps, of the items that it has now; without any it raises."""
        details = details_of(scorer.items)
        texts = None if details is None else stored_texts(details)
        if texts is None:
            raise InputError(
                f"`texts` must be kept with the items. Got {type(scorer).__name__} without texts: build it with "
                "keep_texts=True (on the command line --keep-texts), or give the texts themselves."
            )
        ids = scorer.items  # the ids alone: an engine's metadata are no part of a saved scorer
        return cls(Strings(ids.data, ids.offsets, ids.slots, source=ids.source), texts)

    def __getitem__(self, item: str) -> str:
        number = self.ids.find(item)
        if number < 0:
            raise KeyError(item)
        return self.texts[number]

    def __iter__(self) -> Any:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)


class TextScorer(Scorer):
    """Scores pairs of texts: a cross-encoder, a service, any function.

    A kind implements `score_pairs` and `fingerprint`. It gets all pairs of a call at once, whatever the number of
    queries, in the candidates' order; to sort them, by length for example, is its own affair.

    Parameters
    ----------
    texts : mapping, Dataset, Retriever or Engine
        Item texts by id, or what `Dataset.of` makes a dataset of: a data frame, or dicts. Or a retriever or an engine
        that keeps its items' texts: those of the items that it has when the scorer is made. Texts are read when they
        are needed.
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

    def __init__(self, texts: Mapping[str, str] | Dataset | Scorer, *, scale: str = "text", model_calls: bool = True):
        texts = StoredTexts.kept_by(texts) if isinstance(texts, Scorer) else plain_items(texts)
        if isinstance(texts, StoredTexts):
            self._items = texts.ids
        elif isinstance(texts, Mapping):
            self._items = Strings.of(texts)
        elif hasattr(texts, "item_ids"):
            self._items = texts.item_ids
        else:
            wanted = "a mapping of id to text, a Dataset, a retriever or an engine"
            raise InputError(f"`texts` must be {wanted}. Got {type(texts).__name__}.")
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
        if isinstance(self._texts, StoredTexts):
            yield from (self._texts.texts[number] for number in numbers.tolist())
            return
        for item in self._items.take(numbers):
            try:
                yield self._texts[item]
            except KeyError:
                raise InputError(f"`texts` must have a text for every item. Got none for {item!r}.") from None


TAKES = ("query", "pairs", "batch")


class FunctionScorer(TextScorer):
    """A scorer from a Python function of query and item texts.

    Parameters
    ----------
    function : callable
        Returns as many numbers as it gets item texts, higher is better. `takes` says what it gets.
    texts : mapping, Dataset, Retriever or Engine
        Item texts by id, or what keeps them.
    takes : {"query", "pairs", "batch"}
        "query": a query text and a list of item texts, once a query. "pairs": a list of (query text, item text), once a
        call, whatever the number of queries. "batch": a list of query texts and as many lists of item texts, once a
        call; it returns as many lists of numbers. Queries without candidates are left out.
    name : str, optional
        What the function computes, with its version: "overlap 1". A ScoreCache keeps scores under it, and so wants it
        given: change it when you change the function. Without it, the function's own name is shown.
    scale : str
        The name of what the function measures.
    model_calls : bool
        Whether a pair counts as a model call, which is paid for, or as arithmetic.

    Examples
    --------
    >>> from vizsla import Candidates
    >>> shared = FunctionScorer(lambda q, ts: [len(set(q) & set(t)) for t in ts], {"a": "fig", "b": "pear"})
    >>> shared.score("pea", Candidates.from_dict({"0": {"a": 0.0, "b": 0.0}})).to_dict()
    {'0': {'b': 3.0, 'a': 0.0}}
    """

    @validate_args
    def __init__(
        self,
        function: Callable[..., Any],
        texts: Mapping[str, str] | Dataset | Scorer,
        *,
        takes: str = "query",
        name: str | None = None,
        scale: str = "function",
        model_calls: bool = True,
    ):
        super().__init__(texts, scale=scale, model_calls=model_calls)
        check_choice("takes", takes, TAKES)
        if name is not None and not (isinstance(name, str) and name):
            raise InputError(f"`name` must be a text that says what the function computes. Got {name!r}.")
        self._function, self._takes, self.named = function, takes, name is not None
        self.name = name or str(getattr(function, "__qualname__", type(function).__qualname__))

    @property
    def fingerprint(self) -> str:
        """The function's name, which does not depend on its code."""
        return f"function {self.name}"

    def __repr__(self) -> str:
        return f"FunctionScorer({self.name}, {len(self._items):,} items)"

    def score_pairs(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Call the function with the arguments of `takes`."""
        if self._takes == "pairs":
            return checked_numbers(self._function(list(zip(queries, texts, strict=True))), len(texts))
        asked, rows = _rows(queries, texts)
        if self._takes == "query":
            answers = [self._function(query, row) for query, row in zip(asked, rows, strict=True)]
        else:
            answers = list(self._function(asked, rows))
            if len(answers) != len(rows):
                raise InputError(f"The scorer must return {len(rows)} lists, one a query. Got {len(answers)}.")
        return np.concatenate([checked_numbers(answer, len(row)) for answer, row in zip(answers, rows, strict=True)])


def _rows(queries: list[str], texts: list[str]) -> tuple[list[str], list[list[str]]]:
    """Return the queries and their texts; pairs of one query follow each other."""
    runs = [(query, sum(1 for _ in run)) for query, run in groupby(queries)]
    remaining = iter(texts)
    return [query for query, _ in runs], [list(islice(remaining, count)) for _, count in runs]
