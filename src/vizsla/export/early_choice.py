"""An ONNX model that takes one token's states at its end takes them as early as it can.

A cross-encoder's score is read from its first token. Behind the last layer's attention every token goes its own way, so
all others were computed for nothing: three quarters of that layer's products.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vizsla.extra import import_extra

TOKEN_AXIS = 1
PREFIX = "vizsla_chosen_"
TOKEN_BY_TOKEN = {"Erf", "Relu", "Sigmoid", "Sqrt", "Tanh", "Add", "Div", "Mul", "Pow", "Sub"}
"""With numbers, rows of numbers, or other states of the same tokens."""


def choose_early_in_file(file: Path) -> None:
    """Rewrite an ONNX file so that the choice of a token comes before all that is done token by token."""
    onnx = import_extra("onnx", "Exporting to ONNX", "onnx")
    model = onnx.load(str(file))
    choose_early(model)
    onnx.save(model, str(file))


def choose_early(model: Any) -> None:
    """Move every choice of a model's first token up, to where others still need all tokens."""
    onnx = import_extra("onnx", "Exporting to ONNX", "onnx")
    graph = _Graph(onnx, model)
    nodes: list[Any] = []
    for place, node in enumerate(graph.nodes):
        nodes += graph.early(node) if place in graph.moved else [node]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


class _Graph:
    """Which nodes are to see the chosen token alone: those that treat tokens one by one, for nobody but the choice."""

    def __init__(self, onnx: Any, model: Any):
        self.onnx, self.nodes = onnx, list(model.graph.node)
        tensors = {each.name: each for each in model.graph.initializer}
        for node in self.nodes:  # equal tensors are stored once, and named again
            if _is_tensor(node):
                tensors[node.output[0]] = node.attribute[0].t
            elif node.op_type == "Identity" and node.input[0] in tensors:
                tensors[node.output[0]] = tensors[node.input[0]]
        self.fixed = {name: list(tensor.dims) for name, tensor in tensors.items()}
        self.zeros = {name for name, tensor in tensors.items() if _is_zero(onnx, tensor)}
        known = onnx.shape_inference.infer_shapes(model).graph.value_info
        self.ranks = {each.name: len(each.type.tensor_type.shape.dim) for each in known if _has_shape(each)}
        self.chosen: dict[str, str] = {}
        self.moved = self._moved({each.name for each in model.graph.output})

    def early(self, node: Any) -> Iterator[Any]:
        """Yield the node as it is for one token, after the choices of what it takes."""
        states = node.input[:1] if self._is_choice(node) else self._states(node)
        for name in states:
            if name not in self.chosen:
                self.chosen[name] = PREFIX + name
                yield self.onnx.helper.make_node("Gather", [name, self.index], [PREFIX + name], axis=TOKEN_AXIS)
        if self._is_choice(node):
            yield self.onnx.helper.make_node("Identity", [self.chosen[states[0]]], list(node.output))
            return
        again = type(node)()
        again.CopyFrom(node)
        again.input[:] = [self.chosen[given] if given in states else given for given in node.input]
        self.chosen[node.output[0]] = again.output[0] = PREFIX + node.output[0]
        yield again

    def _moved(self, outputs: set[str]) -> set[int]:
        """Return the places of all such nodes and of the choices themselves."""
        takers: dict[str, list[int]] = {}
        for place, node in enumerate(self.nodes):
            for given in node.input:
                takers.setdefault(given, []).append(place)
        moved: set[int] = set()
        for place in reversed(range(len(self.nodes))):
            node = self.nodes[place]
            if self._is_choice(node):
                self.index = node.input[1]
                moved.add(place)
            elif self._states(node) and node.output[0] not in outputs and moved.issuperset(takers[node.output[0]]):
                moved.add(place)
        return moved

    def _is_choice(self, node: Any) -> bool:
        if node.op_type != "Gather" or node.input[1] not in self.zeros:
            return False
        return _attribute(node, "axis", 0) == TOKEN_AXIS and self.ranks.get(node.input[0]) == 3

    def _states(self, node: Any) -> list[str]:
        """Return which of a node's inputs have tokens, if it treats each token by itself; else none."""
        kind, inputs = node.op_type, list(node.input)
        states = [given for given in inputs if given not in self.fixed]
        if len(node.output) != 1 or any(self.ranks.get(given) != 3 for given in states):
            return []
        fixed = [len(self.fixed[given]) for given in inputs if given in self.fixed]
        if kind == "MatMul":
            return states if states == inputs[:1] and fixed == [2] else []
        if kind == "LayerNormalization":
            return states if states == inputs[:1] and _attribute(node, "axis", -1) == -1 and max(fixed) == 1 else []
        return states if kind in TOKEN_BY_TOKEN and max(fixed, default=0) <= 1 else []


def _is_tensor(node: Any) -> bool:
    return node.op_type == "Constant" and len(node.attribute) == 1 and node.attribute[0].name == "value"


def _is_zero(onnx: Any, tensor: Any) -> bool:
    return not list(tensor.dims) and bool(onnx.numpy_helper.to_array(tensor) == 0)


def _has_shape(value: Any) -> bool:
    return bool(value.type.tensor_type.HasField("shape"))


def _attribute(node: Any, name: str, default: int) -> int:
    return next((int(each.i) for each in node.attribute if each.name == name), default)
