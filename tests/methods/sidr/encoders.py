"""A SidrEncoder of random weights, made without training."""

from __future__ import annotations

from functools import cache

import numpy as np

from tests.methods.sidr.tiny import model_folder, tiny_base
from vizsla.encoders.sidr import SidrEncoder


@cache
def tiny_encoder() -> SidrEncoder:
    """Return a random BERT's head over the tokens that the items hold, beside the idf."""
    from vizsla.export.onnx import vocabulary_onnx
    from vizsla.learning.torch_vocabulary import VocabularyModel

    base = tiny_base()
    held = np.unique(base.index.item_rows().columns).astype(np.int64)
    model = vocabulary_onnx(VocabularyModel(model_folder()), held)
    return SidrEncoder(base.encoder, model, held, item_scale=0.5, max_tokens=12)
