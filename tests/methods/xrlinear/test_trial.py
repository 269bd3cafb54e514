"""A trial learns from what is not held out, and searches for what is."""

from __future__ import annotations

import numpy as np

from tests.methods.xrlinear.test_feature_choice import made_up_words
from vizsla.core.candidates import Candidates
from vizsla.learning import splits as sampling
from vizsla.learning.splits import draw_sample
from vizsla.methods.xrlinear import tuning
from vizsla.methods.xrlinear.instances import training_instances
from vizsla.methods.xrlinear.tuning import default_encoder


class First:
    """Finds the first items for everybody."""

    def search(self, features, k):
        rows = features.shape[0]
        return Candidates(np.arange(rows + 1) * k, np.tile(np.arange(k), rows), np.tile(-np.arange(k), rows))


def test_no_held_out_query_is_learned_from(monkeypatch):
    monkeypatch.setattr(sampling, "MAX_SAMPLE_ROWS", 500)
    instances = training_instances(made_up_words(), item_texts=False)
    drawn = draw_sample(instances.clicks, instances.queries, seed=0)
    assert len(drawn.held) == 100 and len(drawn.rows) == 500
    features = default_encoder(instances.texts).queries([instances.texts[row] for row in drawn.rows]).to_scipy()
    learned = []
    knowing = lambda features, costs, threads: learned.append((features, costs)) or First()  # noqa: E731
    monkeypatch.setattr(tuning, "_learn", knowing)
    found = tuning.search_held_out(drawn, features, drawn.clicks * 2)
    rest = np.delete(np.arange(500), drawn.held)
    assert len(found) == 100 and found.row(0)[0].tolist() == list(range(tuning.MEASURED_DEPTH))
    assert (learned[0][0] != features[rest]).nnz == 0 and (learned[0][1] != drawn.clicks[rest] * 2).nnz == 0
