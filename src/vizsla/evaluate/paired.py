"""All paired tests between systems, and the letters that report them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from vizsla.evaluate.evaluation import Evaluation
from vizsla.evaluate.holm import holm
from vizsla.evaluate.significance import Values, p_values

LETTERS = dict(zip("abcdefghijklmnoprstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ", strict=True))
"""Systems' letters and their superscripts. Unicode has no superscript q that fonts know, so no system is called q."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """One comparison of two systems by one measure.

    Parameters
    ----------
    measure, a, b : str
        What was compared.
    difference : float
        Mean over the queries of a's value minus b's.
    p : float
        Two-sided p-value of this comparison alone.
    p_holm : float
        The same, corrected for all comparisons that were made with it.
    """

    measure: str
    a: str
    b: str
    difference: float
    p: float
    p_holm: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dict."""
        return asdict(self)


def paired_tests(
    evaluations: Mapping[str, Evaluation],
    *,
    baseline: str | None = None,
    test: str = "randomisation",
    samples: int = 10_000,
    seed: int = 0,
) -> list[PairedTest]:
    """Test all pairs of systems, or each against the baseline, by every measure; correct for all of them at once."""
    pairs = _pairs(list(evaluations), baseline)
    if not pairs:
        return []
    compared = [(measure, a, b) for measure in evaluations[pairs[0][0]].measures for a, b in pairs]
    columns = [evaluations[a].per_query[m] - evaluations[b].per_query[m] for m, a, b in compared]
    p = p_values(np.column_stack(columns), test=test, samples=samples, seed=seed)
    return [
        PairedTest(*names, _mean(column), raw, corrected)
        for names, column, raw, corrected in zip(compared, columns, p.tolist(), holm(p).tolist(), strict=True)
    ]


def letters_of(names: Sequence[str]) -> dict[str, str]:
    """Give each system a letter; none when there are more systems than letters.

    Examples
    --------
    >>> letters_of(["bm25", "xrlinear"])
    {'bm25': 'a', 'xrlinear': 'b'}
    """
    return dict(zip(names, LETTERS, strict=False)) if len(names) <= len(LETTERS) else dict.fromkeys(names, "")


def better_than(tests: Sequence[PairedTest], measure: str, name: str, *, alpha: float = 0.05) -> list[str]:
    """Return the systems that `name` is significantly better than."""
    mine = [test for test in tests if test.measure == measure and name in (test.a, test.b) and test.p_holm < alpha]
    return [test.b if name == test.a else test.a for test in mine if (test.difference > 0) == (name == test.a)]


def _pairs(names: list[str], baseline: str | None) -> list[tuple[str, str]]:
    if baseline is None:
        return list(combinations(names, 2))
    return [(name, baseline) for name in names if name != baseline]


def _mean(differences: Values) -> float:
    kept = differences[~np.isnan(differences)]
    return float(kept.mean()) if len(kept) else 0.0
