"""What is shown of a training: a bar on a terminal, otherwise a line per evaluation."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vizsla.learning.loop import TrainingProgress


class TrainingLine:
    """Follows a training.

    Parameters
    ----------
    show : function
        Changes what a terminal shows, as `working` yields it.
    measure : str
        Name of the measure on held-out queries.
    """

    def __init__(self, show: Callable[..., None], measure: str) -> None:
        self.show, self.measure = show, measure
        self.held_out: list[float] = []
        self._said = ""

    def __call__(self, seen: TrainingProgress) -> None:
        """Show how far the training is."""
        self.held_out = list(seen.held_out)
        held = ", ".join(f"{kind} {value:.4f}" for kind, value in seen.kinds.items())
        held = held or (f"{max(self.held_out):.4f}" if self.held_out else "")
        phase, text = seen.phase or "training", f", held-out {self.measure} {held}" if held else ""
        self.show(description=f"{phase}: loss {seen.loss:.4f}{text}", completed=seen.step, total=seen.steps)
        said = f"{phase} {len(self.held_out)} {held}" if held else ""
        if said and said != self._said and not sys.stderr.isatty():
            print(f"{phase}: step {seen.step}/{seen.steps}, loss {seen.loss:.4f}{text}", file=sys.stderr)
        self._said = said
