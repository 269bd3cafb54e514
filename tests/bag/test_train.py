"""The learned table: its loss, its slopes, what it learns, and that it is the same every time."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla import Dataset, bag, load, train_tokens
from vizsla.candidates import Candidates
from vizsla.encoders.token_table import TokenTable
from vizsla.errors import InputError
from vizsla.methods.bag.begin import begun
from vizsla.methods.bag.choose_epochs import chosen_epochs
from vizsla.methods.bag.clicked import Clicked
from vizsla.methods.bag.learner import STRANGERS, LearningSettings, softmax_loss
from vizsla.text.bag import BagOfWords

THINGS = ["car", "boat", "train", "plane", "tram", "bike", "truck", "ferry"]
OTHER = ["auto", "ship", "railway", "jet", "streetcar", "cycle", "lorry", "shuttle"]


def synonyms(seed: int = 0) -> Dataset:
    """Return items that name things one way, and queries that name them another way."""
    rng = np.random.default_rng(seed)
    colours = ["red", "green", "blue", "white", "black", "pink"]
    items = {f"{thing} {colour}": f"a {colour} {thing} for sale" for thing in THINGS for colour in colours}
    queries, clicks = {}, []
    for number in range(240):
        thing, colour = int(rng.integers(len(THINGS))), str(rng.choice(colours))
        queries[f"q{number}"] = f"{colour} {OTHER[thing]} {rng.choice(['please', 'now', 'here'])}"
        clicks.append((f"q{number}", f"{THINGS[thing]} {colour}"))
    return Dataset.of(items, queries=queries, clicks=clicks)


def test_it_learns_what_words_mean():
    data = synonyms()
    base = bag(data, b=0.5)
    learned = train_tokens(base, data, epochs=6, rate=0.3, batch=16)
    texts = [f"red {other}" for other in OTHER]
    wanted = [f"{thing} red" for thing in THINGS]
    assert [row[0] for row in learned(texts, 1).ids] == wanted != [row[0] for row in base(texts, 1).ids]
    assert learned.index.segments is base.index.segments or learned.index.segments[0] is base.index.segments[0]


def test_the_same_seed_gives_the_same_table(tmp_path):
    data = synonyms()
    one, two = (train_tokens(bag(data), data, epochs=2, seed=3, batch=16) for _ in range(2))
    assert one.encoder.fingerprint == two.encoder.fingerprint
    assert one.encoder.fingerprint != train_tokens(bag(data), data, epochs=2, seed=4, batch=16).encoder.fingerprint
    again = load(one.save(tmp_path / "learned"))
    assert again("red auto") == one("red auto")
    assert again.learned


def test_expansions_are_marked():
    data = synonyms()
    learned = train_tokens(bag(data), data, epochs=6, rate=0.3, batch=16)
    why = learned.explain("a red auto", "car red")
    assert "'car' (expansion)" in str(why)
    assert sum(part.score for part in why.parts) == pytest.approx(why.score, rel=1e-4)


def test_later_clicks_need_no_new_index():
    data = synonyms()
    learned = train_tokens(bag(data), data, epochs=6, rate=0.3, batch=16)
    more = learned.with_clicks([("red wheels", "bike red"), ("blue wheels", "bike blue")], epochs=20, rate=0.1)
    assert more.index.segments[0] is learned.index.segments[0]
    assert more("wheels", 1).ids[0][0].startswith("bike")
    assert more("red auto", 1).ids == [["car red"]]


def test_a_learned_table_survives_new_items():
    data = synonyms()
    learned = train_tokens(bag(data), data, epochs=6, rate=0.3, batch=16)
    grown = learned.with_items({"new": "a purple car for sale"})
    assert grown("purple auto", 1).ids == [["new"]]
    assert grown.without_items(["new"])("red auto", 5) == learned("red auto", 5)


def test_epochs_are_chosen_on_held_out_clicks():
    data = synonyms()
    base = bag(data)
    clicked = Clicked.of(data, base.items)
    choice = chosen_epochs(base.with_words(clicked.texts), clicked, LearningSettings(rate=0.3), seed=0)
    assert choice.warm > 0
    assert 1 <= choice.chosen["epochs"] <= len(choice.trials)
    assert choice.chosen["all"] >= choice.trials[0]["all"]


def test_the_slopes_are_those_of_the_loss():
    scores = np.random.default_rng(0).normal(size=(3, 5))
    scores[1, 3] = -np.inf
    loss, slopes = softmax_loss(scores)
    for place in np.ndindex(scores.shape):
        if not np.isfinite(scores[place]):
            assert slopes[place] == 0
            continue
        moved = scores.copy()
        moved[place] += 1e-6
        assert (softmax_loss(moved)[0] - loss) / 1e-6 == pytest.approx(slopes[place], abs=1e-4)


def test_a_step_moves_numbers_down_the_slope_of_the_loss():
    data = synonyms()
    base = bag(data)
    clicked = Clicked.of(data, base.items)
    known = base.with_words(clicked.texts)
    learner = begun(known, clicked, clicked.clicks, LearningSettings(rate=0.05, batch=1000))
    queries, items = learner._pairs()
    weighted = learner.table.weighted(learner.queries)
    strangers = np.random.default_rng(0).integers(0, len(data.items), (len(queries), STRANGERS))
    candidates, scores = learner._against(weighted, queries, items, strangers)
    learner._step(queries, items, strangers)
    asked = Candidates.matches(list(candidates.astype(np.int32)))
    after = learner.index.scores(learner.table.weighted(learner.queries), asked).scores.reshape(scores.shape)
    assert softmax_loss(np.where(np.isfinite(scores), after, -np.inf))[0] < softmax_loss(scores)[0]


def test_the_table_is_the_twin():
    rng = np.random.default_rng(0)
    tokens, _ = BagOfWords.fit(["a b c d e f"])
    weights, full = rng.random(6, np.float32), np.where(rng.random((6, 6)) < 0.5, rng.normal(size=(6, 6)), 0)
    offsets = np.concatenate([[0], np.cumsum((full != 0).sum(axis=1))])
    targets, gains = np.nonzero(full)[1].astype(np.int32), full[full != 0].astype(np.float32)
    table = TokenTable(tokens, weights, offsets, targets, gains)
    held = np.array([[1, 0, 1, 0, 0, 1], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]], np.float32)
    wanted = np.maximum(held * weights + held @ full, 0)
    assert table.queries(["a c f f", "b", "x"]).toarray() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [{"epochs": 0}, {"rate": 0.0}, {"temperature": -1.0}, {"negatives": 0}, {"batch": 0}, {"expansions": -1}],
)
def test_wrong_options_are_refused(wrong):
    data = synonyms()
    with pytest.raises(InputError):
        train_tokens(bag(data), data, **({"epochs": 1} | wrong))


def test_no_clicks_are_refused():
    with pytest.raises(InputError, match="at least one"):
        train_tokens(bag({"a": "fig"}), [])


@pytest.mark.parametrize(
    "wrong",
    [
        {"weights": np.float32([1])},
        {"weights": np.float32([1, np.nan])},
        {"offsets": np.array([0, 1])},
        {"targets": np.int32([2])},
        {"gains": np.float32([np.inf])},
    ],
)
def test_a_table_must_be_sound(wrong):
    tokens, _ = BagOfWords.fit(["a b"])
    sound = {"weights": np.float32([1, 1]), "offsets": np.array([0, 1, 1]), "targets": np.int32([1])}
    with pytest.raises(InputError):
        TokenTable(tokens, **(sound | {"gains": np.float32([1])} | wrong))
