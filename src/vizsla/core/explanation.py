"""Why an item got its score: a tree of shares that add up to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Explanation:
    """A score, its meaning, and the contributions that it consists of.

    Parameters
    ----------
    score : float
        The contribution of this part.
    reason : str
        A short description of this part.
    parts : sequence of Explanation
        Smaller reasons. `reason` says how they combine; usually they add up to `score`.

    Examples
    --------
    >>> why = Explanation(3.0, "bm25", [Explanation(2.0, "word 'fig'"), Explanation(1.0, "word 'tree'")])
    >>> print(why)
    3.0000  bm25
    ├─ 2.0000  word 'fig'
    └─ 1.0000  word 'tree'
    """

    score: float
    reason: str
    parts: Sequence[Explanation] = field(default=())

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def to_dict(self) -> dict[str, Any]:
        """Return the tree as nested dicts."""
        return {"score": self.score, "reason": self.reason, "parts": [part.to_dict() for part in self.parts]}

    def show(self) -> None:
        """Print the tree."""
        print(self)

    def _lines(self) -> list[str]:
        lines = [f"{self.score:.4f}  {self.reason}"]
        for number, part in enumerate(self.parts):
            last = number == len(self.parts) - 1
            first, *rest = part._lines()
            lines.append(("└─ " if last else "├─ ") + first)
            lines += [("   " if last else "│  ") + line for line in rest]
        return lines
