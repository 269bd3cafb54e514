"""Write cross-encoders as ONNX models, in float32 or checked int8."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from vizsla._internal.lazy import import_extra
from vizsla.encoders.onnx import MODEL, TOKENIZER
from vizsla.encoders.persistence import PAIR_SETTINGS as SETTINGS
from vizsla.encoders.persistence import own_files
from vizsla.errors import InputError
from vizsla.export.checks import MAX_RECALL_LOSS, QuantizationCheck, recall_of
from vizsla.export.int8 import quantize_file
from vizsla.export.onnx import write_tokenizer, write_traced
from vizsla.io.atomic import writing_folder
from vizsla.scorers.pair_models import OnnxPairModel, PairModel, PairSettings, TorchPairModel, pair_scores

# An ONNX model that takes one token's states at its end takes them as early as it can.
#
# A cross-encoder's score is read from its first token. Behind the last layer's attention every token goes its own way,
# so all others were computed for nothing: three quarters of that layer's products.

TOKEN_AXIS = 1
NODE_PREFIX = "vizsla_chosen_"
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
    """Which nodes are to see the chosen token alone: those that treat tokens one by one, and only for the choice."""

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
                self.chosen[name] = NODE_PREFIX + name
                yield self.onnx.helper.make_node("Gather", [name, self.index], [NODE_PREFIX + name], axis=TOKEN_AXIS)
        if self._is_choice(node):
            yield self.onnx.helper.make_node("Identity", [self.chosen[states[0]]], list(node.output))
            return
        again = type(node)()
        again.CopyFrom(node)
        again.input[:] = [self.chosen[given] if given in states else given for given in node.input]
        self.chosen[node.output[0]] = again.output[0] = NODE_PREFIX + node.output[0]
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


def export_pair_model(
    model: TorchPairModel, path: str | Path, *, overwrite: bool = False, threads: int = 1
) -> OnnxPairModel:
    """Write a cross-encoder to a folder that `OnnxPairModel` reads, and return that (extras `neural` and `onnx`).

    Parameters
    ----------
    model : TorchPairModel
        A model of either form; its limit of tokens is written, too.
    path : path
        The folder to make.
    overwrite : bool
        Replace a folder that is there already.
    threads : int
        Threads of ONNX Runtime.
    """
    import_extra("onnx", "Exporting to ONNX", "onnx")
    with writing_folder(path, overwrite=overwrite) as folder:
        inner, form = model.model.eval(), model.form
        output = ("scores", ("texts",))
        write_traced(inner, lambda given: pair_scores(inner, given, form), folder / MODEL, output=output)
        choose_early_in_file(folder / MODEL)
        write_tokenizer(model.tokenizer, folder)
        PairSettings(model.max_tokens).write(folder / SETTINGS)
    return OnnxPairModel(path, threads=threads)


def quantize_pair_model(
    model: OnnxPairModel,
    path: str | Path,
    queries: Sequence[str],
    lists: Sequence[Sequence[str]],
    *,
    relevant: Sequence[Sequence[int]] | None = None,
    depth: int = 10,
    max_loss: float = MAX_RECALL_LOSS,
    overwrite: bool = False,
) -> tuple[OnnxPairModel, QuantizationCheck]:
    """Write an int8 twin, let both order the candidates of held-out queries, and keep it if it holds.

    Returns the int8 model, or the given one when recall falls by more than `max_loss`; then nothing is written.

    Parameters
    ----------
    model : OnnxPairModel
        The float32 model.
    path : path
        The folder to make.
    queries : sequence of str
        Held-out queries.
    lists : sequence of sequences of str
        For each query the texts to order, such as those that BM25 finds.
    relevant : sequence of sequences of int, optional
        For each query the positions of the right ones in its list; the one that float32 puts first unless given.
    depth : int
        Depth of the measured recall.
    max_loss : float
        Maximum loss of recall.
    overwrite : bool
        Replace a folder that is there already.
    """
    if not len(queries) or len(queries) != len(lists) or (relevant is not None and len(relevant) != len(queries)):
        raise InputError("`lists` and `relevant` must have an entry for each of some queries. Got others.")
    with TemporaryDirectory() as trial:
        with own_files(model.path) as own:
            quantize_file(own / MODEL, Path(trial) / MODEL)
            for name in (TOKENIZER, SETTINGS):
                if (own / name).exists():
                    shutil.copyfile(own / name, Path(trial) / name)
        small = OnnxPairModel(trial, threads=model.threads, batch=model.batch)
        check = _checked(model, small, queries, lists, relevant, depth, max_loss)
        if not check.accepted:
            return model, check
        with writing_folder(path, overwrite=overwrite) as folder:
            shutil.copytree(trial, folder, dirs_exist_ok=True)
    return OnnxPairModel(path, threads=model.threads, batch=model.batch), check


def _checked(
    full: PairModel,
    small: PairModel,
    queries: Sequence[str],
    lists: Sequence[Sequence[str]],
    relevant: Sequence[Sequence[int]] | None,
    depth: int,
    max_loss: float,
) -> QuantizationCheck:
    before, slow = _orders(full, queries, lists)
    after, fast = _orders(small, queries, lists)
    wanted = [row[:1] for row in before] if relevant is None else [np.asarray(row, np.int64) for row in relevant]
    heads = [row[:depth] for row in before], [row[:depth] for row in after]
    return QuantizationCheck(
        queries=len(queries),
        items=max(map(len, lists)),
        recall=recall_of(heads[0], wanted),
        recall_int8=recall_of(heads[1], wanted),
        agreement=recall_of(heads[1], heads[0]),
        speed=slow / fast,
        depth=depth,
        max_loss=max_loss,
    )


def _orders(model: PairModel, queries: Sequence[str], lists: Sequence[Sequence[str]]) -> tuple[list[np.ndarray], float]:
    """Return each list's positions, best first, and how many seconds that took."""
    model.score_batch([queries[0]], ["a"])  # the first call also sets things up
    asked = [query for query, texts in zip(queries, lists, strict=True) for _ in texts]
    start = perf_counter()
    scores = model.scores(asked, [text for texts in lists for text in texts])
    seconds = perf_counter() - start
    ends = np.cumsum([len(texts) for texts in lists])[:-1]
    return [np.argsort(-row, kind="stable") for row in np.split(scores, ends)], seconds
