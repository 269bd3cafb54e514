"""TorchTowers: the query and the item side of a sentence-transformers model, trained together (extra `neural`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import import_extra
from vizsla.encoders.sentence import SentenceEncoder
from vizsla.errors import InputError, check_choice
from vizsla.io.atomic import writing_folder
from vizsla.learning.torch_optimizers import TorchAdamW
from vizsla.typing import Float32Array

TOWERS = ("shared", "separate", "queries")
TEXTS_PER_PASS = 32
"""Texts of about one length that go through a model together."""
LAYER = re.compile(r"\.(?:layer|layers|h|block)\.(\d+)\.")


class TorchTowers:
    """Copies of a model trained by AdamW; the caller computes the gradient of the loss by their vectors.

    Parameters
    ----------
    encoder : SentenceEncoder
        The model to copy; it is not changed.
    towers : {"shared", "separate", "queries"}
        One model for both sides, one for each, or one for the queries while item vectors stay.
    rate : float
        The learning rate.
    decay : float
        AdamW's weight decay.
    frozen_layers : int
        Number of lowest layers that are not trained, like the embeddings; 0 trains everything.
    bfloat16 : bool
        Whether the layers compute in bfloat16; weights stay float32.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        *,
        towers: str = "shared",
        rate: float,
        decay: float = 0.01,
        frozen_layers: int = 0,
        bfloat16: bool = False,
    ):
        if not isinstance(encoder, SentenceEncoder):
            raise InputError(f"`encoder` must be a SentenceEncoder to be trained. Got {type(encoder).__name__}.")
        check_choice("towers", towers, TOWERS)
        self._torch: Any = import_extra("torch", "Training a bi-encoder", "neural")
        self.encoder, self.towers, self.bfloat16 = encoder, towers, bfloat16
        self.asking = deepcopy(encoder.model)
        self.answering = self.asking if towers == "shared" else deepcopy(encoder.model)
        learning = [self.asking] if towers != "separate" else [self.asking, self.answering]
        weights = [weight for model in learning for weight in _unfrozen(model, frozen_layers)]
        self.optimizer = TorchAdamW([("model", weights)], {"model": rate}, decay=decay)
        self._pieces: list[tuple[str, NDArray[np.int64], Any]] = []

    def rows(self, queries: Sequence[str], items: Sequence[str], *, seed: int) -> tuple[Float32Array, Float32Array]:
        """Encode both sides with dropout, and remember how, so that `step` can follow; no items where they stay."""
        self.asking.train()
        self.answering.train()
        with self._torch.random.fork_rng():
            self._torch.manual_seed(seed)
            asked = [("query", *piece) for piece in self._encoded("query", queries)]
            self._pieces = asked + [("item", *piece) for piece in self._encoded("item", items)]
        return self._joined("query", len(queries)), self._joined("item", len(items))

    def step(self, by_query: Float32Array, by_item: Float32Array, *, factor: float = 1.0) -> None:
        """Move against the gradient, given by the rows that were encoded last."""
        gradients = {"query": by_query, "item": by_item}
        self.optimizer.step([(rows, gradients[side][which]) for side, which, rows in self._pieces], factor=factor)
        self._pieces = []

    def queries(self, texts: Sequence[str]) -> Float32Array:
        """Encode queries with the model as it is, without dropout."""
        return self._looked_at("query", texts)

    def items(self, texts: Sequence[str]) -> Float32Array:
        """Encode items with the model as it is, without dropout."""
        return self._looked_at("item", texts)

    def save(self, folder: Path) -> None:
        """Write the model of both sides into a new folder; or two, ``queries`` and ``items``, inside of it."""
        with writing_folder(folder) as partial:
            if self.towers == "shared":
                self._save(self.asking, Path(partial))
            else:
                self._save(self.asking, Path(partial) / "queries")
                self._save(self.answering, Path(partial) / "items")

    def _save(self, model: Any, folder: Path) -> None:
        model.eval()
        model.save(str(folder), create_model_card=False)

    def _looked_at(self, side: str, texts: Sequence[str]) -> Float32Array:
        self._model(side).eval()
        found = np.zeros((len(texts), self.encoder.dim), np.float32)
        with self._torch.no_grad():
            for which, rows in self._encoded(side, texts):
                found[which] = _numbers(rows)
        return found

    def _model(self, side: str) -> Any:
        return self.asking if side == "query" else self.answering

    def _encoded(self, side: str, texts: Sequence[str]) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """Encode texts of about one length together, since filling up short ones is work for nothing."""
        order = np.argsort([len(text) for text in texts], kind="stable")
        for first in range(0, len(texts), TEXTS_PER_PASS):
            which = order[first : first + TEXTS_PER_PASS]
            yield which, self._forward(side, [texts[number] for number in which.tolist()])

    def _forward(self, side: str, texts: list[str]) -> Any:
        model = self._model(side)
        prompt = self.encoder.query_prompt if side == "query" else self.encoder.item_prompt
        prepared = getattr(model, "preprocess", None) or model.tokenize
        features = prepared([prompt + text for text in texts])
        device = self.optimizer.parameters[0].device
        features = {name: values.to(device) for name, values in features.items() if hasattr(values, "to")}
        cast = self._torch.autocast(device.type, dtype=self._torch.bfloat16) if self.bfloat16 else nullcontext()
        with cast:
            found = model(features)["sentence_embedding"].float()
        return self._torch.nn.functional.normalize(found, dim=1) if self.encoder.normalize else found

    def _joined(self, side: str, count: int) -> Float32Array:
        found = np.zeros((count, self.encoder.dim), np.float32)
        for its, which, rows in self._pieces:
            if its == side:
                found[which] = _numbers(rows)
        return found


def _unfrozen(model: Any, frozen_layers: int) -> list[Any]:
    """Freeze a model's lowest layers, and return the weights that are left to learn."""
    if frozen_layers:
        named = [(name, LAYER.search(f".{name}"), weight) for name, weight in model.named_parameters()]
        layers = {int(found[1]) for _, found, _ in named if found}
        if frozen_layers >= len(layers):
            raise InputError(f"`frozen_layers` must be below the model's {len(layers)} layers. Got {frozen_layers}.")
        for name, found, weight in named:
            if int(found[1]) < frozen_layers if found else "embed" in name:
                weight.requires_grad_(False)
    return [weight for weight in model.parameters() if weight.requires_grad]


def _numbers(tensor: Any) -> Float32Array:
    return np.array(tensor.detach().cpu().numpy(), np.float32)
