"""The shares of n-gram kinds are chosen by what held-out clicks say, and only when they say it clearly."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from vizsla.data.dataset import Dataset
from vizsla.errors import InputError
from vizsla.learning import splits
from vizsla.methods.xrlinear import tuning
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.methods.xrlinear.instances import training_instances
from vizsla.methods.xrlinear.tuning import TRIED_SHARES, fit_features

EQUAL, WORDS = TRIED_SHARES
SYLLABLES = ["ba", "be", "bi", "bo", "da", "de", "di", "do"]


def made_up_words(items: int = 1500, *, misspelt: bool = False) -> Dataset:
    """Queries of two of an item's three words. Words are alike in letters and mean nothing by them.

    Unless they are misspelt: then no query has a word of another, and only letters tell what it is about.
    """
    pick = np.random.default_rng(0)
    words = ["".join(syllables) for syllables in product(SYLLABLES, repeat=3)]
    catalog, queries, clicks = {}, {}, []
    for number in range(items):
        own = [words[at] for at in pick.choice(len(words), 3, replace=False)]
        catalog[f"i{number}"] = f"item{number}"
        for ask in range(5):
            chosen = [own[at] for at in pick.choice(3, 2, replace=False)]
            chosen = [f"{word}{_letters(number * 5 + ask)}" for word in chosen] if misspelt else chosen
            queries[f"q{number}-{ask}"] = " ".join(chosen)
            clicks.append((f"q{number}-{ask}", f"i{number}"))
    return Dataset.of(catalog, queries=queries, clicks=clicks)


def _letters(number: int) -> str:
    """Return an ending that no other number has."""
    return "".join(chr(ord("k") + number // 16**place % 16) for place in range(3))


@pytest.mark.parametrize(("misspelt", "shares"), [(False, WORDS), (True, EQUAL)])
def test_words_or_letters_as_the_log_has_it(misspelt, shares):
    instances = training_instances(made_up_words(misspelt=misspelt), item_texts=False)
    assert fit_features(instances, seed=1)[0].shares == shares


def test_the_choice_does_not_depend_on_threads_and_is_the_model_s():
    log = made_up_words()
    chosen = fit_features(training_instances(log, item_texts=False), threads=2)[0]
    assert chosen.fingerprint == xrlinear(log, item_texts=False).encoder.fingerprint


def test_few_clicks_decide_nothing(monkeypatch):
    log = made_up_words()
    monkeypatch.setattr(splits, "MIN_SAMPLE_QUERIES", 1501)  # a fifth of 7,500 queries
    assert fit_features(training_instances(log, item_texts=False))[0].shares == EQUAL
    monkeypatch.setattr(splits, "MIN_SAMPLE_QUERIES", 1500)
    assert fit_features(training_instances(log, item_texts=False))[0].shares == WORDS


def test_shares_can_be_given_and_then_nothing_is_tried(monkeypatch):
    monkeypatch.setattr(tuning, "search_held_out", None)
    log = made_up_words(40)
    assert xrlinear(log, kind_shares=[0.5, 0, 1]).encoder.shares == (0.5, 0.0, 1.0)
    with pytest.raises(InputError, match="Only one of `encoder` and `kind_shares`"):
        xrlinear(log, kind_shares=[1, 1, 1], encoder=tuning.default_encoder(["a"]))
