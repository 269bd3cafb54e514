"""Runs: answers that are there already, in every form they come in; their fusion and their pool for judges."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from vizsla.base.retriever import Retriever
from vizsla.core.candidates import Candidates
from vizsla.core.validation import is_iterable, validate_args
from vizsla.errors import InputError, check_positive
from vizsla.evaluation.measures import JudgedQueries, JudgedSplits
from vizsla.io.frames import Frame, frame_of
from vizsla.io.interactions import COLUMN_NAMES
from vizsla.io.trec import read_answers

Run: TypeAlias = Candidates | Mapping[str, Mapping[str, float]] | str | Path | Any
"""Answers that are there already: Candidates, `{query id: {item id: score}}`, a data frame (query, item, score), or the
path of a TREC run."""

System: TypeAlias = Retriever | Run

RANK_CONSTANT = 60.0
"""Of reciprocal rank fusion (Cormack et al. 2009)."""
_FRAME_COLUMNS = {
    "query": COLUMN_NAMES["query"],
    "item": COLUMN_NAMES["item"] | {"id", "document"},
    "score": {"score", "sim", "similarity"},
    "rank": {"rank", "position"},
}


def in_run_order(answers: Mapping[str, Mapping[str, float]]) -> Candidates:
    """Return answers ranked by score, items of equal scores in the order in which they are given.

    Candidates rank such items by number, which in a run says nothing: its items are numbered as queries before
    happened to find them. So equal scores are set apart by the least step that float32 has.

    Examples
    --------
    >>> in_run_order({"q1": {"fig": 1.0, "pear": 1.0}, "q2": {"pear": 2.0, "fig": 2.0}}).ids
    [['fig', 'pear'], ['pear', 'fig']]
    """
    run = Candidates.from_dict(answers)
    if not _has_ties(run):
        return run
    return Candidates.from_dict({query: _set_apart(row) for query, row in answers.items()})


def _has_ties(run: Candidates) -> bool:
    if run.scores is None or len(run.scores) < 2:
        return False
    same = np.diff(run.scores) == 0
    firsts = run.offsets[(run.offsets > 0) & (run.offsets < len(run.scores))]
    same[firsts - 1] = False  # the last of a query and the first of the next
    return bool(same.any())


def _set_apart(row: Mapping[str, float]) -> dict[str, float]:
    given = np.array(list(row.values()), np.float64)
    places = np.argsort(-given, kind="stable")
    scores, items = given[places].astype(np.float32), list(row)
    for at in range(1, len(scores)):
        scores[at] = min(scores[at], np.nextafter(scores[at - 1], np.float32(-np.inf)))
    return {items[place]: float(score) for place, score in zip(places, scores, strict=True)}


def run_of(system: Run) -> Candidates:
    """Return a run as Candidates, whatever form it came in.

    Examples
    --------
    >>> run_of({"q1": {"fig": 1.0, "pear": 2.0}}).ids
    [['pear', 'fig']]
    """
    if isinstance(system, Candidates):
        return system
    if isinstance(system, Mapping):
        return in_run_order(system)
    if isinstance(system, str | os.PathLike):
        return in_run_order(read_answers(Path(system)))
    if (frame := frame_of(system, "run")) is not None:
        return in_run_order(_frame_answers(frame))
    raise InputError(
        "A system must be a Retriever, Candidates, a dict {query id: {item id: score}}, a data frame with the columns "
        f"query, item and score, or the path of a TREC run. Got {type(system).__name__}."
    )


def _frame_answers(frame: Frame) -> dict[str, dict[str, float]]:
    """Return the answers that a data frame holds: by score, or by rank where it has no score."""
    at = {kind: _column(frame, names) for kind, names in _FRAME_COLUMNS.items()}
    value = at["rank"] if at["score"] is None else at["score"]
    if at["query"] is None or at["item"] is None or value is None:
        raise InputError(
            f"A run must have the columns query, item and score (or rank). Got {frame.names}: rename them."
        )
    sign = -1.0 if at["score"] is None else 1.0
    answers: dict[str, dict[str, float]] = {}
    columns = (frame.columns[at["query"]], frame.columns[at["item"]], frame.columns[value])
    for number, (query, item, score) in enumerate(zip(*columns, strict=True), 1):
        if query is None or item is None or isinstance(score, str) or score is None or not np.isfinite(score):
            raise InputError(
                f"A run must have a query, an item and a number in every row. Got another in row {number}."
            )
        row = answers.setdefault(str(query), {})
        if str(item) in row:
            raise InputError(f"A run must name an item once per query. Got {str(item)!r:.60} again in row {number}.")
        row[str(item)] = sign * float(score)
    return answers


def _column(frame: Frame, names: set[str]) -> int | None:
    return next((at for at, name in enumerate(frame.names) if name.lower() in names), None)


def check_answers(run: Candidates, queries: JudgedQueries, split: str) -> None:
    """Raise unless the run answers at least one judged query: else its query ids belong to other data."""
    if not set(queries.qrels).intersection(run.query_ids):
        given = f"to {run.query_ids[0]!r} and the like" if len(run) else "to no query"
        raise InputError(
            f"A run must answer judged queries of split {split!r}, such as {queries.ids[0]!r}. Got answers {given}: "
            "name its queries by the dataset's ids (`Candidates.with_query_ids`)."
        )


def answers_of(system: System, queries: JudgedQueries, depth: int, *, threads: int = 1) -> list[list[str]]:
    """Return what a system finds at a depth, one list of item ids for each judged query."""
    if isinstance(system, Retriever):
        return system(queries.texts, depth, threads=threads).ids
    return rows_of(run_of(system), queries, depth)


def rows_of(run: Candidates, queries: JudgedQueries, depth: int) -> list[list[str]]:
    """Return a run's best item ids for each judged query; none for a query that it does not answer."""
    found = dict(zip(run.query_ids, run.ids, strict=True))
    return [found.get(query, [])[:depth] for query in queries.ids]


def system_name(system: System) -> str:
    """Return a system's name when none is given.

    Examples
    --------
    >>> system_name("runs/bm25.run.gz"), system_name({"q": {"fig": 1.0}})
    ('bm25', 'run')
    """
    if isinstance(system, str | Path):
        return re.sub(r"(\.(run|trec|txt))?(\.gz)?$", "", Path(system).name) or "run"
    return str(getattr(system, "kind", type(system).__name__)) if isinstance(system, Retriever) else "run"


def run_notes(run: Candidates, queries: JudgedQueries, *, depth: int = 10) -> tuple[str, ...]:
    """Return what a run and the judgments do not know of each other, a sentence each; nothing where all is in order.

    Parameters
    ----------
    run : Candidates
        The answers.
    queries : JudgedQueries
        The judged queries, and the catalog where the dataset has one.
    depth : int
        How many of the best items per query are looked up among the judged ones.
    """
    notes = []
    answered = set(run.query_ids)
    if missing := [query for query in queries.ids if query not in answered]:
        notes.append(
            f"{len(missing):,} of {len(queries.ids):,} judged queries are not answered and count as 0, "
            f"for example {missing[0]!r:.60}."
        )
    if queries.items is not None:
        found = dict.fromkeys(item for row in run.ids for item in row)
        unknown = [item for item in found if item not in queries.items]
        if unknown:
            notes.append(
                f"{len(unknown):,} of {len(found):,} items found are not in the catalog, "
                f"for example {unknown[0]!r:.60}."
            )
    best = [(query, item) for query, row in zip(run.query_ids, run.ids, strict=True) for item in row[:depth]]
    if best and not any(item in queries.qrels.get(query, ()) for query, item in best):
        notes.append(f"None of the {depth} best items of any query is judged: compare the ids with the judgments'.")
    return tuple(notes)


@validate_args
def fuse_runs(
    runs: Iterable[Run],
    *,
    weights: Sequence[float] | None = None,
    rank_constant: float = RANK_CONSTANT,
    k: int | None = None,
) -> Candidates:
    """Return the reciprocal rank fusion of runs: a run adds weight / (rank_constant + rank) to each item it found.

    Parameters
    ----------
    runs : iterable
        Two runs or more, in any of the forms that `evaluate` takes.
    weights : sequence of float, optional
        One per run; 1 each unless given.
    rank_constant : float
        Larger values give lower ranks more say (Cormack et al. 2009 use 60).
    k : int, optional
        How many items to keep per query; all unless given.

    Examples
    --------
    >>> one, two = {"q": {"fig": 3.0, "pear": 2.0}}, {"q": {"pear": 9.0, "plum": 1.0}}
    >>> fuse_runs([one, two]).ids
    [['pear', 'fig', 'plum']]
    """
    given = _several(runs)
    shares = [1.0] * len(given) if weights is None else [float(weight) for weight in weights]
    if len(shares) != len(given) or any(not np.isfinite(share) or share < 0 for share in shares):
        raise InputError(f"`weights` must be {len(given)} numbers, 0 or more. Got {shares}.")
    if not rank_constant >= 0:
        raise InputError(f"`rank_constant` must be 0 or more. Got {rank_constant!r}.")
    fused: dict[str, dict[str, float]] = {}
    for run, share in zip(given, shares, strict=True):
        for query, row in zip(run.query_ids, run.ids, strict=True):
            sums = fused.setdefault(query, {})
            for rank, item in enumerate(row, 1):
                sums[item] = sums.get(item, 0.0) + share / (rank_constant + rank)
    made = in_run_order(fused)
    return made if k is None else made.top(check_positive("k", k))


@validate_args
def pool(
    runs: Iterable[Run],
    depth: int = 100,
    *,
    judged: JudgedSplits | Mapping[str, Mapping[str, int]] | str | Path | None = None,
    split: str = "test",
) -> dict[str, list[str]]:
    """Return what judges should look at: the union of the best items of several runs, per query.

    Items are ordered by their best rank in any run, equal ranks by id, so that a judge who stops early has seen the
    most likely ones.

    Parameters
    ----------
    runs : iterable
        Runs in any of the forms that `evaluate` takes.
    depth : int
        How many items of each run go into the pool.
    judged : Dataset, mapping or path, optional
        Judgments that are there already; their pairs are left out.
    split : str
        Which judgments, of a dataset.

    Examples
    --------
    >>> pool([{"q": {"fig": 2.0, "pear": 1.0}}, {"q": {"plum": 5.0}}], 1, judged={"q": {"fig": 1}})
    {'q': ['plum']}
    """
    from vizsla.evaluation.judgments import judged_splits

    check_positive("depth", depth)
    known: Mapping[str, Mapping[str, int]] = {}
    if judged is not None:
        known = judged_splits(judged, split).qrels_dict(split)
    best: dict[str, dict[str, int]] = {}
    for run in _several(runs, least=1):
        for query, row in zip(run.query_ids, run.ids, strict=True):
            ranks = best.setdefault(query, {})
            for rank, item in enumerate(row[:depth]):
                if item not in known.get(query, ()):
                    ranks[item] = min(rank, ranks.get(item, rank))
    return {query: sorted(ranks, key=lambda item: (ranks[item], item)) for query, ranks in best.items()}


def _several(runs: Any, *, least: int = 2) -> list[Candidates]:
    if isinstance(runs, str | Path | Mapping | Candidates) or not is_iterable(runs):
        raise InputError(f"`runs` must be a list of runs. Got {type(runs).__name__}.")
    given = [run_of(run) for run in runs]
    if len(given) < least:
        raise InputError(f"`runs` must be {least} runs or more. Got {len(given)}.")
    return given
