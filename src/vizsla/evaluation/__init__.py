"""How good are the answers, what do they cost, and is the difference more than chance?"""

from vizsla.evaluation.compare import Comparison, Difference, PairedTest, compare
from vizsla.evaluation.cost import Cost
from vizsla.evaluation.evaluate import Evaluation, evaluate
from vizsla.evaluation.judgments import Judgments
from vizsla.evaluation.overlap import Overlap, OverlapMatrix, answer_accuracy, overlap, top_k_recall
from vizsla.evaluation.propensity import PropensityPrecision
from vizsla.evaluation.runs import fuse_runs, pool
from vizsla.evaluation.significance import Interval
from vizsla.evaluation.sweep import Sweep, sweep

__all__ = [
    "Comparison",
    "Cost",
    "Difference",
    "Evaluation",
    "Interval",
    "Judgments",
    "Overlap",
    "OverlapMatrix",
    "PairedTest",
    "PropensityPrecision",
    "Sweep",
    "answer_accuracy",
    "compare",
    "evaluate",
    "fuse_runs",
    "overlap",
    "pool",
    "sweep",
    "top_k_recall",
]
