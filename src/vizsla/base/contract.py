"""Checks of the results of kinds that are defined outside of the library."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from vizsla.core.candidates import Candidates, PairScores, Stats
from vizsla.core.validation import as_array
from vizsla.errors import CompositionError, InputError
from vizsla.typing import Float32Array

Method = Callable[..., Any]


def enforce_contract(kind: type, search: str, score: str) -> None:
    """Wrap the methods of a class so that their results are checked on every call.

    Built-in kinds are tested instead. For other kinds, a wrong result would otherwise show up as a wrong answer of a
    composition, far from its cause.

    Parameters
    ----------
    kind : type
        A Retriever, Scorer or Index.
    search, score : str
        The names of its methods that return Candidates and PairScores.
    """
    if kind.__module__.partition(".")[0] == "vizsla":
        return
    for name, check in ((search, _checked_search), (score, _checked_score)):
        if name in vars(kind):
            setattr(kind, name, check(vars(kind)[name]))


def _checked_search(search: Method) -> Method:
    @wraps(search)
    def checked(self: Any, *given: Any, **named: Any) -> Candidates:
        queries, k = _first_two(search, self, given, named)
        rows = queries.shape[0] if hasattr(queries, "shape") else len(queries)
        return checked_answer(self, search(self, *given, **named), rows, k)

    return checked


def _checked_score(score: Method) -> Method:
    @wraps(score)
    def checked(self: Any, *given: Any, **named: Any) -> PairScores:
        _, candidates = _first_two(score, self, given, named)
        scored = score(self, *given, **named)
        if not isinstance(scored, PairScores) or not isinstance(scored.stats, Stats):
            got = (
                f"{type(scored).__name__} with other stats" if isinstance(scored, PairScores) else type(scored).__name__
            )
            raise _broken(self, f"scoring must return PairScores(scores, stats). Got {got}")
        return PairScores(checked_numbers(scored.scores, len(candidates.items)), scored.stats)

    return checked


def _first_two(method: Method, self: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any]:
    if len(given) < 2:
        given = tuple(signature(method).bind(self, *given, **named).arguments.values())[1:]
    return given[0], given[1]


def checked_answer(part: Any, found: Any, rows: int, k: int) -> Candidates:
    """Return the answer, ranked, with at most `k` items per row; an invalid answer raises.

    Parameters
    ----------
    part : Retriever or Index
        The retriever or index that answered.
    found : Candidates
        The result of its search.
    rows, k : int
        The number of queries, and of requested items per query.
    """
    if not isinstance(found, Candidates):
        raise _broken(part, f"a search must return Candidates. Got {type(found).__name__}")
    if len(found) != rows:
        raise _broken(part, f"a search must return a row for each of {rows} queries. Got {len(found)}")
    if found.scores is None and getattr(part, "scale", "") != "none":
        raise _broken(part, 'a search must return scores. Got a match set, whose `scale` must be "none"')
    own = _in_own_numbers(part, found)
    _check_once(part, own)
    return (
        own.top(k) if own.scores is None or _is_ranked(own) else own.with_scores(PairScores(own.scores, own.stats), k=k)
    )


def checked_numbers(given: Any, count: int) -> Float32Array:
    """Return a scorer's numbers as float32; a wrong count, or NaN, raises.

    Examples
    --------
    >>> checked_numbers([1, 2.5], 2).tolist()
    [1.0, 2.5]
    """
    scores: Float32Array = as_array("scores", given, np.float32)
    if scores.shape != (count,):
        raise InputError(f"The scorer must return {count} numbers. Got shape {scores.shape}.")
    if np.isnan(scores).any():
        raise InputError(f"The scorer must return numbers. Got NaN for pair {int(np.argmax(np.isnan(scores)))}.")
    return scores


def _in_own_numbers(part: Any, found: Candidates) -> Candidates:
    if found.scores is not None:
        checked_numbers(found.scores, len(found.items))
    items = getattr(part, "items", None)  # an index has numbers only
    if found.catalog is not None and found.catalog is items:
        return found
    inside = int(found.items.max(initial=-1)) < (len(part) if items is None else len(items))
    same = found.catalog is None or found.catalog == items
    if not inside or not same:
        raise _broken(part, "a search must return its own items. Got others: give catalog=self.items")
    return found if items is None else found.with_catalog(items)


def _check_once(part: Any, found: Candidates) -> None:
    width = int(found.items.max(initial=-1)) + 1
    keys = np.sort(found.row_numbers() * np.int64(width) + found.items)
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    if len(twice):
        number = int(keys[twice[0]] % width)
        item = number if found.catalog is None else found.catalog[number]
        raise _broken(part, f"a search must return an item once. Got {item!r} twice for a query")


def _is_ranked(found: Candidates) -> bool:
    """Return whether the best come first, and equal scores by item number."""
    scores, same = found._required_scores(), np.diff(found.row_numbers()) == 0
    right = (scores[:-1] > scores[1:]) | ((scores[:-1] == scores[1:]) & (found.items[:-1] < found.items[1:]))
    return bool(right[same].all())


def _broken(part: Any, what: str) -> CompositionError:
    return CompositionError(f"{type(part).__name__} must keep the contract: {what}.")
