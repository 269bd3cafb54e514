"""Int8 matrices against the same sums in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from vizsla.export.int8 import int8_matrix, quantize_file

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
RANDOM = np.random.default_rng(3)
FIRST, SECOND = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((12, 7), (12, 5)))
STACK = RANDOM.standard_normal((1, 12, 3)).astype(np.float32)


def write(path, opset: int) -> None:
    """Write a model of two products with one input, one with a stack of matrices, and one of two inputs."""
    helper, array = onnx.helper, onnx.numpy_helper.from_array
    nodes = [
        helper.make_node("MatMul", ["x", "first"], ["a"]),
        helper.make_node("MatMul", ["x", "second"], ["b"]),
        helper.make_node("MatMul", ["x", "stack"], ["c"]),
        helper.make_node("Transpose", ["a"], ["turned"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["a", "turned"], ["d"]),
        helper.make_node("Identity", ["second"], ["e"]),
    ]
    float32 = onnx.TensorProto.FLOAT
    given = [helper.make_tensor_value_info("x", float32, ["texts", "tokens", 12])]
    made = [helper.make_tensor_value_info(name, float32, None) for name in "abcde"]
    arrays = [array(FIRST, "first"), array(SECOND, "second"), array(STACK, "stack")]
    graph = helper.make_graph(nodes, "small", given, made, arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    path.write_bytes(model.SerializeToString())


def answers(path, x) -> dict[str, np.ndarray]:
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return dict(zip("abcde", session.run(None, {"x": x}), strict=True))


def by_hand(x, matrix):
    """Round rows and columns by their own largest values, multiply whole numbers, and scale back."""
    numbers, scales = int8_matrix(matrix)
    own = np.maximum(np.abs(x).max(axis=-1, keepdims=True), np.float32(1e-30)) * np.float32(1 / 127)
    whole = np.rint(x / own).astype(np.int64) @ numbers.astype(np.int64)
    return whole.astype(np.float32) * scales * own


@pytest.mark.parametrize("opset", [17, 18])
def test_products_are_those_of_whole_numbers(tmp_path, opset):
    write(tmp_path / "full.onnx", opset)
    quantize_file(tmp_path / "full.onnx", tmp_path / "int8.onnx")
    x = (RANDOM.standard_normal((2, 4, 12)) * 10.0 ** np.arange(-3, 5).reshape(2, 4, 1)).astype(np.float32)
    x[1, 2] = 0
    full, small = answers(tmp_path / "full.onnx", x), answers(tmp_path / "int8.onnx", x)
    for name, matrix in (("a", FIRST), ("b", SECOND)):
        assert np.allclose(small[name], by_hand(x, matrix), rtol=1e-6, atol=0)
        assert not small[name][1, 2].any()
        assert (np.abs(small[name] - full[name]).max(axis=-1) <= 0.05 * np.abs(full[name]).max(axis=-1)).all()
    assert (small["e"] == SECOND).all()
    assert np.allclose(small["d"], small["a"] @ small["a"].swapaxes(1, 2), rtol=1e-4)


def test_only_fixed_matrices_are_rounded_and_what_nobody_needs_is_gone(tmp_path):
    write(tmp_path / "full.onnx", 17)
    quantize_file(tmp_path / "full.onnx", tmp_path / "int8.onnx")
    model = onnx.load(str(tmp_path / "int8.onnx"))
    kinds = [node.op_type for node in model.graph.node]
    assert [kinds.count(kind) for kind in ("MatMulIntegerToFloat", "MatMul", "QuantizeLinear")] == [2, 2, 1]
    names = {each.name for each in model.graph.initializer}
    assert "first" not in names and {"second", "stack"} <= names


def test_a_row_does_not_depend_on_others(tmp_path):
    write(tmp_path / "full.onnx", 17)
    quantize_file(tmp_path / "full.onnx", tmp_path / "int8.onnx")
    x = RANDOM.standard_normal((3, 2, 12)).astype(np.float32)
    x *= np.array([1, 50, 9], np.float32).reshape(3, 1, 1)
    alone = [answers(tmp_path / "int8.onnx", x[row : row + 1, :, :])["a"] for row in range(3)]
    assert (answers(tmp_path / "int8.onnx", x)["a"] == np.concatenate(alone)).all()
