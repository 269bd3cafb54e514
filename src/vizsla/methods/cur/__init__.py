"""Search under a budget of expensive calls: ANNCUR, ADACUR, residual CUR and regression on item vectors."""

from vizsla.methods.cur.adacur import Adacur, adacur, anncur
from vizsla.methods.cur.anchors import AnchorScores, anchor_cost, score_anchors
from vizsla.methods.cur.residual import ResidualCur, residual_cur

__all__ = ["Adacur", "AnchorScores", "ResidualCur", "adacur", "anchor_cost", "anncur", "residual_cur", "score_anchors"]
