"""Parts of a budgeted search: what may be one, how it is asked, and how it is saved."""

from __future__ import annotations

from vizsla.artifact import Artifact
from vizsla.candidates import Candidates
from vizsla.compose.catalogues import Aligned
from vizsla.compose.composition import Composition
from vizsla.errors import CompositionError, InputError
from vizsla.filter import Filter
from vizsla.queries import Queries
from vizsla.retriever import Retriever
from vizsla.scorer import Scorer, unwrapped
from vizsla.stats import Stats
from vizsla.strings import Strings

Found = tuple[Candidates, Stats]


def scorer_artifact(scorer: Scorer) -> Artifact:
    """Return the scorer that is saved: budgets and caches stay outside of artefacts."""
    inner = unwrapped(scorer)
    if not isinstance(inner, Artifact):
        raise CompositionError(f"`scorer` must be an artefact to be saved. Got {type(inner).__name__}, which is code.")
    return inner


def check_catalogue(what: str, part: Scorer, items: Strings) -> None:
    """Raise unless a part knows every item."""
    if part.items is not items and part.items != items and (part.items.find_all(items) < 0).any():
        raise InputError(f"`{what}` must know every item of the anchors. Got {part!r}, which lacks some.")


def check_cheap(what: str, part: Retriever | None) -> None:
    """Raise if a part calls models itself: those calls would be outside of the budget."""
    if part is not None and calls_models(part):
        raise CompositionError(f"`{what}` must call no models, or the budget would not hold. Got {part}.")


def calls_models(part: Scorer) -> bool:
    """Whether scoring or searching with this part makes model calls."""
    inner = unwrapped(part)
    parts = inner._scorers() if isinstance(inner, Composition) else []
    return inner.model_calls or any(map(calls_models, parts))


def found_by(retriever: Aligned[Retriever], k: int, queries: Queries, filter: Filter | None, threads: int) -> Found:
    """Return what a retriever finds for all queries of the call: searched once, and paid for once."""
    key = (retriever, "found", k, filter)
    known = queries.known(key)
    if known is not None:
        return known, Stats(exact=True)
    found = queries.remember(key, retriever.search(queries, k, filter, threads))
    return found, found.stats.with_exact(True)
