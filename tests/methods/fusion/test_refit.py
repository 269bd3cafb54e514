"""A refitted part is what building on those clicks gives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.methods.fusion.test_fuse import fruit_log, letters
from vizsla import load
from vizsla.compose.updates import misses_clicks, takes_clicks
from vizsla.errors import InputError
from vizsla.learning.splits import draw_holdout
from vizsla.methods.bm25 import bm25
from vizsla.methods.cold_items import cold_item_boost
from vizsla.methods.cur import AnchorScores, adacur
from vizsla.methods.dense import dense
from vizsla.methods.fusion import fuse, learn_fusion
from vizsla.methods.jpq.train_jpq import jpq
from vizsla.methods.pefa import pefa_max, pefa_xl, pefa_xs
from vizsla.methods.pefa.options import XsSettings
from vizsla.methods.pefa.xs import PefaXs
from vizsla.methods.tokens.model import tokens
from vizsla.methods.tokens.train_tokens import train_tokens
from vizsla.methods.xrlinear.build import xrlinear

LOG = fruit_log()
TRAIN = draw_holdout(LOG).train
ASKED = LOG.query_texts()[1]
XL = {"weight": 0.5, "neighbors": 4, "votes": "mean", "near": 0.0, "scale": 1.0, "threshold": 0.0}


def same(one, other) -> bool:
    found = [side(ASKED, 20) for side in (one, other)]
    return np.array_equal(found[0].items, found[1].items) and np.array_equal(found[0].scores, found[1].scores)


@pytest.mark.parametrize(
    "build",
    [
        lambda log: pefa_xs(dense(LOG, letters), log, weight=0.5, calibrated=False),
        lambda log: pefa_xs(bm25(LOG), log, weight=0.5, calibrated=False),
        lambda log: pefa_xl(dense(LOG, letters), log, **XL),
        lambda log: pefa_xl(xrlinear(log, kind_shares=(1, 1, 1)), log, encoder=letters, **XL),
        lambda log: xrlinear(log, C=0.5, kind_shares=(1.0, 0.5, 0.0), click_weights="none", beam=3),
        lambda log: bm25(LOG).normalized() + xrlinear(log, kind_shares=(1, 1, 1)).normalized(),
    ],
    ids=["xs", "xs over words", "xl", "xl over a tree", "tree", "sum"],
)
def test_a_refitted_part_is_built_as_if_it_had_not_seen_the_others(build):
    assert not same(build(LOG), build(TRAIN))
    assert same(build(LOG).refit_on(TRAIN), build(TRAIN))


def test_settings_that_were_chosen_stay():
    adapted = pefa_max(dense(LOG, letters), LOG, weight=0.5, margin=1.0)
    assert adapted.refit_on(TRAIN).settings == adapted.settings
    assert len(adapted.refit_on(TRAIN).log) < len(adapted.log)


def test_what_has_learned_from_no_clicks_stays_itself():
    words = bm25(LOG)
    assert words.refit_on(TRAIN) is words
    assert (whole := words.normalized() + dense(LOG, letters).normalized()).refit_on(TRAIN) is whole


def test_a_loaded_model_knows_how_it_was_trained(tmp_path):
    model = xrlinear(LOG, max_leaf=7, threshold=0.05, encoder=None)
    model.save(tmp_path / "tree")
    again = load(tmp_path / "tree")
    assert again.recipe == model.recipe
    assert same(again.refit_on(TRAIN), xrlinear(TRAIN, max_leaf=7, threshold=0.05, **chosen(model)))
    assert same(again.refit_on(LOG), model)


def chosen(model) -> dict:
    return {"kind_shares": model.encoder.shares, "click_weights": model.training_queries.click_weights}


def test_a_model_of_an_encoder_of_ones_own_keeps_it():
    model = xrlinear(LOG, encoder=letters)
    assert same(model.refit_on(TRAIN), xrlinear(TRAIN, encoder=letters))


def test_a_model_whose_options_are_no_plain_values_is_refused():
    model = xrlinear(LOG, tree=xrlinear(LOG).tree)
    with pytest.raises(InputError, match="Give a function"):
        model.refit_on(TRAIN)


def learned_tokens(log):
    return tokens(log, epochs=1)


def codes(log):
    return jpq(dense(log, letters), log, bytes=2, bits=4, click_loss_weight=0.5, epochs=1, stop=1)


@pytest.mark.parametrize("build", [learned_tokens, codes])
def test_learned_tokens_and_codes_are_learned_again_without_a_function(build, tmp_path):
    model = build(LOG)
    assert not same(model, build(TRAIN))
    assert same(model.refit_on(TRAIN), build(TRAIN))
    model.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved")
    if build is codes:
        loaded = loaded.with_encoder(letters)
    assert same(loaded.refit_on(TRAIN), build(TRAIN))
    pair = {"words": bm25(LOG), "learned": model}
    functions = {"words": bm25(LOG), "learned": build}
    assert learn_fusion(pair, LOG).choice == learn_fusion(functions, LOG).choice


def test_pefa_over_a_base_that_learned_is_built_again_with_it():
    def build(log):
        return pefa_xs(codes(log), log, weight=0.5, calibrated=False)

    model = build(LOG)
    assert same(model.refit_on(TRAIN), build(TRAIN))
    assert not same(model, build(TRAIN))
    learn_fusion([bm25(LOG), model], LOG)  # which asks for no function


def test_what_learned_and_takes_no_clicks_is_known():
    assert misses_clicks(xrlinear(LOG, kind_shares=(1, 1, 1)))
    assert not misses_clicks(bm25(LOG))
    assert not takes_clicks(cold_item_boost(LOG))


def test_what_cannot_forget_clicks_says_so():
    learned = train_tokens(tokens(LOG, epochs=0), LOG, epochs=1)
    with pytest.raises(InputError, match="cannot forget clicks. Give a function"):
        fuse([bm25(LOG), learned.with_table(learned.encoder)], LOG)


def test_a_base_or_a_prior_that_cannot_forget_is_refused_inside_of_others():
    coded = jpq(dense(LOG, letters), LOG, bytes=2, bits=4, click_loss_weight=0.5, epochs=1, stop=1)
    coded._recipe = None  # as one that nothing tells how it was made
    with pytest.raises(InputError, match="cannot be trained again"):
        pefa_xl(coded, LOG, encoder=letters, **XL).refit_on(TRAIN)
    adapted = pefa_xs(dense(LOG, letters), LOG, weight=0.5, calibrated=False)
    with pytest.raises(InputError, match="cannot be trained again"):
        PefaXs(coded, adapted.log, XsSettings(1.0), coded.index).refit_on(TRAIN)
    tree, words = xrlinear(LOG, kind_shares=(1, 1, 1)), bm25(LOG)
    anchors = AnchorScores.of(LOG.item_ids, ASKED[:8], np.random.default_rng(0).random((8, len(LOG.items))))
    with pytest.raises(InputError, match="learned from no clicks"):
        adacur(words, anchors, budget=10, first=tree).refit_on(TRAIN)
    search = adacur(words, anchors, budget=10, first=words)
    assert search.refit_on(TRAIN) is search
