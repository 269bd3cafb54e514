"""What JPQ is to reach on test queries, as rows: by size, for items with clicks and without, with significance."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.rows import Row
from vizsla.evaluation.compare import Comparison

SEEN, UNSEEN = SPLITS = ("test-seen", "test-unseen")
MEASURES = ("R@10", "RR@10")
WON_BACK = {(SEEN, 8): 0.7, (SEEN, 16): 0.7, (SEEN, 24): 0.7, (UNSEEN, 8): 0.35}
"""The share of what OPQ lost of R@10 against flat."""
AS_FLAT = 48
"""The size at which seen items are to be found as with whole vectors, and all of them with PEFA as the teacher."""


def goal_rows(label: str, split: str, compared: Comparison, size: int) -> Iterator[Row]:
    """Yield what each JPQ of a size gives on a split, against OPQ and flat."""
    for name in (name for name in compared.names if name.startswith("jpq")):
        pefa = "pefa" in name
        for measure in MEASURES:
            ours, opq, flat = (float(compared.evaluations[n].measures[measure]) for n in (name, "opq", "flat"))
            work = f"{label} {split} {measure}, {name}"
            yield _row(work, ours, "opq", opq, not pefa, compared, (name, measure))
            standardize = size == AS_FLAT and (pefa or split == SEEN)
            yield _row(work, ours, "flat", flat, standardize, compared, (name, measure))
            goal = None if pefa or measure != MEASURES[0] else WON_BACK.get((split, size))
            back = (ours - opq) / (flat - opq) if flat > opq else None
            yield Row(f"{work}: won back", back, "goal" if goal else "", goal, "", ">= 1" if goal else "", False)


def _row(
    work: str, ours: float, peer: str, theirs: float, wanted: bool, compared: Comparison, what: tuple[str, str]
) -> Row:
    """Return a figure against a peer's, with the p-value of the difference."""
    name, measure = what
    tests = (test for test in compared.tests if {test.a, test.b} == {name, peer} and test.measure == measure)
    note = f"{ours:.4f} against {theirs:.4f}, p {float(next(tests).p):.2g}"
    return Row(work, ours, peer, theirs, "", ">= 1" if wanted else "", False, note)
