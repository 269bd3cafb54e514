"""The learned table: its loss, its slopes, what it learns, and that it is the same every time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from tests.autopilot.made_log import made_log
from vizsla import Dataset, load, tokens
from vizsla.core.candidates import Candidates
from vizsla.encoders.token_table import TokenTable
from vizsla.errors import InputError
from vizsla.learning import train_tokens
from vizsla.learning.clicks import ClickLog
from vizsla.learning.selection import ChoiceWarning, Judge, harmless_to_cold
from vizsla.learning.splits import MAX_TABLE_SPLITS, table_splits
from vizsla.methods.tokens.learner import RANDOM_NEGATIVES, LearningSettings, items_met, new_learner, softmax_loss
from vizsla.methods.tokens.model import TokenRetriever, idf
from vizsla.methods.tokens.tuning import EpochTrial, chosen_b, chosen_epochs
from vizsla.text.bag_of_words import BagOfWords

THINGS = ["car", "boat", "train", "plane", "tram", "bike", "truck", "ferry"]
OTHER = ["auto", "ship", "railway", "jet", "streetcar", "cycle", "lorry", "shuttle"]


def synonyms(seed: int = 0) -> Dataset:
    """Return items that name things one way, and queries that name them another way."""
    rng = np.random.default_rng(seed)
    colors = ["red", "green", "blue", "white", "black", "pink"]
    items = {f"{thing} {color}": f"a {color} {thing} for sale" for thing in THINGS for color in colors}
    queries, clicks = {}, []
    for number in range(240):
        thing, color = int(rng.integers(len(THINGS))), str(rng.choice(colors))
        queries[f"q{number}"] = f"{color} {OTHER[thing]} {rng.choice(['please', 'now', 'here'])}"
        clicks.append((f"q{number}", f"{THINGS[thing]} {color}"))
    return Dataset.of(items, queries=queries, clicks=clicks)


def test_it_learns_what_words_mean():
    data = synonyms()
    base = tokens(data, b=0.5, epochs=0)
    learned = train_tokens(base, data, epochs=6, rate=0.3, batch=16)
    texts = [f"red {other}" for other in OTHER]
    wanted = [f"{thing} red" for thing in THINGS]
    assert [row[0] for row in learned(texts, 1).ids] == wanted != [row[0] for row in base(texts, 1).ids]
    assert learned.index.segments is base.index.segments or learned.index.segments[0] is base.index.segments[0]


def test_the_same_seed_gives_the_same_table(tmp_path):
    data = synonyms()
    one, two = (train_tokens(tokens(data, epochs=0), data, epochs=2, seed=3, batch=16) for _ in range(2))
    assert one.encoder.fingerprint == two.encoder.fingerprint
    assert (
        one.encoder.fingerprint
        != train_tokens(tokens(data, epochs=0), data, epochs=2, seed=4, batch=16).encoder.fingerprint
    )
    again = load(one.save(tmp_path / "learned"))
    assert again("red auto") == one("red auto")
    assert again.learned


def test_expansions_are_marked():
    data = synonyms()
    learned = train_tokens(tokens(data, epochs=0), data, epochs=6, rate=0.3, batch=16)
    why = learned.explain("a red auto", "car red")
    assert "'car' (expansion)" in str(why)
    assert sum(part.score for part in why.parts) == pytest.approx(why.score, rel=1e-4)


def test_later_clicks_need_no_new_index():
    data = synonyms()
    learned = train_tokens(tokens(data, epochs=0), data, epochs=6, rate=0.3, batch=16)
    more = learned.with_clicks([("red wheels", "bike red"), ("blue wheels", "bike blue")], epochs=20, rate=0.1)
    assert more.index.segments[0] is learned.index.segments[0]
    assert more("wheels", 1).ids[0][0].startswith("bike")
    assert more("red auto", 1).ids == [["car red"]]


def test_a_learned_table_survives_new_items():
    data = synonyms()
    learned = train_tokens(tokens(data, epochs=0), data, epochs=6, rate=0.3, batch=16)
    grown = learned.with_items({"new": "a purple car for sale"})
    assert grown("purple auto", 1).ids == [["new"]]
    assert grown.without_items(["new"])("red auto", 5) == learned("red auto", 5)


def test_epochs_are_chosen_on_held_out_clicks():
    data = synonyms()
    base = tokens(data, epochs=0)
    clicked = ClickLog.of(data, base.items)
    choice = chosen_epochs(base.with_words(clicked.texts), clicked, LearningSettings(rate=0.3), seed=0)
    assert choice.warm > 0
    assert [trial["epochs"] for trial in choice.trials] == list(range(len(choice.trials)))
    assert choice.chosen["epochs"] >= 1
    assert choice.chosen["all"] >= choice.trials[0]["all"]


def twin_of_items_met(queries, clicks, items, pairs):
    """Count, pair by pair, the items that hold the one token and were chosen by a query that holds the other."""
    return [
        sum(bool(items[item, target] and (queries[:, token] * clicks[:, item]).any()) for item in range(len(items)))
        for token, target in pairs
    ]


def test_pairs_count_the_items_they_met_at():
    rng = np.random.default_rng(0)
    queries, clicks, items = (rng.random(shape) < 0.3 for shape in ((30, 6), (30, 8), (8, 6)))
    held = rng.random((6, 6)) < 0.5
    pattern = np.concatenate([[0], np.cumsum(held.sum(axis=1))]), np.nonzero(held)[1].astype(np.int32)
    counted = items_met(*(csr_array(matrix.astype(np.float32)) for matrix in (queries, clicks, items)), pattern)
    assert counted.tolist() == twin_of_items_met(queries, clicks, items, np.argwhere(held))


def test_clicks_that_suggest_no_expansion_teach_weights_alone():
    base = tokens({"a": "fig", "b": "pear"})
    for clicks, options in (([("fig", "a")], {}), ([("fig pear", "b"), ("pear", "b")], {"expansions": 0})):
        learned = train_tokens(base, clicks, epochs=2, **options)
        assert learned.learned and not learned.encoder.expands


def test_a_first_step_is_as_long_as_the_evidence_allows():
    """Adagrad's first step is the rate, whatever the slope; a pair that met at n items takes n / (n + 1) of it."""
    items = {"a": "fig tree", "b": "fig bush", "c": "oak tree", "d": "elm"}
    base = tokens(items, b=0.5)
    clicked = ClickLog.of([("sweet", "a"), ("sweet", "b"), ("acorn", "c")], base.items)
    learner = new_learner(base.with_words(clicked.texts), clicked, clicked.clicks, LearningSettings(rate=0.1))
    learner.epoch(np.random.default_rng(0))
    terms, table = learner.words.terms, learner.table
    pairs = np.repeat(np.arange(table.dim), np.diff(table.offsets)), table.targets, table.gains
    gains = {(terms[token], terms[target]): gain for token, target, gain in zip(*pairs, strict=True)}
    assert gains["sweet", "fig"] == pytest.approx(0.1 * 2 / 3, rel=1e-3)
    assert gains["acorn", "oak"] == pytest.approx(0.1 / 2, rel=1e-3)


def test_an_epoch_that_surely_harms_cold_queries_is_not_taken():
    judge = Judge.of_cold(np.arange(200) < 100, 0.5)
    rng = np.random.default_rng(0)
    before = rng.random(200)
    kind, harsh = (before + rng.normal(0, 0.1, 200) for _ in range(2))
    kind[judge.cold] += 0.05
    harsh[~judge.cold] += 0.5
    harsh[judge.cold] -= 0.02
    assert judge.quality(harsh) > judge.quality(kind) > judge.quality(before)
    assert harmless_to_cold(judge)([], np.stack([before, kind, harsh])) == 1
    assert harmless_to_cold(judge)([], np.stack([before, harsh + np.where(judge.cold, 0.07, 0)])) == 1
    assert harmless_to_cold(judge)([], np.stack([before, before - 0.1])) == 0


def misleading(count: int = 300) -> Dataset:
    """Return items of three words each; a query says a word that has nothing to do with those of its item."""
    rng = np.random.default_rng(0)
    items = {f"i{number}": f"name{number} kind{number % 20} odd{number}" for number in range(count)}
    queries = {f"q{number}": f"kind{number % 20} kind{rng.integers(20)} lure{number % 20}" for number in range(count)}
    return Dataset.of(items, queries=queries, clicks=[(f"q{number}", f"i{number}") for number in range(count)])


def test_learning_that_helps_no_item_without_clicks_says_so():
    data = misleading()
    with pytest.warns(ChoiceWarning, match=r"Nothing was learned|did not help items without clicks"):
        train_tokens(tokens(data, b=0.5, epochs=0), data)


def test_too_few_clicks_to_choose_by_are_said():
    with pytest.warns(ChoiceWarning, match="3 were taken"):
        learned = train_tokens(tokens({"a": "fig tree", "c": "red car"}), [("vehicle", "c")])
    assert learned("vehicle", k=1).ids == [["c"]]


def test_a_small_log_is_split_several_times():
    data = synonyms()
    clicked = ClickLog.of(data, tokens(data, epochs=0).items)
    splits = table_splits(clicked.clicks, 0)
    assert len(splits) == MAX_TABLE_SPLITS
    assert len({tuple(np.concatenate([held.cold, held.warm])) for held in splits}) > 1


def test_where_it_helps_nothing_is_said(recwarn):
    data = synonyms()
    train_tokens(tokens(data, epochs=0), data, rate=0.3)
    assert not [each for each in recwarn if "did not help" in str(each.message) or "Nothing" in str(each.message)]


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
    base = tokens(data, epochs=0)
    clicked = ClickLog.of(data, base.items)
    known = base.with_words(clicked.texts)
    learner = new_learner(known, clicked, clicked.clicks, LearningSettings(rate=0.05, batch=1000))
    queries, items = learner._pairs()
    weighted = learner.table.weighted(learner.queries)
    strangers = np.random.default_rng(0).integers(0, len(data.items), (len(queries), RANDOM_NEGATIVES))
    candidates, scores = learner._against(weighted, queries, items, strangers)
    learner._step(queries, items, strangers)
    asked = Candidates.from_rows(list(candidates.astype(np.int32)))
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
        train_tokens(tokens(data, epochs=0), data, **({"epochs": 1} | wrong))


def test_no_clicks_are_refused():
    with pytest.raises(InputError, match="at least one"):
        train_tokens(tokens({"a": "fig"}), [])


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


@pytest.mark.parametrize("several", [1, 3])
def test_no_trial_learns_from_what_it_is_judged_by(several):
    """Neither clicks of held-out queries nor any others on items that are to be cold are left to learn from."""
    rng = np.random.default_rng(several)
    clicks = csr_array((rng.permuted(np.tile(np.arange(60) < several, (200, 1)), axis=1)).astype(np.float32))
    for held in table_splits(clicks, 0):
        left, before = held.left(clicks).toarray(), clicks.toarray()
        out = np.concatenate([held.cold, held.warm])
        assert len(held.cold) and len(held.warm) and not left[out].any()
        cold, warm = (before[rows].any(axis=0) for rows in (held.cold, held.warm))
        assert not left[:, cold].any() and left[:, warm].any(axis=0).all()
        others = np.setdiff1d(np.arange(200), out)
        assert np.array_equal(left[others][:, ~cold], before[others][:, ~cold])


def test_a_trial_learns_the_same_whatever_was_clicked_by_queries_that_it_is_judged_by():
    """Other clicks of held-out queries change what is measured, and no bit of the table; other clicks do change it."""
    data = synonyms()
    names = tokens(data, epochs=0).items
    clicked = ClickLog.of(data, names)
    base, settings = tokens(data, epochs=0).with_words(clicked.texts), LearningSettings(rate=0.3)
    held = table_splits(clicked.clicks, 0)[0]

    def trial(moved):
        """Return a trial after an epoch, and its ranks, where these queries chose other items."""
        pairs = [
            (text, names[(int(item) + 7 * (row in moved)) % len(names)])
            for row, text in enumerate(clicked.texts)
            for item in clicked.clicks.indices[clicked.clicks.indptr[row] : clicked.clicks.indptr[row + 1]]
        ]
        log = ClickLog.of(pairs, names)
        assert log.texts == clicked.texts
        made = EpochTrial(base, log, held, settings, 0)
        return made.epoch().tolist(), made._learner.table.fingerprint

    ranks, table = trial(())
    other_ranks, other_table = trial(set(held.rows.tolist()))
    assert table == other_table and ranks != other_ranks
    assert trial(set(range(len(clicked.texts))) - set(held.rows.tolist()))[1] != table


@pytest.mark.parametrize("learned", [False, True])
def test_a_token_that_no_item_holds_any_more_weighs_nothing(learned):
    """And one that comes back weighs its idf, as one that was never there."""
    items = {"a": "fig tree", "b": "fig bush", "c": "oak tree", "d": "elm bush"}
    base = tokens(items, b=0.5)
    made = train_tokens(base, [("oak tree", "c"), ("fig", "a"), ("elm", "d")], epochs=2) if learned else base
    less = made.without_items(["c"])
    token = made.encoder.words.terms.find("oak")
    assert made.encoder.weights[token] > 0 == less.encoder.weights[token]
    assert (less.encoder.weights[less.frequencies == 0] == 0).all()
    again = less.with_items({"c": items["c"]})
    assert again.encoder.weights[token] == idf(np.array([1]), 4)[0]


@pytest.mark.parametrize("own", [0.25, 0.5, 1.0])
def test_clicks_that_tell_no_b_from_another_leave_what_stands(own):
    """Items of one length have one norm, whatever b is."""
    items = {str(number): f"word{number} thing" for number in range(120)}
    data = Dataset.of(items, clicks=[(f"word{number}", str(number)) for number in range(120)])
    assert chosen_b(TokenRetriever.build(data, b=own), data, seed=0) == own


def test_what_was_chosen_is_kept_when_it_is_learned_again():
    log = made_log(600)
    first = tokens(log)
    assert first.recipe.settings["epochs"] == first.report.chosen["epochs"] > 0
    assert first.recipe.settings["b"] == first.b
    again = first.refit_on(log)
    assert again.report is None  # nothing was chosen anew
    asked = [query.text for query in log.queries][:50]
    assert again(asked, 5).to_dict() == first(asked, 5).to_dict()
    alone = train_tokens(tokens({item.id: item.text for item in log.items}), log)
    assert isinstance(alone.recipe.settings["epochs"], int)
