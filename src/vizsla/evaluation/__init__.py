"""How good are the answers, what do they cost, and is the difference more than chance?"""

from vizsla.evaluation.compare import Comparison, Difference, PairedTest, compare
from vizsla.evaluation.cost import Cost
from vizsla.evaluation.evaluate import Evaluation, evaluate
from vizsla.evaluation.overlap import Overlap, OverlapMatrix, overlap
from vizsla.evaluation.sweep import Sweep, sweep

__all__ = [
    "Comparison",
    "Cost",
    "Difference",
    "Evaluation",
    "Overlap",
    "OverlapMatrix",
    "PairedTest",
    "Sweep",
    "compare",
    "evaluate",
    "overlap",
    "sweep",
]
