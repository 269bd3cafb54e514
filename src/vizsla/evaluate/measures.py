"""Measures by the names of ir-measures: from text to something that can be computed, with help for a wrong name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from vizsla.errors import InputError, MissingExtraError

DEFAULT_MEASURES = ("nDCG@10", "R@10", "R@100", "RR@10")
UNLIMITED_DEPTH = 1000
"""How deep a run goes for a measure without a cutoff, such as AP; the customary depth of TREC runs."""
DEEPEST = 1_000_000
_USUAL = "nDCG@10, R@100, RR@10, AP, P@5, Success@10"


def ir_measures_module() -> ModuleType:
    """Import ir-measures, or say how to install it."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("Evaluation", "eval") from error
    module: ModuleType = ir_measures
    return module


def parse_measure(measure: Any) -> Any:
    """Return the ir-measures object for a name such as "nDCG@10"; such an object is checked and passed on.

    Examples
    --------
    >>> parse_measure("AP(rel=2)@100")
    AP(rel=2)@100
    >>> parse_measure("ndcg@10")
    Traceback (most recent call last):
    vizsla.errors.InputError: `measures` must be names of ir-measures. Got 'ndcg@10': did you mean nDCG@10?
    """
    library = ir_measures_module()
    if not isinstance(measure, str | library.Measure):
        raise InputError(f"`measures` must be names of ir-measures, such as {_USUAL}. Got {measure!r}.")
    try:
        parsed = library.parse_measure(measure)
    except NameError:
        raise InputError(f"`measures` must be names of ir-measures. Got {measure!r}: {_suggestion(measure)}") from None
    except ValueError:
        raise InputError(f"`measures` must be written like {_USUAL}. Got {measure!r}.") from None
    _check_parameters(parsed, measure)
    return parsed


def parse_measures(measures: str | Iterable[Any]) -> list[Any]:
    """Return the measures, each once, in the given order.

    Examples
    --------
    >>> parse_measures(["R@10", "MRR@10", "RR@10"])
    [R@10, RR@10]
    """
    library = ir_measures_module()
    if not isinstance(measures, str | library.Measure | Iterable) or getattr(measures, "ndim", 1) == 0:
        raise InputError(f"`measures` must name measures, such as {_USUAL}. Got {type(measures).__name__}.")
    single = isinstance(measures, str | library.Measure)
    parsed = list(dict.fromkeys(map(parse_measure, [measures] if single else measures)))
    if not parsed:
        raise InputError(f"`measures` must name at least one measure, such as {_USUAL}. Got none.")
    return parsed


def depth_needed(measures: Iterable[Any]) -> int:
    """Return the depth of the deepest measure: its cutoff, or 1000 without one.

    Examples
    --------
    >>> depth_needed(parse_measures(["R@100", "RR@10"])), depth_needed(parse_measures(["AP"]))
    (100, 1000)
    """
    return max(int(measure.params.get("cutoff", UNLIMITED_DEPTH)) for measure in measures)


def _check_parameters(measure: Any, asked: object) -> None:
    """Refuse what would crash the native code under ir-measures: it takes any cutoff on trust."""
    known = measure.SUPPORTED_PARAMS
    unknown = next((name for name in measure.params if name not in known), None)
    if unknown is not None:
        raise InputError(f"{measure.NAME} must have parameters of {', '.join(known)}. Got {unknown!r} in {asked!r}.")
    missing = next((name for name, info in known.items() if info.required and name not in measure.params), None)
    if missing is not None:
        raise InputError(f"{measure.NAME} must have a {missing}, as in {measure.NAME}@10. Got {asked!r}.")
    wrong = next((name for name, value in measure.params.items() if not known[name].validate(value)), None)
    if wrong is not None:
        raise InputError(f"{measure.NAME} must have another {wrong}. Got {asked!r}: see the documents of ir-measures.")
    cutoff = measure.params.get("cutoff", 1)
    if isinstance(cutoff, bool) or not 1 <= cutoff <= DEEPEST:
        raise InputError(f"A measure's cutoff must be between 1 and {DEEPEST}. Got {asked!r}.")


def _suggestion(text: str) -> str:
    """Propose the nearest known names, with the rest of the text kept."""
    known = {name.lower(): measure.NAME for name, measure in ir_measures_module().measures.registry.items()}
    length = next((at for at, letter in enumerate(text) if letter in "@("), len(text))
    asked = text[:length].lower()
    close = [asked] if asked in known else get_close_matches(asked, known, n=3, cutoff=0.5)
    if not close:
        return f"use one such as {_USUAL}."
    return f"did you mean {' or '.join(dict.fromkeys(known[name] + text[length:] for name in close))}?"
