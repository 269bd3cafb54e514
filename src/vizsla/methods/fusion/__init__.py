"""Fusion that learns: which parts to add, on which scale and with which weights, chosen on held-out clicks."""

from vizsla.methods.fusion.fit import fuse, learn_fusion
from vizsla.methods.fusion.result import FusionReport, LearnedFusion

__all__ = ["FusionReport", "LearnedFusion", "fuse", "learn_fusion"]
