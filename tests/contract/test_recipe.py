"""Every retriever of the registry knows how it was built, and builds the same again, bit for bit."""

from __future__ import annotations

import gc
import inspect
import json
import os
import subprocess
import sys
import warnings
import weakref

import numpy as np
import pytest

from tests.contract.catalog import CLICKED, CLICKS, ITEMS, QUERIES, titled_items
from tests.contract.registry import RETRIEVERS, anchors
from vizsla import load
from vizsla.base.recipe import BUILDERS, PATH_SETTINGS, UNSAVED_ARGUMENTS, Recipe, _builder
from vizsla.data.dataset import Dataset
from vizsla.errors import FormatError, InputError, RecipeError
from vizsla.methods.bm25 import bm25
from vizsla.methods.dense import dense
from vizsla.methods.function import FunctionRetriever
from vizsla.methods.fusion import fuse
from vizsla.methods.jpq.train_jpq import jpq
from vizsla.methods.pefa import pefa_xs
from vizsla.methods.pq import pq
from vizsla.methods.tokens.model import tokens
from vizsla.methods.tokens.train_tokens import train_tokens
from vizsla.methods.xrlinear.build import xrlinear

KNOWS_OTHER_QUERIES = ("tfidf", "tfidf cut", "pefa-xs tfidf", "pefa-xs tfidf cut", "residual cur", "click memory")
"""Over a dataset with clicks TF-IDF counts the clicked queries too, which the registry's mapping of texts lacks; the
registry's click memory has clicks for QUERIES, which the dataset lacks."""


def dataset() -> Dataset:
    with warnings.catch_warnings(action="ignore"):  # one item has no text
        return Dataset.of(titled_items(), queries=CLICKED, clicks=CLICKS)


def same(one, other) -> bool:
    found = [side(QUERIES, 10) for side in (one, other)]
    equal = [np.array_equal(getattr(found[0], name), getattr(found[1], name)) for name in ("offsets", "items")]
    scores = [side.scores for side in found]
    return all(equal) and (scores[0] is None or np.array_equal(scores[0], scores[1]))


@pytest.mark.parametrize("name", RETRIEVERS)
def test_a_recipe_builds_the_same_again(name):
    original, given = RETRIEVERS[name].make(), {}
    if name.startswith("residual cur"):  # which holds a model of its anchors' scores, and not these
        given = {"anchors": anchors(), "encoder": RETRIEVERS["dense flat"].make().encoder}
    built = original.recipe.build(dataset(), bindings=given)
    assert same(built.recipe.build(dataset(), bindings=given), built)
    assert same(built, original) or name.startswith(KNOWS_OTHER_QUERIES)


@pytest.mark.parametrize("name", RETRIEVERS)
def test_a_recipe_is_plain_data(name):
    recipe = RETRIEVERS[name].make().recipe
    again = Recipe.from_dict(json.loads(json.dumps(recipe.to_dict())))
    assert again == recipe
    assert repr(again) == repr(recipe)
    assert RETRIEVERS[name].make().recipe.kind == recipe.kind


@pytest.mark.parametrize("name", RETRIEVERS)
def test_a_loaded_retriever_builds_the_same_again(name, tmp_path):
    original = RETRIEVERS[name].make()
    original.save(tmp_path / "saved")
    again = load(tmp_path / "saved")
    assert again.recipe == original.recipe
    try:
        built = again.recipe.build(dataset())
    except RecipeError as error:  # what the saved search does not hold must be given
        assert "pass bindings=" in str(error)
        assert name.startswith("residual cur")
        return
    assert same(built, original) or name.startswith(KNOWS_OTHER_QUERIES)


def test_live_objects_and_members_are_given_by_name():
    base = Recipe.of("dense", encoder=RETRIEVERS["dense flat"].make().encoder)
    plain = Recipe.from_dict(base.to_dict())  # in another process, the encoder is not there
    assert [binding.name for binding in plain.bindings] == ["encoder"]
    with pytest.raises(RecipeError, match='pass bindings={"encoder"'):
        plain.build(dataset())
    expected = RETRIEVERS["dense flat"].make()
    assert same(plain.build(dataset(), bindings={"encoder": expected.encoder}), expected)
    assert same(plain.build(dataset(), bindings={expected.encoder.fingerprint: expected.encoder}), expected)
    learned = Recipe.of("pefa", base="words", variant="xs", weight=0.5, calibrated=True)
    assert learned.members == ["words"]
    words = Recipe.of("bm25").build(dataset())
    built = learned.build(dataset(), members={"words": words})
    assert built.base is words
    assert same(
        built, Recipe.of("pefa", base=Recipe.of("bm25"), variant="xs", weight=0.5, calibrated=True).build(dataset())
    )
    with pytest.raises(RecipeError, match="`base` must be a recipe or the name of a member"):
        learned.build(dataset(), members={"other": words})


def test_settings_that_are_changed_later_are_in_the_recipe():
    search = RETRIEVERS["xrlinear"].make()
    wider = search.with_effort(7)
    assert wider.recipe.settings["effort"] == 7
    assert same(wider.recipe.build(dataset()), wider)
    bag = RETRIEVERS["tokens"].make().with_b(0.9)
    assert bag.recipe.settings["b"] == 0.9
    assert same(bag.recipe.build(dataset()), bag)


def test_items_that_come_later_leave_the_recipe_as_it_is():
    search = RETRIEVERS["tokens learned"].make()
    assert search.with_items({"another": "a new fig"}).recipe == search.recipe
    assert search.with_clicks([("fig", search.items[0])]).recipe == search.recipe


def test_equal_settings_make_equal_recipes_and_others_do_not():
    assert Recipe.of("bm25", k1=1.2) == Recipe.of("bm25", k1=1.2)
    assert Recipe.of("bm25", k1=1.2) != Recipe.of("bm25", k1=1.3)
    assert Recipe.of("bm25") != Recipe.of("tfidf")
    assert len({Recipe.of("bm25", k1=1.2), Recipe.of("bm25", k1=1.2)}) == 1
    assert Recipe.of("bm25", k1=1.2).but(k1=1.3) == Recipe.of("bm25", k1=1.3)


@pytest.mark.parametrize(
    "values",
    [
        {"recipe": "bm25"},
        {"recipe": "os.system", "settings": {}},
        {"recipe": "bm25", "settings": {"k2": 1}},
        {"recipe": "bm25", "settings": {"k1": {"import": "os"}}},
        {"recipe": "bm25", "settings": {"analyzer": {"analyzer": {"kind": "words"}}}},
        {"recipe": "pefa", "settings": {"base": {"recipe": "none", "settings": {}}}},
        {"recipe": "dense", "settings": {"encoder": {"binding": "encoder", "fingerprint": 3}}},
        ["bm25"],
    ],
)
def test_what_is_no_recipe_is_refused(values):
    with pytest.raises((InputError, FormatError)):
        Recipe.from_dict(values)


def test_code_of_a_user_has_no_recipe_and_says_so():
    own = FunctionRetriever(lambda query, k: [("a", 1.0)], list(ITEMS))
    with pytest.raises(RecipeError, match="give a function"):
        _ = own.recipe
    with pytest.raises(RecipeError, match="give a function"):
        _ = (own.normalized() + RETRIEVERS["bm25 lucene"].make().normalized()).recipe


def test_a_deep_composition_has_a_recipe_at_once():
    search = RETRIEVERS["bm25 lucene"].make()
    for _ in range(40):
        search = search.normalized("minmax")
    assert search.recipe.depth == 41
    assert same(search.recipe.build(dataset()), search)
    assert Recipe.from_dict(search.recipe.to_dict()) == search.recipe
    doubled = RETRIEVERS["bm25 lucene"].make().normalized()
    for _ in range(8):
        doubled = (doubled % 30) + (doubled % 30)
    assert same(doubled.recipe.build(dataset()), doubled)


def test_a_long_list_is_no_plain_setting():
    assert Recipe.of("jpq", base="vectors", queries=["fig"] * 3).settings["queries"] == ["fig"] * 3
    assert Recipe.of("jpq", base="vectors", queries=["fig"] * 999).bindings[0].name == "queries"


@pytest.mark.parametrize("recipe", [3, {"recipe": "os", "settings": {}}, {"recipe": "bm25", "settings": {"k1": {}}}])
def test_a_manifest_whose_recipe_is_none_is_refused(recipe, tmp_path, monkeypatch):
    search = RETRIEVERS["bm25 lucene"].make()
    monkeypatch.setattr(type(search), "_noted", lambda self: {"recipe": recipe})
    search.save(tmp_path / "saved")
    with pytest.raises(FormatError):
        load(tmp_path / "saved")


def test_settings_that_a_kind_lacks_are_refused_when_it_is_built(tmp_path, monkeypatch):
    search = RETRIEVERS["bm25 lucene"].make()
    monkeypatch.setattr(type(search), "_noted", lambda self: {"recipe": {"recipe": "bm25", "settings": {"k2": 1}}})
    search.save(tmp_path / "saved")
    with pytest.raises(InputError, match="k2"):
        load(tmp_path / "saved").recipe.build(dataset())


@pytest.mark.parametrize("kind", BUILDERS)
def test_a_recipe_that_lacks_what_its_kind_needs_is_refused(kind):
    """A file may leave out anything; a recipe inside of another is built by the same rule."""
    function = _builder(kind)
    needed = [
        name
        for name, each in inspect.signature(function).parameters.items()
        if each.default is each.empty
        and name != function.data
        and each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
    ]
    for name in needed[:1]:
        for recipe in (Recipe(kind, {}), Recipe("pefa", {"base": Recipe(kind, {}), "weight": 0.5})):
            with pytest.raises(RecipeError, match=f"The recipe of kind '{kind}' must have the setting '{name}'"):
                recipe.build(dataset())


def test_a_list_is_named_by_what_it_holds():
    texts = [f"fig {number}" for number in range(300)]
    one, other = (Recipe.of("train_jpq", base="vectors", queries=list(texts)).bindings for _ in range(2))
    assert one == other
    assert Recipe.of("train_jpq", base="vectors", queries=texts[::-1]).bindings != one


def test_what_has_no_fingerprint_is_in_no_recipe():
    with pytest.raises(RecipeError, match="`teacher` must be plain data or have a fingerprint"):
        Recipe.of("jpq", base="vectors", teacher=object())


def test_every_setting_that_may_be_a_path_is_a_binding():
    for kind in BUILDERS:
        for name, parameter in inspect.signature(_builder(kind)).parameters.items():
            if "Path" in str(parameter.annotation):
                assert name in PATH_SETTINGS or name in UNSAVED_ARGUMENTS, f"{kind}: {name}"


@pytest.mark.parametrize("kind", ["train_sidr", "train_jpq", "jpq"])
def test_a_stored_recipe_chooses_no_folder(kind, tmp_path, monkeypatch):
    """Neither building nor fusing may open a folder that only an artifact names."""
    base = Recipe.of("tokens", epochs=0) if kind == "train_sidr" else Recipe.of("dense", encoder=lsa())
    settings = {"base": base.to_dict(), "model": str(tmp_path / "named")}
    search = RETRIEVERS["tokens learned"].make()
    written = {"recipe": {"recipe": kind, "settings": settings}}
    monkeypatch.setattr(type(search), "_noted", lambda self: written)
    search.save(tmp_path / "saved")
    loaded = load(tmp_path / "saved")
    assert "named" not in json.dumps(loaded.recipe.to_dict())
    given = {"encoder": lsa()}
    with pytest.raises(RecipeError, match="`model`"):
        loaded.recipe.build(dataset(), bindings=given)
    with pytest.raises(InputError, match="[Gg]ive a function"):
        fuse([RETRIEVERS["bm25 lucene"].make(), loaded], dataset())


def lsa():
    return RETRIEVERS["dense flat"].make().encoder


def _vectors() -> np.ndarray:
    return lsa().items(list(ITEMS.values()))


def _log_of(data: Dataset) -> list[tuple[str, str]]:
    return Log((f"{word} {number}", data.item_ids[number]) for number, word in enumerate(("fig", "pear", "apple") * 5))


class Log(list):
    """A list that can be watched."""


PATIENT = {"bytes": 2, "bits": 4, "click_loss_weight": 0.5, "epochs": 1, "stop": 1}
KEEPS = {
    "pq": lambda data, vectors, log: pq(dense(data, lsa(), vectors=vectors), bytes=2),
    "jpq": lambda data, vectors, log: jpq(dense(data, lsa(), vectors=vectors), log, clicked_margin=0.0, **PATIENT),
    "jpq of a dataset": lambda data, vectors, log: jpq(
        dense(data, lsa(), vectors=vectors), data, clicked_margin=0.0, **PATIENT
    ),
    "pefa": lambda data, vectors, log: pefa_xs(dense(data, lsa()), log, weight=0.5),
    "pefa of a dataset": lambda data, vectors, log: pefa_xs(bm25(data), data, weight=0.5),
    "xrlinear": lambda data, vectors, log: xrlinear(data, branching=3, max_leaf=6, click_weights="raw"),
    "tokens": lambda data, vectors, log: train_tokens(tokens(data, epochs=0), log, epochs=1),
}


@pytest.mark.parametrize("name", KEEPS)
def test_no_training_data_stays_with_what_was_built(name):
    data, vectors = dataset(), _vectors()
    log = _log_of(data)
    watched = [weakref.ref(each) for each in (data, log)]
    gone = []
    weakref.finalize(vectors, gone.append, True)
    made = KEEPS[name](data, vectors, log)
    del data, vectors, log
    gc.collect()
    assert [each() for each in watched] == [None, None]
    assert gone
    assert made.recipe.kind


BYTES = """
import sys, tempfile, warnings
from pathlib import Path
from vizsla.artifacts.manifest import digest
from tests.contract.registry import RETRIEVERS, ITEMS, _lsa, _log
from vizsla import dense, load
from vizsla.methods.jpq.train_jpq import train_jpq
from vizsla.methods.pq import pq
def long():
    base = pq(dense(ITEMS, _lsa(), vectors=_lsa().items(list(ITEMS.values()))), bytes=2)
    texts = [f"fig {number}" for number in range(300)]
    return train_jpq(base, _log(), queries=texts, click_loss_weight=0.5, epochs=1, stop=1, batch=16)
kinds = {name: case.make for name, case in RETRIEVERS.items()} | {"long": long}
for name, make in kinds.items():
    folder = Path(tempfile.mkdtemp()) / "saved"
    with warnings.catch_warnings(action="ignore"):
        make().save(folder)
    manifests = sorted(folder.rglob("manifest.json"))
    print(name, digest(b"".join(each.read_bytes() for each in manifests)))
"""


def test_equal_builds_in_two_processes_write_equal_bytes():
    said = []
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", BYTES], capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.splitlines())
    assert len(said[0]) == len(RETRIEVERS) + 1
    assert said[0] == said[1]


def test_a_fusion_leaves_the_recipes_of_its_parts_alone():
    words = RETRIEVERS["bm25 lucene"].make()
    with warnings.catch_warnings(action="ignore"):
        fuse([words, bm25(ITEMS, b=0.0)], dataset())
    assert words.recipe.kind == "bm25"
