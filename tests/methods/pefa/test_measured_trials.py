"""What a trial of PEFA is worth is what the retriever that it stands for finds, query by query."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.pefa.small import ENCODER, ITEMS, make_base, make_clicks
from vizsla.core.strings import Strings
from vizsla.learning.clicks import WEIGHT_UNITS, ClickLog
from vizsla.learning.splits import log_splits
from vizsla.methods.pefa import pefa_max, pefa_xl, pefa_xs
from vizsla.methods.pefa import selection as chosen
from vizsla.methods.pefa.options import XlSettings

NAMES = list(ITEMS)


def log_of():
    return ClickLog.of(make_clicks(90, seed=5), Strings.of(NAMES), ENCODER.queries)


def splits_of(log):
    return list(log_splits(log, cold=0.5, seed=1))


def triples(log):
    rows = zip(log.take_queries(log.rows), log.items.tolist(), (log.units / WEIGHT_UNITS).tolist(), strict=True)
    return [(text, NAMES[item], weight) for text, item, weight in rows]


def reciprocal(retriever, log, split):
    """Return 1 / rank of the best clicked item among all items, 0 beyond the tenth; ties count against it."""
    found = []
    scores = retriever(log.take_queries(split.held), k=len(ITEMS)).to_csr(items=len(ITEMS)).toarray()
    for row, number in zip(scores, split.held.tolist(), strict=True):
        wanted = log.items[log.offsets[number] : log.offsets[number + 1]]
        others = np.delete(row, wanted)
        rank = 1 + int((others >= row[wanted].max()).sum())
        found.append(1 / rank if rank <= 10 else 0.0)
    return found


XS_TRIALS = [
    *chosen.trials_xs((1.0, 0.9, 0.5, 0.1), (False, True)),
    *chosen.trials_max((0.9, 0.4), (0.5, 1.5), 0.3),
    *chosen.trials_max((0.4,), (1.0,), 0.0),
]


@pytest.mark.parametrize("batch", [1 << 24, 40])
def test_trials_of_one_vector_an_item_are_worth_what_their_retrievers_find(batch, monkeypatch):
    monkeypatch.setattr(chosen, "MAX_SCORES_PER_BATCH", batch)
    log, base = log_of(), make_base()
    seen = set()
    for split in splits_of(log):
        vectors, clicks = ENCODER.items(list(ITEMS.values())), triples(split.train)
        parts = chosen._parts(vectors, log, split, None, None)
        for trial in XS_TRIALS:
            settings = chosen.settings_of(trial, parts.calibration)
            if settings.margin is None:
                options = {"weight": trial["weight"], "calibrated": trial["variant"] == "calibrated"}
                built = pefa_xs(base, clicks, **options)
            else:
                options = {"margin": settings.margin / parts.calibration.spread, "item_weight": trial["item_weight"]}
                built = pefa_max(base, clicks, weight=trial["weight"], **options)
            wanted = reciprocal(built, log, split)
            assert parts.measured(trial).tolist() == pytest.approx(wanted), trial
            seen.update(wanted)
    assert len(seen) > 4, "the trials differ"


XL_TRIALS = [
    XlSettings(weight=weight, neighbors=neighbors, votes=votes, near=near, threshold=threshold, scale=0.5)
    for weight, neighbors, votes, near, threshold in [
        (1.0, 8, "mean", 0.0, 0.0), (0.5, 8, "mean", 0.0, 0.0), (0.5, 3, "max", 0.0, 0.0), (0.3, 8, "max", 0.3, 0.06),
        (0.3, 2, "mean", 0.3, 0.0), (0.1, 8, "mean", 0.0, 0.25),
    ]
]  # fmt: skip


def test_trials_of_votes_are_worth_what_their_retrievers_find():
    log, base = log_of(), make_base()
    seen = set()
    for split in splits_of(log):
        clicks = triples(split.train)
        for trial, found in zip(XL_TRIALS, chosen._tried(base, log, split, XL_TRIALS), strict=True):
            built = pefa_xl(base, clicks, **{name: value for name, value in vars(trial).items() if name in OPTIONS})
            wanted = reciprocal(built, log, split)
            assert found.tolist() == pytest.approx(wanted), trial
            seen.update(wanted)
    assert len(seen) > 4, "the trials differ"


OPTIONS = {"weight", "neighbors", "votes", "near", "threshold", "scale"}


def test_trials_are_all_combinations_and_the_base_is_one_without_a_margin():
    tried = chosen.trials_xs((1.0, 0.5), (False, True))
    assert [(one["variant"], one["weight"]) for one in tried] == [
        ("plain", 1.0), ("plain", 0.5), ("calibrated", 1.0), ("calibrated", 0.5),
    ]  # fmt: skip
    assert chosen.trials_unit((1.0, 0.5), (0.9, 1.1)) == [
        {"variant": "unit", "length": length, "weight": 0.5} for length in (0.9, 1.1)
    ]
    assert len(chosen.trials_max((1.0, 0.5), (0.5, 1.0, 2.0), 0.3)) == 6
    assert chosen.base_trial([*chosen.trials_max((1.0,), (0.5,), 0.3), *tried]) == 1
    assert chosen.base_trial(chosen.trials_xs((0.5,), (True,))) is None
