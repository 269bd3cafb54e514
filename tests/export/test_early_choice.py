"""A cross-encoder's graph chooses its token early: the same scores, and of other tokens no more than they need."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from tests.support.tiny_bert import tiny_bert

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """The graph as it comes from torch."""
    from vizsla.export.onnx import write_traced
    from vizsla.scorers.pair_models import TorchPairModel, pair_scores

    folder = tmp_path_factory.mktemp("early")
    model = TorchPairModel(tiny_bert(folder / "bert", head=True), form="head").model.eval()
    file = folder / "traced.onnx"
    write_traced(model, lambda given: pair_scores(model, given, "head"), file, output=("scores", ("texts",)))
    return onnx.load(str(file))


@pytest.fixture(scope="module")
def early(traced):
    from vizsla.export.pairs import choose_early

    model = type(traced).FromString(traced.SerializeToString())
    choose_early(model)
    onnx.checker.check_model(model)
    return model


def scores(model, tokens):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    shown = {"input_ids": tokens, "attention_mask": tokens * 0 + 1, "token_type_ids": tokens * 0}
    return session.run(None, {each.name: shown[each.name] for each in session.get_inputs()})[0]


def ranks_of_products(model):
    """How many axes states have when they are multiplied by a fixed matrix, product by product."""
    inferred = onnx.shape_inference.infer_shapes(model).graph.value_info
    rank = {each.name: len(each.type.tensor_type.shape.dim) for each in inferred}
    fixed = {each.name for each in model.graph.initializer}
    return [rank[node.input[0]] for node in model.graph.node if node.op_type == "MatMul" and node.input[1] in fixed]


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 5), (16, 12)])
def test_scores_are_the_same(traced, early, shape):
    tokens = np.random.default_rng(0).integers(5, 17, shape)
    assert np.allclose(scores(early, tokens), scores(traced, tokens), rtol=1e-5, atol=1e-6)
    assert shape[0] == 1 or np.ptp(scores(early, tokens)) > 0


def test_only_the_last_layer_behind_its_attention_sees_one_token(traced, early):
    before, after = ranks_of_products(traced), ranks_of_products(early)
    assert set(before) == {3}
    assert after == [*before[:-3], 2, 2, 2]


def test_nothing_is_computed_twice_or_for_nobody(traced, early):
    before, after = (Counter(node.op_type for node in model.graph.node) for model in (traced, early))
    assert all(before[kind] == after[kind] for kind in ("MatMul", "Erf", "Softmax", "LayerNormalization", "Add", "Mul"))
    taken = {given for node in early.graph.node for given in node.input} | {each.name for each in early.graph.output}
    assert all(taken.intersection(node.output) for node in early.graph.node)


def test_states_that_are_given_out_stay_whole(traced):
    from vizsla.export.pairs import choose_early

    model = type(traced).FromString(traced.SerializeToString())
    last = [node.output[0] for node in model.graph.node if node.op_type == "LayerNormalization"][-1]
    model.graph.output.append(onnx.helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None))
    choose_early(model)
    assert set(ranks_of_products(model)) == {3}


def test_a_sum_over_tokens_is_not_moved():
    from vizsla.export.pairs import choose_early

    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    floats = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [
            node("Softmax", ["states"], ["shares"], axis=1),
            node("Add", ["shares", "a row for each token"], ["moved"]),
            node("Gather", ["moved", "first"], ["chosen"], axis=1),
        ],
        "by tokens",
        [value("states", floats, [2, 3, 4])],
        [value("chosen", floats, [2, 4])],
        [
            onnx.numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(3, 4), "a row for each token"),
            onnx.numpy_helper.from_array(np.int64(0), "first"),
        ],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    choose_early(model)
    assert [each.op_type for each in model.graph.node] == ["Softmax", "Add", "Gather", "Identity"]
