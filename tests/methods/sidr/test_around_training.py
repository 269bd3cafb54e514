"""What is given to SiDR's training and kept of it: texts, blocks, settings, held-out kinds, int8, checkpoints."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vizsla
from tests.methods.sidr.encoders import tiny_encoder
from tests.methods.sidr.tiny import ITEMS, dataset, model_folder, tiny_base, tokens
from tests.support.table_retriever import TableRetriever
from vizsla import Dataset
from vizsla.encoders.sidr import SETTING_TYPES, SidrEncoder, columns, sparsified
from vizsla.errors import InputError
from vizsla.learning.clicks import ClickLog
from vizsla.methods.sidr import train_sidr as module
from vizsla.methods.sidr.quantize import quantize_sidr
from vizsla.methods.sidr.settings import SidrSettings
from vizsla.methods.sidr.train_sidr import _drawn, _encoder, _texts, taught_by, training_key
from vizsla.methods.sidr.training_data import HeldOutQueries, prepared
from vizsla.text import WordPiece

for package in ("torch", "transformers", "onnx", "onnxruntime"):
    pytest.importorskip(package, reason="the extra neural is not installed")

FAST = {"batch": 16, "vectors": 2, "tokens": 9, "max_tokens": 11, "retrieved": 3, "table_epochs": 0}


@settings(max_examples=60)
@given(st.integers(0, 5), st.integers(1, 7), st.integers(1, 9), st.integers(0, 10**6))
def test_rows_keep_their_highest_values_above_0_and_no_others(rows, width, most, seed):
    rng = np.random.default_rng(seed)
    values = rng.permutation(rows * width).reshape(rows, width).astype(np.float32) - np.float32(rows * width // 3)
    chosen = np.sort(rng.choice(20, width, replace=False)).astype(np.int64)
    found = sparsified(values, chosen, most, 20).toarray()
    wanted = np.zeros((rows, 20), np.float32)
    for row in range(rows):
        for place in np.argsort(-values[row])[:most]:
            wanted[row, chosen[place]] = max(values[row, place], 0)
    assert (found == wanted).all()


@given(st.integers(0, 4), st.integers(1, 6), st.integers(0, 10**6))
def test_chosen_columns_are_those_of_the_matrix(rows, width, seed):
    from scipy.sparse import csr_array

    rng = np.random.default_rng(seed)
    full = rng.integers(0, 3, (rows, width)).astype(np.float32)
    chosen = np.flatnonzero(rng.random(width) < 0.5)
    assert (columns(csr_array(full), chosen).toarray() == full[:, chosen]).all()


def test_texts_are_encoded_alike_in_any_block(monkeypatch):
    """A catalog of several blocks, with a rest, has every item's own vector, in the items' order."""
    encoder = tiny_encoder()
    texts = list(ITEMS.values())[:11]
    alone = np.concatenate([encoder.items([text]).toarray() for text in texts])
    asked = np.concatenate([encoder.queries([text]).toarray() for text in texts])
    for part in (3, 5, 11, 12):
        monkeypatch.setattr("vizsla.encoders.sidr.TEXTS_PER_BATCH", part)
        monkeypatch.setattr("vizsla.methods.sidr.model.TEXTS_PER_BATCH", part)
        assert np.allclose(encoder.items(texts).toarray(), alone, atol=1e-6)
        assert np.allclose(encoder.queries(texts).toarray(), asked, atol=1e-6)
        found = vizsla.sidr(dict(zip("abcdefghijk", texts, strict=True)), encoder)
        assert list(found.items) == list("abcdefghijk")
        assert np.allclose(found.index.to_csr().toarray(), alone, atol=1e-6)


def test_held_out_queries_are_weighted_alike_in_any_block(monkeypatch):
    from vizsla.learning.torch_vocabulary import VocabularyModel

    base = tiny_base()
    training_data, held = prepared(base, ClickLog.of(dataset(), base.items), list(ITEMS.values()), SidrSettings(**FAST))
    model = VocabularyModel(model_folder())
    whole = held.weighted(model, training_data.held, 9).toarray()
    assert (np.diff(held.weighted(model, training_data.held, 9).offsets) == 9).all()
    for part in (1, 2, len(held.queries) - 1):
        monkeypatch.setattr("vizsla.methods.sidr.training_data.QUERIES_PER_BATCH", part)
        assert np.allclose(held.weighted(model, training_data.held, 9).toarray(), whole, atol=1e-5)


def held_out(cold):
    nothing = SimpleNamespace(take=lambda rows: rows)
    return HeldOutQueries(nothing, [np.array([n]) for n in range(len(cold))], nothing, np.array(cold, np.bool_))


def test_warm_and_cold_queries_count_alike_however_many_of_each_there_are():
    values = np.array([1.0, 0.0, 0.0, 0.5])
    assert held_out([True, False, False, False]).quality(values) == pytest.approx((1 + 0.5 / 3) / 2)
    assert held_out([False] * 4).quality(values) == held_out([True] * 4).quality(values) == 0.375
    assert held_out([]).quality(np.zeros(0)) == 0.0


def test_of_each_kind_at_most_half_is_drawn_and_kept_in_order():
    held = held_out([True] * 3 + [False] * 20)
    for most, count in ((10, 3 + 5), (4, 2 + 2), (100, 23), (7, 3 + 3)):
        some = held.some(most, seed=2)
        assert len(some.queries) == count and int(some.cold.sum()) == min(3, most // 2)
        numbers = some.clicked.tolist()
        assert numbers == sorted(numbers) == [int(text[0]) for text in some.queries] == some.tables.tolist()
        assert some.cold.tolist() == [number < 3 for number in numbers]
    drawn = {seed: held.some(4, seed=seed).clicked.tolist() for seed in range(6)}
    assert held.some(4, seed=0).clicked.tolist() == drawn[0] and len({tuple(one) for one in drawn.values()}) > 1


def test_item_texts_stand_in_the_bases_order_with_their_titles():
    base = vizsla.tokens({"a": "fig", "b": "pear"}, analyzer=WordPiece(tokens()), epochs=0)
    rows = [{"id": "b", "title": "old", "text": "pear"}, {"id": "x", "text": "car"}, {"id": "a", "text": "fig"}]
    data = Dataset.of(rows)
    assert _texts(base, data) == ["fig", next(item for item in data.items if item.id == "b").default_text()]
    with pytest.raises(InputError, match="none with the id 'b'"):
        _texts(base, Dataset.of({"a": "fig"}))


def test_settings_reach_the_model_and_its_beginning(monkeypatch):
    seen = {}
    base = tiny_base()
    training_data = prepared(
        base, ClickLog.of(dataset(), base.items), list(ITEMS.values()), SidrSettings(**FAST)
    ).training_data

    class Model:
        tokens, longest, has_head = base.index.dim, 32, False

        def __init__(self, folder, **options):
            seen["model"] = (folder, options)

    monkeypatch.setattr(module, "VocabularyModel", Model)
    monkeypatch.setattr(module, "train_masked", lambda *given, **named: seen.update(masked=(given[1:], named)))
    monkeypatch.setattr(module, "center", lambda model, *texts: seen.update(center=texts))
    chosen = SidrSettings(**FAST, dropout=0.25, frozen_layers=1, masked_steps=7, seed=5, item_tokens=False)
    module.initialized_model(base, training_data, "folder", chosen)
    wanted = {"seed": 5, "dropout": 0.25, "frozen_layers": 1, "item_scale": 0.1, "learns_scales": True}
    assert seen["model"] == ("folder", wanted)
    texts, held, mask = seen["masked"][0]
    assert texts is training_data.items and held is training_data.held and mask == tokens().index("[MASK]")
    assert seen["masked"][1] == {"steps": 7, "seed": 5}
    rng = np.random.default_rng(5)
    assert all(map(np.array_equal, seen["center"][0], _drawn(rng, training_data.queries)))
    assert all(map(np.array_equal, seen["center"][1], _drawn(rng, training_data.items)))
    seen.clear()
    Model.has_head = True  # a head that the checkpoint has begins as it is
    module.initialized_model(base, training_data, "folder", SidrSettings(**FAST, masked_steps=7))
    assert set(seen) == {"model"} and seen["model"][1]["item_scale"] == 0.025
    Model.longest = 10
    with pytest.raises(InputError, match="at most the model's 10. Got 11"):
        module.initialized_model(base, training_data, "folder", SidrSettings(**FAST))
    Model.longest = 11
    module.initialized_model(base, training_data, "folder", SidrSettings(**FAST))
    Model.tokens += 1
    with pytest.raises(InputError, match="base's .* tokens"):
        module.initialized_model(base, training_data, "folder", SidrSettings(**FAST))


def test_what_serves_is_the_model_with_its_scales_and_settings():
    import torch

    from vizsla.learning.torch_vocabulary import VocabularyModel

    base, chosen = tiny_base(), SidrSettings(**FAST, item_tokens=False)
    clicked = ClickLog.of(dataset(), base.items)
    ready = prepared(base, clicked, list(ITEMS.values()), chosen)
    model = VocabularyModel(model_folder(), item_scale=0.3)
    with torch.no_grad():
        model.query_scale.fill_(0.7)
    found = _encoder(base, clicked, model, ready, chosen, None)
    assert found.settings == {
        "query_scale": pytest.approx(0.7), "item_scale": pytest.approx(0.3), "most": 9, "max_tokens": 11, "b": 0.5,
        "mean_length": 0.0, "query_form": "full", "item_form": "full",
    }  # fmt: skip
    assert found.tokens.tolist() == ready.training_data.held.tolist() and not found.table.weights.any()


def test_a_checkpoint_belongs_to_its_data_model_and_settings():
    base, model = tiny_base(), SimpleNamespace(name="model")
    clicked = ClickLog.of(dataset(), base.items)
    others = [ClickLog.of(dataset(seed), base.items) for seed in (1, 2)]
    less = clicked.take(np.arange(len(clicked) - 1))
    base_of_less = vizsla.tokens(ITEMS, analyzer=WordPiece(tokens()[:-1]))
    chosen = SidrSettings(**FAST)
    keys = [training_key(base, log, model, chosen) for log in (clicked, less, *others)]
    keys += [training_key(base_of_less, clicked, model, chosen)]
    keys += [training_key(base, clicked, SimpleNamespace(name="another"), chosen)]
    keys += [training_key(base, clicked, model, SidrSettings(**FAST, seed=1))]
    assert len(set(keys)) == len(keys) and keys[0] == training_key(base, clicked, model, chosen)


@pytest.mark.parametrize(("retrieved", "depth"), [(0, 1), (1, 1), (5, 5)])
def test_a_teacher_scores_as_deep_as_beta_search_finds(retrieved, depth, monkeypatch):
    seen = []
    monkeypatch.setattr(module, "Teacher", lambda teacher, queries, *, depth: seen.append((teacher, queries, depth)))
    base = tiny_base()
    clicked = ClickLog.of(dataset(), base.items)
    chosen = SidrSettings(**{**FAST, "retrieved": retrieved})
    assert taught_by(base, None, clicked, chosen) is None
    teacher = TableRetriever({}, list(base.items))
    taught_by(base, teacher, clicked, chosen)
    ((given, queries, found),) = seen
    assert given is teacher and queries.texts == clicked.texts and found == depth
    with pytest.raises(InputError, match="in their order"):
        taught_by(base, TableRetriever({}, list(base.items)[::-1]), clicked, chosen)


def test_int8_is_judged_by_recall_on_the_drawn_queries():
    data, base = dataset(), tiny_base()
    search = base.with_table(tiny_encoder())
    clicked = ClickLog.of(data, search.items)
    small, check = quantize_sidr(search, data, queries=17, depth=3, max_loss=1.0, seed=6)
    assert (check.queries, check.items, check.depth, check.max_loss) == (17, len(search.items), 3, 1.0)
    drawn = np.sort(np.random.default_rng(6).permutation(len(clicked))[:17])
    asked = clicked.take(drawn)
    before, after = ([set(row) for row in one(asked.texts, k=3).ids] for one in (search, small))
    right = [{search.items[item] for item in asked.clicks[[row]].indices} for row in range(17)]
    for name, found, wanted in (("before", before, right), ("after", after, right), ("agreement", after, before)):
        shares = [len(row & want) / len(want) for row, want in zip(found, wanted, strict=True)]
        assert quality(check, name) == pytest.approx(np.mean(shares)), name
    assert small.encoder.settings == search.encoder.settings
    with pytest.raises(InputError, match="SiDR's encoder"):
        quantize_sidr(base, data)
    with pytest.raises(InputError, match="`queries`"):
        quantize_sidr(search, data, queries=0)


def quality(check, name):
    names = {"before": "recall", "after": "recall_int8", "agreement": "agreement"}
    return getattr(check, names[name])


@pytest.mark.parametrize("change", ["table", "model", "tokens", *SETTING_TYPES])
def test_every_part_and_setting_has_a_say_in_the_fingerprint(change):
    one = tiny_encoder()
    parts = {"table": one.table, "model": one.model, "tokens": one.tokens}
    own = {"query_form": "learned", "item_form": "binary", "most": 8, "max_tokens": 10}
    if change == "table":
        parts["table"] = type(one.table)(one.table.words, one.table.weights + np.float32(1))
    elif change in parts:
        parts[change] = np.array(parts[change])
        parts[change][0] += 1 if change == "model" else -1
    same = SidrEncoder(one.table, one.model, one.tokens, **one.settings)
    options = one.settings if change in parts else {**one.settings, change: own.get(change, 0.125)}
    other = SidrEncoder(parts["table"], parts["model"], parts["tokens"], **options)
    assert same.fingerprint == one.fingerprint != other.fingerprint


def test_an_item_that_is_all_model_has_a_scale_even_at_0():
    one = tiny_encoder()
    texts = list(ITEMS.values())[:3]
    still = SidrEncoder(one.table, one.model, one.tokens, **{**one.settings, "item_scale": 0.0})
    said = still.with_forms(items="learned").items(texts).toarray()
    full = SidrEncoder(one.table, one.model, one.tokens, **{**one.settings, "item_scale": 1.0})
    assert (said == full.with_forms(items="learned").items(texts).toarray()).all() and said.any()
    assert not still.items(texts).toarray().any()  # beside nothing, with no mean length


@pytest.mark.parametrize("name", [*SETTING_TYPES])
def test_every_wrong_setting_of_an_encoder_is_refused_by_name(name):
    one = tiny_encoder()
    wrong = {"query_form": ["other"], "item_form": ["other"], "b": [-0.1, 1.1], "most": [0, -1], "max_tokens": [2]}
    for value in wrong.get(name, [-0.5, 2e6, float("nan")]):
        assert SidrEncoder(one.table, one.model, one.tokens, max_tokens=3, most=1).max_tokens == 3
        with pytest.raises(InputError, match=f"`{name}`"):
            SidrEncoder(one.table, one.model, one.tokens, **{**one.settings, name: value})


COUNTS = ("epochs", "batch", "vectors", "negatives", "tokens", "served_epochs")
FROM_0 = ("retrieved", "frozen_layers", "table_epochs", "masked_steps", "seed")
BARS = {**dict.fromkeys(COUNTS, (1, 0)), **dict.fromkeys(FROM_0, (0, -1)), "max_steps": (1, 0), "folds": (2, 1)}
BARS |= dict.fromkeys(("rate", "head_rate", "bias_rate", "teacher_share"), (0.0, -0.01))
BARS |= {"max_tokens": (3, 2), "warm_up": (1.0, 1.01), "dropout": (0.99, 1.0)}


@pytest.mark.parametrize("name", BARS)
def test_every_setting_of_training_has_its_bar(name):
    least, beyond = BARS[name]
    assert getattr(SidrSettings(**{name: least}), name) == least
    for value in (beyond, float("nan"), "many"):
        with pytest.raises(InputError, match=f"`{name}`"):
            SidrSettings(**{name: value})


def test_an_encoder_counts_table_model_and_tokens_once_for_all_forms():
    one = tiny_encoder()
    whole = one.table.nbytes + one.model.nbytes + one.tokens.nbytes
    assert one.nbytes == sum(one._byte_counts().values()) == whole
    both = {**one._byte_counts(), **one.with_forms(queries="tokens")._byte_counts()}
    assert sum(both.values()) == whole


def test_what_counts_most_comes_first_in_an_explanation():
    """A query of an encoder that adds tokens has hundreds: in the order of the text they would say little."""
    search = tiny_base().with_table(tiny_encoder())
    for query in ("a plum tree please", "orchard of lemon juice"):
        scores = [part.score for part in search.explain(query, "plum-tree").parts]
        assert len(scores) > 2 and scores == sorted(scores, reverse=True)
