"""PEFA-XS over TF-IDF, against its formula written out in numpy, and what may change later."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES
from vizsla.errors import InputError
from vizsla.learning.clicks import ClickLog
from vizsla.methods.pefa import pefa, pefa_max, pefa_xs
from vizsla.methods.pefa.blending import grown_log
from vizsla.methods.pefa.options import XsSettings
from vizsla.methods.pefa.xs import PefaXs
from vizsla.methods.tfidf import tfidf

LOG = [(CLICKED[query], item, weight) for query, item, weight in CLICKS]
SETTINGS = [XsSettings(0.4), XsSettings(0.4, scale=2.0), XsSettings(0.5, length=0.7), XsSettings(0.0, length=1.0)]
SMALL = {"onion": "a bulb with layers", "fig": "a sweet fruit", "pear": "a green fruit"}
FOREIGN = [("zwiebel", "onion"), ("rote zwiebel", "onion", 2), ("sweet fruit", "fig")]


def twin(base, settings: XsSettings) -> np.ndarray:
    """Return queries × items: ⟨q, λp + (1 - λ)·scale·c⟩, the row of an item with clicks brought to its length."""
    encoder = base.grown_encoder(sorted({query for query, _, _ in LOG}))
    dense = lambda texts: encoder.queries(texts).toarray().astype(np.float64)  # noqa: E731
    rows = np.zeros((len(ITEMS), encoder.dim))
    rows[:, : base.encoder.dim] = base.item_rows().toarray()
    names = list(ITEMS)
    sums = np.zeros_like(rows)
    for query, item, weight in LOG:
        sums[names.index(item)] += weight * dense([query])[0]
    for number in np.flatnonzero(sums.any(axis=1)):
        center = sums[number] / np.linalg.norm(sums[number])
        rows[number] = settings.weight * rows[number] + (1 - settings.weight) * settings.scale * center
        if settings.length is not None:
            rows[number] *= settings.length / np.linalg.norm(rows[number])
    return dense(QUERIES) @ rows.T


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_scores_are_the_formula(settings):
    base = tfidf(ITEMS)
    built = PefaXs.build(base, grown_log(base, LOG), settings)
    expected = twin(base, settings)
    found = built(QUERIES, k=len(ITEMS))
    for row, scores in enumerate(expected):
        items, given = found.row(row)
        np.testing.assert_allclose(given, scores[items], atol=1e-5)
        assert set(items.tolist()) == set(np.flatnonzero(scores > 1e-9).tolist())


@pytest.mark.parametrize("entries", [None, 12])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_explanations_name_past_queries_and_add_up(settings, entries):
    base = tfidf(ITEMS, entries=entries)
    built = PefaXs.build(base, grown_log(base, LOG), settings)
    query, item, _ = LOG[0]
    for text in (query, "zwiebel", *QUERIES[:3]):
        why = built.explain(text, item)
        assert sum(part.score for part in why.parts) == pytest.approx(why.score, abs=1e-5)
        assert why.score == pytest.approx(built._score_one(vizsla.base.Queries.of(text), base.items.number(item)))
    assert any(repr(query) in part.reason for part in built.explain(query, item).parts[1].parts)


def test_a_word_that_no_item_has_finds_what_was_clicked_for_it():
    base = tfidf(SMALL)
    assert base("zwiebel").ids == [[]]
    found = pefa_xs(base, FOREIGN, weight=0.5, calibrated=False)
    assert found("zwiebel", k=1).ids == [["onion"]] and found("zwiebeln", k=1).ids == [["onion"]]
    assert found.encoder.dim > base.encoder.dim and base("zwiebel").ids == [[]]


def test_later_clicks_are_those_of_a_fresh_build_and_leave_no_trace(tmp_path):
    base = tfidf(SMALL)
    few = pefa_xs(base, FOREIGN[2:], weight=0.5, calibrated=False)
    more, at_once = few.with_clicks(FOREIGN[:2]), pefa_xs(base, FOREIGN, weight=0.5, calibrated=False)
    asked = ["zwiebel", "fruit", "rote fruit", "unknown"]
    assert more(asked, k=9) == at_once(asked, k=9) and more.encoder.fingerprint == at_once.encoder.fingerprint
    back = more.without_clicks(FOREIGN[:2])
    assert back(asked, k=9) == few(asked, k=9) and back.encoder is base.encoder
    more.save(tmp_path / "xs")
    loaded = vizsla.load(tmp_path / "xs")
    assert loaded(asked, k=9) == more(asked, k=9) and loaded.settings == more.settings


def test_weight_1_is_the_base():
    base = tfidf(ITEMS)
    found = pefa_xs(base, LOG, weight=1)
    assert found.index is base.index and found(QUERIES) == base(QUERIES)


@pytest.mark.parametrize("build", [pefa, pefa_xs])
def test_lengths_are_tried_on_held_out_clicks(build):
    chosen = build(tfidf(ITEMS), LOG * 3)
    variants = {trial["variant"] for trial in chosen.choice.trials}
    assert variants == {"plain", "calibrated", "unit"}
    best = chosen.choice.chosen
    assert chosen.settings.weight == best["weight"] and chosen.settings.length == best.get("length")


def test_what_a_trial_scores_is_what_is_built():
    """The reciprocal ranks of a trial are those of a retriever that was built from the same split with its settings."""
    from vizsla.learning.splits import log_splits
    from vizsla.methods.pefa.blending import grown_item_rows
    from vizsla.methods.pefa.selection import choose_xs, settings_of, trials_unit

    base = tfidf(ITEMS)
    log = grown_log(base, LOG)
    trials = trials_unit([0.5, 0.3], [1.0, 0.6])
    choice = choose_xs(grown_item_rows(base, log), log, trials, item_weights=(), cold=0.5, seed=0)
    for trial in choice.trials:
        ranks: list[float] = []
        for split in log_splits(log, cold=0.5, seed=0):
            built = PefaXs.build(base, _wide(split.train, base, log), settings_of(trial, None))
            ranks += [_reciprocal(built, log, int(query)) for query in split.held]
        assert trial["all"] == pytest.approx(np.mean(ranks), abs=1e-6)


def _wide(train: ClickLog, base, log: ClickLog) -> ClickLog:
    """Return the split's clicks, over the base's own columns."""
    pairs = [(train.queries[int(row)], base.items[int(item)], units / 1024)
             for row, item, units in zip(train.rows, train.items, train.units, strict=True)]  # fmt: skip
    return grown_log(base, pairs)


def _reciprocal(built: PefaXs, log: ClickLog, query: int) -> float:
    wanted = set(log.items[log.offsets[query] : log.offsets[query + 1]].tolist())
    found = built(log.queries[query], k=10).items.tolist()
    return max((1 / (place + 1) for place, item in enumerate(found) if item in wanted), default=0.0)


def test_refusals():
    with pytest.raises(InputError, match="dense"):
        pefa_max(tfidf(ITEMS), LOG)
    with pytest.raises(InputError, match="`length`"):
        XsSettings(0.5, length=0.0)
    with pytest.raises(InputError, match="`base` must be a dense retriever, BM25 or TF-IDF"):
        pefa_xs(tfidf(ITEMS) % 3, LOG)
