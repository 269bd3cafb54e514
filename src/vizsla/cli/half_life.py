"""`--half-life`: days after which a click weighs half as much, given or chosen on the latest clicks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from vizsla.errors import InputError

if TYPE_CHECKING:
    from vizsla.clicks.recency import Build


def add_half_life(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument("--half-life", metavar="DAYS", help="clicks weigh half after so many days; 'auto' chooses")


def chosen_half_life(arguments: argparse.Namespace, clicks: Any, build: Build) -> float | None:
    """Return the days; for "auto", try some, and say how that went."""
    given = arguments.half_life
    if given is None:
        return None
    if given == "auto":
        return _chosen(clicks, build)
    try:
        return float(given)
    except ValueError:
        raise InputError(f"`--half-life` must be days, or auto. Got {given!r}.") from None


def _chosen(clicks: Any, build: Build) -> float | None:
    from vizsla.clicks.recency import choose_half_life

    choice = choose_half_life(clicks, build)
    for trial in choice.trials:
        said = "none" if trial["half_life"] is None else f"{trial['half_life']:g} days"
        print(f"half-life {said}: {choice.measure} {trial['all']:.4f} on the latest clicks")
    days: float | None = choice.chosen["half_life"]
    return days
