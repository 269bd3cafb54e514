"""Search under a budget of expensive calls: ANNCUR, ADACUR, residual CUR and regression on item vectors."""

from vizsla.methods.cur.adacur import Adacur, adacur, anncur
from vizsla.methods.cur.anchor_scores import AnchorScores
from vizsla.methods.cur.residual import ResidualCur, residual_cur
from vizsla.methods.cur.score_anchors import anchor_cost, score_anchors

__all__ = ["Adacur", "AnchorScores", "ResidualCur", "adacur", "anchor_cost", "anncur", "residual_cur", "score_anchors"]
