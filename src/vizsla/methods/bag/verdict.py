"""Says what came of choosing how long a table learns, where that is not what its user hopes for."""

from __future__ import annotations

import warnings

from vizsla.checked import caller_level
from vizsla.clicks.choice import Choice
from vizsla.clicks.choice_warning import ChoiceWarning
from vizsla.clicks.judge import FEWEST


def warn_of(choice: Choice) -> None:
    """Warn where learning does not help queries whose items nobody clicked, or where nobody can tell."""
    if (said := said_of(choice)) is not None:
        warnings.warn(said, ChoiceWarning, stacklevel=caller_level())


def said_of(choice: Choice) -> str | None:
    """Return what is to be said of a choice of epochs; None where cold queries surely had their say and gained.

    Examples
    --------
    >>> before, after = {"epochs": 0, "warm": 0.3, "cold": 0.38}, {"epochs": 1, "warm": 0.5, "cold": 0.32}
    >>> said_of(Choice("MRR@10", 40, 0, [before, after], 0))[:80]
    'Nothing was learned: MRR@10 went from 0.380 to 0.320 on 40 queries whose items n'
    """
    if not choice.cold + choice.warm:
        epochs = choice.chosen["epochs"]
        return f"The clicks are too few to choose `epochs` by, so {epochs} were taken: give it, or more clicks."
    begun, chosen = choice.trials[0], choice.chosen
    if not chosen["epochs"]:
        return _nothing(choice)
    if choice.cold < FEWEST:
        few = f"Only {choice.cold} held-out queries have items that nobody else clicked"
        return f"{few}: whether learning helps such items is not known. {FEWEST} would tell."
    if chosen["cold"] > begun["cold"]:
        return None
    lost = f"{choice.measure} went from {begun['cold']:.3f} to {chosen['cold']:.3f} on {choice.cold} held-out queries"
    return f"Learning did not help items without clicks: {lost}. More clicks, or `epochs=1`, may."


def _nothing(choice: Choice) -> str:
    begun, first = choice.trials[0], choice.trials[1]
    counts = {"cold": (choice.cold, "whose items nobody else clicked"), "warm": (choice.warm, "of other items")}
    went = " and ".join(
        f"from {begun[kind]:.3f} to {first[kind]:.3f} on {count} queries {what}"
        for kind, (count, what) in counts.items()
        if count
    )
    return f"Nothing was learned: {choice.measure} went {went}, all held out. Give `epochs` to learn all the same."
