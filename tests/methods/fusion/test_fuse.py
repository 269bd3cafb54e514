"""Learned fusions against what is known to be best."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.methods.fusion.logs import ITEMS, knows, log_of, noise, opposed, text
from tests.support.table_retriever import TableRetriever
from vizsla import fuse, load
from vizsla.base.encoder import FunctionEncoder
from vizsla.compose import Sum
from vizsla.data.dataset import Dataset
from vizsla.errors import CompositionError, InputError
from vizsla.learning.selection import ChoiceWarning
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.fusion import learn_fusion
from vizsla.methods.pefa import pefa_xs
from vizsla.methods.xrlinear.build import xrlinear

QUERIES = 1200
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
letters = FunctionEncoder(lambda texts: [[t.count(c) for c in LETTERS] for t in texts], dim=36, name="letters")


def test_noise_gets_nothing():
    good, bad = knows(QUERIES, 0.7, seed=1), noise(QUERIES, seed=2)
    fusion = learn_fusion({"good": good, "bad": bad}, log_of(QUERIES))
    assert fusion.retriever is good
    assert fusion.weights == {"good": 1.0, "bad": 0.0}
    assert "good alone" in fusion.summary


def test_noise_gets_nothing_among_parts_that_help_each_other():
    parts = {"one": knows(QUERIES, 0.5, seed=1), "noise": noise(QUERIES, seed=9), "two": knows(QUERIES, 0.5, seed=5)}
    fusion = learn_fusion(parts, log_of(QUERIES))
    assert fusion.weights["noise"] == 0.0
    assert min(fusion.weights["one"], fusion.weights["two"]) > 0.2
    assert isinstance(fusion.retriever, Sum)
    assert len(fusion.retriever.parts) == 2


@pytest.mark.parametrize(("lowest", "highest"), [(0.62, 0.68), (0.22, 0.29), (0.4, 0.6)])
def test_the_weight_that_is_right_for_every_query_is_found(lowest, highest):
    parts = opposed(QUERIES, lowest=lowest, highest=highest)
    fusion = learn_fusion(dict(zip("ab", parts, strict=True)), log_of(QUERIES))
    plain = [trial for trial in fusion.choice.trials if trial["normalization"] == "none"]
    perfect = [trial["weights"][0] for trial in plain if trial["all"] == 1.0]
    assert perfect
    assert all(lowest < weight < highest for weight in perfect)
    assert fusion.choice.chosen["all"] == 1.0
    assert all(fusion.retriever(text(q), 1).ids == [[ITEMS[q % len(ITEMS)]]] for q in range(0, QUERIES, 7))


@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_on_held_out_clicks_never_worse_than_the_best_part(seed):
    pick = np.random.default_rng(seed)
    parts = [knows(QUERIES, float(pick.random()), seed=10 * seed + at, scale=f"scale {at}") for at in range(3)]
    choice = learn_fusion(parts, log_of(QUERIES), seed=seed).choice
    singles = [trial for trial in choice.trials if sorted(trial["weights"]) == [0, 0, 1]]
    assert len(singles) == 3
    assert choice.chosen["all"] >= max(single["all"] for single in singles)


class Memory(TableRetriever):
    """Knows by heart what was clicked, and nothing else."""

    kind = "memory"

    @classmethod
    def of(cls, dataset: Dataset) -> Memory:
        texts, clicks = dataset.query_texts()[1], dataset.clicks.tocoo()
        table = {texts[q]: {dataset.item_ids[i]: 1.0} for q, i in zip(clicks.row, clicks.col, strict=True)}
        return cls(table, list(dataset.item_ids), scale="memory")

    def refit_on(self, dataset, *, threads=1):
        return Memory.of(dataset)


@pytest.mark.parametrize("given", [Memory.of, Memory.of(log_of(QUERIES))], ids=["function", "fitted"])
def test_a_part_that_learned_the_clicks_by_heart_is_judged_without_them(given):
    """It finds every click of the log, and none that is held out: trusting what it knows would give it everything."""
    fusion = learn_fusion({"memory": given, "honest": knows(QUERIES, 0.4, seed=3)}, log_of(QUERIES))
    single = next(trial for trial in fusion.choice.trials if trial["weights"] == [1.0, 0.0])
    assert single["all"] == 0.0
    assert fusion.weights["honest"] > 0
    assert fusion.weights["memory"] == 0.0


def fruit_log() -> Dataset:
    pick = np.random.default_rng(0)
    words = [f"{a}{b}" for a in ("fi", "pea", "plu", "che", "gra") for b in ("ga", "rry", "mo", "pex", "tin", "lo")]
    items = {f"i{n}": " ".join(pick.choice(words, 4)) for n in range(60)}
    clicks = [(" ".join(pick.choice(text.split(), 2)) + f" {m}", item) for item, text in items.items() for m in "xyzuv"]
    return Dataset.of(items, clicks=clicks)


def fruit_fusion(log: Dataset) -> Sum:
    """Return a sum as `fuse` makes it: of words, and of vectors that clicks have moved."""
    adapted = pefa_xs(dense(log, letters), log, weight=0.5, calibrated=False)
    return Sum([(0.25, bm25(log).normalized("zscore")), (0.75, adapted.normalized("zscore"))])


def test_parts_that_learn_from_clicks_are_fused_saved_and_loaded(tmp_path):
    log = fruit_log()
    search = fuse({"words": bm25(log), "tree": xrlinear(log)}, log)
    search.save(tmp_path / "fused")
    asked = log.query_texts()[1][:20]
    assert load(tmp_path / "fused")(asked, 5).to_dict() == search(asked, 5).to_dict()


def test_an_explanation_names_every_part_and_adds_up():
    log = fruit_log()
    search, asked = fruit_fusion(log), log.query_texts()[1][0]
    found = search(asked, 3)[0]
    why = search.explain(asked, found[0].id)
    assert [("Bm25" in part.reason, "PefaXs" in part.reason) for part in why.parts] == [(True, False), (False, True)]
    assert sum(part.score for part in why.parts) == pytest.approx(found[0].score, abs=1e-5)


def test_clicks_that_come_later_reach_the_parts_that_take_them():
    log = fruit_log()
    search, new = fruit_fusion(log), [("zzz qqq", "i7"), ("zzz qqq", "i7")]
    later = search.with_clicks(iter(new))
    assert later.parts[0] is search.parts[0] or later.parts[0].parts[0] is search.parts[0].parts[0]
    expected = search.parts[1].parts[0].with_clicks(new)
    asked = log.query_texts()[1][:10]
    assert later.parts[1].parts[0](asked, 9).to_dict() == expected(asked, 9).to_dict()
    assert later.without_clicks(new)(asked, 9).to_dict() == search(asked, 9).to_dict()


def test_a_composition_without_a_part_that_takes_clicks_says_so():
    log = fruit_log()
    with pytest.raises(InputError, match="must have a part that takes clicks"):
        (bm25(log) + bm25(log)).with_clicks([("a", "i1")])


def test_the_same_seed_gives_the_same_choice_with_any_threads():
    parts = [knows(QUERIES, 0.5, seed=1, scale="a"), knows(QUERIES, 0.4, seed=2, scale="b")]
    one, two = (learn_fusion(parts, log_of(QUERIES), threads=threads) for threads in (1, 2))
    assert one.choice == two.choice


@pytest.mark.parametrize("clicks", [0, 3])
def test_too_few_clicks_give_an_equal_sum_of_normalized_parts_and_a_warning(clicks):
    parts = [knows(QUERIES, 0.5, seed=1, scale="one"), noise(QUERIES, scale="other")]
    with pytest.warns(ChoiceWarning, match="equal weights") as told:
        search = fuse(parts, log_of(clicks))
    assert told[0].filename == __file__
    asked = [text(q) for q in range(40)]
    expected = Sum([(0.5, part.normalized("zscore")) for part in parts])
    assert search(asked, 9).to_dict() == expected(asked, 9).to_dict()


def test_a_part_that_is_left_out_is_not_built():
    built = []

    def bad(dataset: Dataset) -> TableRetriever:
        built.append(dataset.clicks.nnz)
        return noise(QUERIES)

    fuse([knows(QUERIES, 0.7, seed=1), bad], log_of(QUERIES))
    assert len(built) == 1
    assert built[0] < QUERIES


def test_what_cannot_be_fused_is_refused():
    log = log_of(QUERIES)
    for options in ({"seed": -1}, {"threads": 0}, {"depth": 0}, {"depth": 9}, {"cold": 2.0}):
        with pytest.raises(InputError, match=f"`{next(iter(options))}` must be"):
            fuse([noise(QUERIES), noise(QUERIES)], log, **options)
    for name, said in ((1, "must be a text"), ("\ud800", "valid Unicode")):
        with pytest.raises(InputError, match=said):
            fuse({name: noise(QUERIES), "other": noise(QUERIES)}, log)
    with pytest.raises(InputError, match="two or more"):
        fuse([noise(QUERIES)], log)
    with pytest.raises(InputError, match="function from a dataset"):
        fuse([noise(QUERIES), "words"], log)  # type: ignore[list-item]
    with pytest.raises(InputError, match="must return a Retriever"):
        fuse([noise(QUERIES), lambda dataset: 3], log)
    with pytest.raises(CompositionError, match="same items"):
        fuse([noise(QUERIES), bm25(["another catalog"])], log)
    with pytest.raises(InputError, match="match set"):
        fuse([noise(QUERIES), noise(QUERIES) | noise(QUERIES)], log)


def test_the_record_tells_what_was_tried(tmp_path):
    parts = {"one": knows(QUERIES, 0.5, seed=1, scale="a"), "two": knows(QUERIES, 0.4, seed=2, scale="b")}
    fusion = learn_fusion(parts, log_of(QUERIES))
    tried = {trial["normalization"] for trial in fusion.choice.trials}
    assert tried == {"none", "minmax", "zscore", "rank", "linear"}
    assert {(gain["part"], gain["queries"]) for gain in fusion.gains} == {
        (part, kind) for part in parts for kind in ("all", "repeated", "warm", "cold")
    }
    assert fusion.curves()["one"][-1] == (1.0, next(t["all"] for t in fusion.choice.trials if t["weights"] == [1, 0]))
    assert fusion.to_json(tmp_path / "fusion.json") == (tmp_path / "fusion.json").read_text()


def test_a_curve_has_no_dips_where_little_was_tried():
    """Two parts that help each other, and noise: each part's curve rises to its best weight and falls after it."""
    parts = {"one": knows(QUERIES, 0.5, seed=1), "noise": noise(QUERIES, seed=9), "two": knows(QUERIES, 0.5, seed=5)}
    fusion = learn_fusion(parts, log_of(QUERIES))
    best = max(trial["all"] for trial in fusion.choice.trials)
    for points in fusion.curves().values():
        weights, quality = zip(*points, strict=True)
        assert set(np.linspace(0, 1, 11).round(6)) <= set(weights)
        assert max(quality) == best
        top = quality.index(best)
        falls = [before - after for before, after in pairwise([*quality[:top], best])]
        rises = [after - before for before, after in pairwise(quality[top:])]
        assert max([*falls, *rises]) < 0.01
