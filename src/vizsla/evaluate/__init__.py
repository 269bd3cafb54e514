"""How good are the answers, what do they cost, and is the difference more than chance?"""

from vizsla.evaluate.compare import compare
from vizsla.evaluate.comparison import Comparison
from vizsla.evaluate.cost import Cost
from vizsla.evaluate.differences import Difference
from vizsla.evaluate.evaluate import evaluate
from vizsla.evaluate.evaluation import Evaluation
from vizsla.evaluate.overlap import Overlap, overlap
from vizsla.evaluate.overlap_matrix import OverlapMatrix
from vizsla.evaluate.paired import PairedTest
from vizsla.evaluate.sweep import Sweep, sweep

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
