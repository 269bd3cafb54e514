"""Cross-encoders in torch and in ONNX: the same numbers, whatever the batch; saved, loaded, counted and limited."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from tests.support.tiny_bert import tiny_bert
from vizsla.core.candidates import Candidates
from vizsla.errors import BudgetError, InputError
from vizsla.methods.bm25 import bm25
from vizsla.scorers.cache import ScoreCache
from vizsla.scorers.cross_encoder import CrossEncoder
from vizsla.scorers.wrappers import Budget

ITEMS = {"a": "fig tree", "b": "pear tree leaf", "c": "stone river", "d": "fig fig fig seed bark root", "e": ""}
QUERIES = ["fig", "river stone plum", "tree"]
PAIRS = [(query, text) for query in QUERIES for text in ITEMS.values()]


@pytest.fixture(scope="module", params=["head", "dot"])
def torch_model(request, tmp_path_factory):
    folder = tiny_bert(tmp_path_factory.mktemp("bert") / "model", head=request.param == "head")
    from vizsla.scorers.pair_models import TorchPairModel

    return TorchPairModel(folder, form=request.param)


@pytest.fixture(scope="module")
def onnx_model(torch_model, tmp_path_factory):
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    from vizsla.export.pairs import export_pair_model

    return export_pair_model(torch_model, tmp_path_factory.mktemp("onnx") / "model")


def scores(model):
    return model.scores(*map(list, zip(*PAIRS, strict=True)))


def by_hand(model):
    """Read one pair at a time with transformers alone."""
    found = []
    for query, text in PAIRS:
        made = model.model(**model.tokenizer([query], [text], return_tensors="pt"))
        if model.form == "head":
            found.append(made.logits[0, 0].item())
        else:
            states = made.last_hidden_state[0].detach().numpy()
            found.append(states[0] @ states[-1] / 4)  # the root of 16 numbers
    return found


def test_torch_scores_are_those_of_a_pair_alone(torch_model):
    assert np.allclose(scores(torch_model), by_hand(torch_model), atol=1e-5)
    assert np.ptp(scores(torch_model)) > 0.01


def test_onnx_scores_are_torchs(torch_model, onnx_model):
    assert np.allclose(scores(torch_model), scores(onnx_model), atol=1e-4)


def test_fingerprints_change_with_what_changes_scores(torch_model, onnx_model, tmp_path):
    from vizsla.scorers.pair_models import OnnxPairModel, TorchPairModel

    again = TorchPairModel(torch_model.name, form=torch_model.form)
    shorter = TorchPairModel(torch_model.name, form=torch_model.form, max_tokens=8)
    fewer = TorchPairModel(torch_model.name, form=torch_model.form, layers=1)
    assert again.fingerprint == torch_model.fingerprint
    assert len({torch_model.fingerprint, shorter.fingerprint, fewer.fingerprint, onnx_model.fingerprint}) == 4
    assert OnnxPairModel(onnx_model.path, max_tokens=8).fingerprint != onnx_model.fingerprint
    assert torch_model.save(tmp_path / "saved").fingerprint == torch_model.fingerprint


def test_every_pair_is_a_model_call_and_budgets_and_caches_hold(onnx_model, tmp_path):
    scorer = CrossEncoder(ITEMS, onnx_model)
    search = bm25(ITEMS) >> scorer
    assert search("fig").stats.model_calls == 2
    cached = bm25(ITEMS) >> ScoreCache(scorer, tmp_path / "scores.db")
    assert [cached("fig").stats.model_calls for _ in range(2)] == [2, 0]
    assert cached("fig").to_dict() == search("fig").to_dict()
    with pytest.raises(BudgetError):
        (bm25(ITEMS) >> Budget(scorer, calls=1))("fig")


@pytest.mark.parametrize("bundle", [None, True, False])
def test_saved_inside_or_by_name(torch_model, onnx_model, bundle, tmp_path):
    for model in (torch_model, onnx_model):
        search = bm25(ITEMS) >> CrossEncoder(ITEMS, model)
        saved = tmp_path / type(model).__name__
        search.save(saved, bundle_models=bundle)
        loaded = vizsla.load(saved)
        assert loaded(QUERIES).to_dict() == search(QUERIES).to_dict()
        assert loaded.scorer.fingerprint == model.fingerprint
        again = vizsla.load(loaded.save(tmp_path / f"{type(model).__name__} again", bundle_models=bundle))
        assert again(QUERIES).to_dict() == search(QUERIES).to_dict()


def test_a_model_of_which_some_layers_are_kept_is_loaded_with_as_many(torch_model, tmp_path):
    from vizsla.scorers.pair_models import TorchPairModel

    model = TorchPairModel(torch_model.name, form=torch_model.form, layers=1)
    assert model.fingerprint != torch_model.fingerprint
    search = bm25(ITEMS) >> CrossEncoder(ITEMS, model)
    assert vizsla.load(search.save(tmp_path / "saved"))(QUERIES).to_dict() == search(QUERIES).to_dict()
    with pytest.raises(InputError, match="`layers` must be a whole number above 0"):
        TorchPairModel(torch_model.name, layers=0)
    with pytest.raises(InputError, match="^`form` must be one of head, dot"):
        TorchPairModel(torch_model.name, form="foot")


def test_pairs_are_cut_where_the_model_ends(torch_model):
    from vizsla.scorers.pair_models import TorchPairModel

    model = TorchPairModel(torch_model.name, form=torch_model.form, max_tokens=9999)
    assert model.max_tokens == 64 and np.isfinite(model.scores(["fig"], ["tree " * 200])).all()


def test_a_pair_alone_is_the_pair_in_company(onnx_model, tmp_path):
    from vizsla.export.pairs import quantize_pair_model

    lists = [list(ITEMS.values())] * len(QUERIES)
    small, _ = quantize_pair_model(onnx_model, tmp_path / "int8", QUERIES, lists, depth=2, max_loss=1.0)
    for model in (onnx_model, small):
        together = scores(model)
        assert together.tolist() == [float(model.scores([query], [text])[0]) for query, text in PAIRS]


def test_int8_is_kept_only_if_it_holds(onnx_model, tmp_path):
    from vizsla.export.pairs import quantize_pair_model

    lists = [list(ITEMS.values())] * len(QUERIES)
    small, check = quantize_pair_model(onnx_model, tmp_path / "int8", QUERIES, lists, depth=2, max_loss=1.0)
    assert check.accepted and small.path == tmp_path / "int8" and small.fingerprint != onnx_model.fingerprint
    refused, check = quantize_pair_model(onnx_model, tmp_path / "no", QUERIES, lists, depth=2, max_loss=-2.0)
    assert not check.accepted and refused is onnx_model and not (tmp_path / "no").exists()


def test_what_is_no_model_is_said(tmp_path, onnx_model):
    with pytest.raises(InputError, match="hub id or folder"):
        CrossEncoder(ITEMS, tmp_path / "nothing", download=False)
    with pytest.raises(InputError, match="as many as"):
        onnx_model.scores(["fig"], [])
    with pytest.raises(InputError, match="options"):
        CrossEncoder(ITEMS, onnx_model, batch=3)


def test_pairs_too_long_for_an_onnx_model_are_said(onnx_model):
    from vizsla.scorers.pair_models import OnnxPairModel

    model = OnnxPairModel(onnx_model.path, max_tokens=9999)
    with pytest.raises(InputError, match="must read 203 tokens .give a smaller `max_tokens`"):
        model.scores(["fig"], ["tree " * 199])


def test_a_model_without_a_head_is_trained_before_it_scores(tmp_path):
    from vizsla.scorers.pair_models import TorchPairModel

    folder = tiny_bert(tmp_path / "bert", head=False)
    with pytest.raises(InputError, match=r"brings no classifier\.bias.*train_cross_encoder"):
        CrossEncoder(ITEMS, folder, download=False)
    TorchPairModel(folder, untrained=True, download=False).save(tmp_path / "begun")
    assert len(CrossEncoder(ITEMS, tmp_path / "begun", download=False).model.scores(["fig"], ["fig tree"])) == 1
    assert TorchPairModel(folder, form="dot", download=False).form == "dot"


def test_company_changes_little(onnx_model):
    scorer = CrossEncoder(ITEMS, onnx_model)
    together = scorer.score("fig", Candidates.from_dict({"0": dict.fromkeys(ITEMS, 0.0)})).to_dict()["0"]
    for item in ITEMS:
        alone = scorer.score("fig", Candidates.from_dict({"0": {item: 0.0}})).to_dict()["0"][item]
        assert abs(alone - together[item]) < 1e-5


def test_a_model_that_is_opened_twice_is_in_memory_once(onnx_model, tmp_path):
    first, second = CrossEncoder(ITEMS, onnx_model.path), CrossEncoder(ITEMS, onnx_model.path)
    assert first.model is second.model is not CrossEncoder(ITEMS, onnx_model.path, max_tokens=9).model
    for name in ("one", "two"):
        first.save(tmp_path / name)
    one, two = vizsla.load(tmp_path / "one"), vizsla.load(tmp_path / "two")
    assert one.model.loaded() is two.model.loaded()
