"""Fusion that learns: which parts to add, on which scale and with which weights, chosen on held-out clicks."""

from vizsla.methods.fuse.learn import fuse, learn_fusion
from vizsla.methods.fuse.learned import LearnedFusion

__all__ = ["LearnedFusion", "fuse", "learn_fusion"]
