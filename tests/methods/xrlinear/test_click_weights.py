"""Clicks count by their weights: the heavier of two items of a query comes first, and explanations show the truth."""

from __future__ import annotations

import warnings
from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array

import vizsla
from vizsla.core.candidates import Candidates
from vizsla.data.dataset import Dataset
from vizsla.errors import FormatError, InputError
from vizsla.learning import splits as sampling
from vizsla.methods.xrlinear import tuning
from vizsla.methods.xrlinear.build import xrlinear
from vizsla.methods.xrlinear.instances import COSTS, click_costs, training_instances
from vizsla.methods.xrlinear.tuning import choose_click_weights, default_encoder

FRUIT = {"fig": "a fig", "pear": "a pear", "plum": "a plum"}
TWO = [("red fruit", "fig", 100), ("red fruit", "pear", 1)]


@pytest.mark.parametrize("order", list(permutations(FRUIT)))
@pytest.mark.parametrize("item_texts", [True, False])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_what_a_hundred_chose_comes_before_what_one_chose(order, item_texts, loss):
    """Whatever the items' numbers are; hinge margins of both are 1 unless C is small."""
    log = Dataset.of({item: FRUIT[item] for item in order}, clicks=TWO)
    C = 0.1 if loss == "hinge" else 1.0
    found = xrlinear(log, item_texts=item_texts, loss=loss, C=C)("red fruit", k=3).ids[0]
    assert found.index("fig") < found.index("pear")
    assert loss != "squared_hinge" or found[0] == "fig"  # with other losses a plum that nobody chose borrows too much


def test_the_heavier_item_comes_first_also_in_a_leaf_of_its_own():
    log = Dataset.of(FRUIT, clicks=[*TWO, ("fig tart", "fig", 2), ("pear pie", "pear", 40), ("plum jam", "plum", 3)])
    model = xrlinear(log, branching=3, max_leaf=1)
    assert model.tree.depth == 2
    assert model("red fruit").ids[0][0] == "fig"


def test_explanations_show_the_log_s_own_weights():
    model = xrlinear(Dataset.of(FRUIT, clicks=TWO))
    shown = {item: model.explain("red fruit", item).parts[-1] for item in ("fig", "pear")}
    assert [(part.score, part.reason) for part in shown["fig"].parts] == [(100.0, "'red fruit'")]
    assert [(part.score, part.reason) for part in shown["pear"].parts] == [(1.0, "'red fruit'")]
    assert shown["fig"].reason == "chosen for 1 training query (with the clicks' weights), the heaviest first:"


def test_the_same_click_twice_weighs_two():
    log = Dataset.of({"pear": "a pear", "fig": "a fig"}, clicks=[("red fruit", "pear"), *[("red fruit", "fig")] * 5])
    model = xrlinear(log)
    assert model("red fruit").ids[0] == ["fig", "pear"]
    assert model.explain("red fruit", "fig").parts[-1].parts[0].score == 5


@pytest.mark.parametrize("how", ["auto", *COSTS])
@pytest.mark.parametrize("weight", [1, 5, 0.3])
def test_equal_weights_change_nothing(warm_with, tmp_path, how, weight):
    """Byte for byte, whatever the option and the unit, but for the weights themselves and the option's name."""
    plain = xrlinear(warm_with(1), branching=3, max_leaf=6, click_weights="none")
    other = xrlinear(warm_with(weight), branching=3, max_leaf=6, click_weights=how)
    one, two = plain.save(tmp_path / "one"), other.save(tmp_path / "two")
    files = sorted(file.relative_to(one) for file in one.rglob("*.npy"))
    differ = [file.name for file in files if (one / file).read_bytes() != (two / file).read_bytes()]
    assert differ == ([] if weight == 1 else ["training_queries.weights.npy"])
    assert plain.calibration == other.calibration
    assert other.training_queries.click_weights == ("none" if how == "auto" else how)


@pytest.fixture
def warm_with(warm):
    def equal(weight):
        clicks = warm.clicks.copy()
        clicks.data[:] = weight
        return Dataset(warm.items, warm.queries, clicks=clicks)

    return equal


def test_a_cost_is_that_of_the_pair():
    """Three pairs and an item's text, by hand: the median weighs 2."""
    clicks = [("0", "f", 6), ("0", "p", 2), ("1", "p", 1)]
    with warnings.catch_warnings(action="ignore"):  # one item has no text
        instances = training_instances(Dataset.of({"f": "a fig", "p": ""}, queries=["a", "b"], clicks=clicks))
    assert instances.clicks.toarray().tolist() == [[6, 2], [0, 1], [1, 0]]
    assert instances.costs("none").toarray().tolist() == [[1, 1], [0, 1], [1, 0]]
    assert instances.costs("raw").toarray().tolist() == [[3, 1], [0, 0.5], [1, 0]]
    assert instances.costs("damped").toarray() == pytest.approx(np.sqrt(np.log2([[4, 2], [1, 1.5], [2, 1]])))


@pytest.mark.parametrize("how", COSTS)
def test_costs_do_not_depend_on_the_unit_and_rise_with_the_weight(how):
    weights = np.array([3, 1, 90, 4, 1, 2e6, 12], np.float32)
    costs = click_costs(weights, how)
    assert click_costs(weights * 1024, how) == pytest.approx(costs)
    assert how == "none" or (np.diff(costs[np.argsort(weights, kind="stable")]) >= 0).all()
    assert click_costs(np.array([], np.float32), how).shape == (0,)


@pytest.mark.parametrize("how", ["auto", "raw"])
def test_weights_of_any_size_train_a_sound_model(how):
    clicks = [("red fruit", "fig", 3e37), ("red fruit", "pear", 1e-30), ("a plum", "plum", 1.0)]
    model = xrlinear(Dataset.of(FRUIT, clicks=clicks), click_weights=how)
    assert model("red fruit").ids[0][0] == "fig" and np.isfinite(model("red fruit").scores).all()


@pytest.mark.parametrize("weight", [0.0, -1.0, np.nan, np.inf])
def test_weights_that_are_none_are_refused(weight):
    known = Dataset.of(FRUIT, queries=["red"])
    clicks = csr_array(([1.0, weight], ([0, 0], [0, 1])), shape=(1, 3), dtype=np.float32)
    with pytest.raises(InputError, match="must be a finite number above 0|must hold finite numbers"):
        xrlinear(Dataset(known.items, known.queries, clicks=clicks))


def liked(queries: int = 1500, *, noise: bool = False) -> Dataset:
    """Queries about a topic, each with two of its items; everybody likes the even ones, unless weights are noise.

    Topics have ten items each, so whoever ranks a topic's even items first is right about other queries too.
    """
    pick = np.random.default_rng(0)
    topics = queries // 50
    catalog = {f"i{n}": f"item{n}" for n in range(10 * topics)}
    texts, clicks = {}, []
    for number in range(queries):
        topic = number % topics
        texts[f"q{number}"] = f"topic{topic} word{pick.integers(40)} word{pick.integers(40)}"
        for half in (0, 1):
            item = 10 * topic + 2 * pick.integers(5) + half
            weight = np.ceil(np.exp(pick.normal(0, 2))) if noise else 1 + 99 * (half == 0)
            clicks.append((f"q{number}", f"i{item}", float(weight)))
    return Dataset.of(catalog, queries=texts, clicks=clicks)


def heavier_first(model, log) -> float:
    """The share of queries whose heavier item is scored above the lighter one."""
    clicks = log.clicks.sorted_indices()
    pairs = clicks.indices.reshape(-1, 2)
    candidates = Candidates.from_rows(list(pairs.astype(np.int32)), catalog=log.item_ids)
    scores = model.score(log.query_texts()[1], candidates).to_dict().values()
    weights = clicks.data.reshape(-1, 2)
    first = [row[log.item_ids[a]] > row[log.item_ids[b]] for (a, b), row in zip(pairs, scores, strict=True)]
    unlike = weights[:, 0] != weights[:, 1]
    return float(np.mean((np.array(first) == (weights[:, 0] > weights[:, 1]))[unlike]))


@pytest.mark.parametrize("noise", [False, True])
def test_a_query_s_items_are_ranked_by_their_weights(noise):
    """Damped or as they are, even where weights are noise; all alike, as by a coin."""
    log = liked(noise=noise)
    shares = {how: heavier_first(xrlinear(log, click_weights=how, kind_shares=(1, 1, 0)), log) for how in COSTS}
    assert shares["none"] < 0.65 and shares["damped"] > 0.85 and shares["raw"] > 0.85


def instances_and_features(log):
    instances = training_instances(log, item_texts=False)
    return instances, default_encoder(instances.texts).queries(instances.texts).to_scipy()


def test_the_way_is_chosen_on_held_out_clicks(monkeypatch):
    """Row for row of the trial: what stands, unless another is surely better by nDCG with weights as gains."""
    instances, features = instances_and_features(liked())
    assert choose_click_weights(instances, features)[0] in (
        "damped",
        "raw",
    )  # "none" does not know whom everybody likes
    assert choose_click_weights(instances, features)[0] == choose_click_weights(instances, features, threads=2)[0]
    for best in ("none", "raw", "damped"):
        quality = {how: np.full(200, 0.5 + 0.1 * (how == best)) for how in tuning.TRIED_COSTS}
        tried = iter(tuning.TRIED_COSTS)
        monkeypatch.setattr(tuning, "ndcgs", lambda *_, q=quality, t=tried, **__: q[next(t)])
        assert choose_click_weights(instances, features)[0] == best


def test_the_trial_learns_with_each_way_and_measures_by_true_weights(monkeypatch):
    log = liked()
    instances, features = instances_and_features(log)
    learned, wanted = [], []

    def search(drawn, rows, costs, threads):
        learned.append(np.unique(costs.data.astype(np.float64).round(3)).tolist())

    monkeypatch.setattr(tuning, "search_held_out", search)
    monkeypatch.setattr(tuning, "ndcgs", lambda found, clicks, depth: wanted.append(clicks) or np.ones(3))
    assert choose_click_weights(instances, features)[0] == "damped"
    assert learned == [[1.0, round(float(np.sqrt(np.log2(101))), 3)], [1.0], [1.0, 100.0]]
    assert all(set(clicks.data) == {1.0, 100.0} for clicks in wanted)


def test_a_small_log_keeps_damped_weights(monkeypatch):
    monkeypatch.setattr(tuning, "search_held_out", None)
    instances, features = instances_and_features(liked(100))
    assert choose_click_weights(instances, features)[0] == "damped"
    monkeypatch.setattr(sampling, "MIN_SAMPLE_QUERIES", 0)
    with pytest.raises(TypeError):  # there would have been a trial
        choose_click_weights(instances, features)


def test_nothing_is_tried_where_the_way_is_given_or_all_weigh_the_same(monkeypatch, warm_with):
    monkeypatch.setattr(tuning, "ndcgs", None)
    assert xrlinear(liked(100), click_weights="raw").training_queries.click_weights == "raw"
    assert xrlinear(warm_with(2)).training_queries.click_weights == "none"


def test_the_way_is_saved_and_checked(tmp_path):
    saved = xrlinear(Dataset.of(FRUIT, clicks=TWO)).save(tmp_path / "saved")
    loaded = vizsla.load(saved)
    assert loaded.training_queries.click_weights == "damped"
    assert loaded.with_items({"lime": "a lime"}).training_queries.click_weights == "damped"
    manifest = saved / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"damped"', '"cubed"'))
    with pytest.raises(FormatError), warnings.catch_warnings(action="ignore"):
        vizsla.load(saved)
