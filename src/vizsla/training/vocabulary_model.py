"""VocabularyModel: a transformer with a head over the vocabulary, whose weights learn (extra `neural`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.errors import InputError
from vizsla.extra import import_extra
from vizsla.training.masked_head import Loaded, load_head

Tokens = NDArray[np.int64]
CHUNK = 16
"""Texts of like length that go through the transformer together, so that little is padded."""


class Encoding(NamedTuple):
    """States of the tokens of some texts, one text after another, without padding."""

    states: Any
    lengths: Any


class VocabularyModel:
    """Texts become weights over a vocabulary: the highest of all positions, through elu1p (x + 1, or e^x below 0).

    Parameters
    ----------
    folder : path
        A BERT-like checkpoint. Where it has no masked-language-model head, the head begins as its word embeddings.
    seed : int
        Fixes dropout.
    dropout : float
        The share of activations that is left out in training.
    frozen_layers : int
        How many of the lowest layers stay as they are, with the embeddings of words.
    item_scale : float
        Where the scale of items' values begins; it learns in steps of its own size.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        seed: int = 0,
        dropout: float = 0.0,
        frozen_layers: int = 0,
        item_scale: float = 1.0,
    ):
        self._torch: Any = import_extra("torch", "Training SiDR", "neural")
        self._torch.manual_seed(seed)
        self.folder = Path(folder)
        self.name = self.folder.name
        head: Loaded = load_head(self.folder, dropout)
        self.body, self.has_head = head.body, head.has_head
        parameter = self._torch.nn.Parameter
        self.weight, self.bias = parameter(head.weight), parameter(head.bias)
        self.query_scale = parameter(self._torch.ones(()))
        self._first_item_scale, self._item_factor = item_scale, parameter(self._torch.ones(()))
        self._freeze(frozen_layers)

    @property
    def item_scale(self) -> Any:
        """What items' values are multiplied by."""
        return self._first_item_scale * self._item_factor

    @property
    def tokens(self) -> int:
        """How many tokens the head can score."""
        return int(self.weight.shape[0])

    @property
    def longest(self) -> int:
        """How many tokens of a text the transformer can read."""
        return int(self.body.config.max_position_embeddings)

    def groups(self) -> list[tuple[str, list[Any]]]:
        """Return what learns: the transformer, the head's weights, and its few other numbers."""
        body = [each for each in self.body.parameters() if each.requires_grad]
        return [("body", body), ("head", [self.weight]), ("rest", [self.bias, self.query_scale, self._item_factor])]

    def parameters(self) -> list[Any]:
        """Return all that learns."""
        return [each for _, group in self.groups() for each in group]

    def begin_step(self, seed: int) -> None:
        """Let dropout draw, and fix what it draws next, so that a step is the same after a break."""
        self.body.train()
        self._torch.manual_seed(seed)

    def encode(self, texts: Sequence[Tokens]) -> Encoding:
        """Run token ids through the transformer; states keep the texts' order."""
        torch, states = self._torch, [None] * len(texts)
        for chosen in _chunks(texts):
            for number, rows in zip(chosen, self._states([texts[n] for n in chosen]), strict=True):
                states[number] = rows
        lengths = torch.tensor([len(text) for text in texts], dtype=torch.int64)
        return Encoding(torch.cat(states), lengths)

    def values(self, encoding: Encoding, tokens: Tokens, *, scale: Any = None) -> Any:
        """Return each text's values of some tokens, which gradients can follow."""
        values = self._torch.nn.functional.elu(self.highest(encoding, tokens)) + 1
        return values if scale is None else scale * values

    def highest(self, encoding: Encoding, tokens: Tokens) -> Any:
        """Return the highest of what the head says of some tokens at all positions of each text."""
        torch = self._torch
        chosen = torch.from_numpy(np.ascontiguousarray(tokens, np.int64))
        logits = torch.nn.functional.linear(encoding.states, self.weight[chosen], self.bias[chosen])
        return torch.segment_reduce(logits, "max", lengths=encoding.lengths, axis=0)

    def fixed_values(self, encoding: Encoding, tokens: Tokens, *, scale: Any = None) -> NDArray[np.float32]:
        """Return the same as an array, which no gradient follows."""
        with self._torch.no_grad():
            plain = Encoding(encoding.states.detach(), encoding.lengths)
            return np.ascontiguousarray(self.values(plain, tokens, scale=scale).numpy())

    def guessing(self, texts: Sequence[Tokens], places: Tokens, tokens: Tokens, wanted: Tokens) -> Any:
        """Return the mean cross entropy of the wanted tokens at some places of the texts, laid end to end."""
        torch, chosen = self._torch, self._torch.from_numpy(np.ascontiguousarray(tokens, np.int64))
        states = self.encode(texts).states[torch.from_numpy(places)]
        logits = torch.nn.functional.linear(states, self.weight[chosen], self.bias[chosen])
        return torch.nn.functional.cross_entropy(logits, torch.from_numpy(wanted.astype(np.int64)))

    def no_gradients(self) -> Any:
        """Return a context in which nothing is remembered for gradients; nothing is dropped from now on."""
        self.body.eval()
        return self._torch.no_grad()

    def _states(self, texts: Sequence[Tokens]) -> Iterator[Any]:
        torch = self._torch
        longest = max(len(text) for text in texts)
        ids = torch.zeros((len(texts), longest), dtype=torch.int64)
        mask = torch.zeros((len(texts), longest), dtype=torch.int64)
        for row, text in enumerate(texts):
            ids[row, : len(text)], mask[row, : len(text)] = torch.from_numpy(np.asarray(text, np.int64)), 1
        padded = longest > min(len(text) for text in texts)
        out = self.body(input_ids=ids, attention_mask=mask if padded else None)
        states = self.states_of(out)
        for row, text in enumerate(texts):
            yield states[row, : len(text)]

    def states_of(self, out: Any) -> Any:
        """Return what the head's matrix is multiplied with, from the transformer's output."""
        return out.logits if self.has_head else out.last_hidden_state

    def _freeze(self, layers: int) -> None:
        if not layers:
            return
        base = getattr(self.body, getattr(self.body, "base_model_prefix", ""), self.body)
        stack = getattr(getattr(base, "encoder", None) or getattr(base, "transformer", None), "layer", None)
        if stack is None or layers > len(stack):
            raise InputError(f"`frozen_layers` must be at most the transformer's layers. Got {layers}.")
        for part in (base.embeddings, *stack[:layers]):
            for each in part.parameters():
                each.requires_grad_(False)


def _chunks(texts: Sequence[Tokens]) -> Iterator[list[int]]:
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    for start in range(0, len(order), CHUNK):
        yield order[start : start + CHUNK]
