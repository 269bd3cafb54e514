"""A transformer with a vocabulary head: loading, bias initialization and masked-language training (extra `neural`)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import import_extra
from vizsla._internal.terminal import progress
from vizsla.errors import InputError
from vizsla.learning.optimizers import rate_factor
from vizsla.learning.torch_optimizers import TorchAdamW
from vizsla.typing import Int64Array


class Loaded(NamedTuple):
    """A transformer, whether its output went through a head's own layers, and the last matrix of the head."""

    body: Any
    has_head: bool
    weight: Any
    bias: Any


def load_head(folder: Path, dropout: float) -> Loaded:
    """Load a checkpoint from a folder; its head's last matrix comes apart, so that few of its rows can be asked."""
    transformers: Any = import_extra("transformers", "Training SiDR", "neural")
    if not (folder / "config.json").exists():
        raise InputError(f"`model` must be the folder of a BERT-like model. Got {folder}, which has no config.json.")
    safetensors: Any = import_extra("safetensors", "Training SiDR", "neural")
    try:
        return _loaded(transformers, folder, dropout)
    except (OSError, ValueError, RuntimeError, safetensors.SafetensorError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"`model` must be the folder of a BERT-like model. Got {folder}: {reason}") from error


def _loaded(transformers: Any, folder: Path, dropout: float) -> Loaded:
    with warnings.catch_warnings(), _silence(transformers):
        warnings.simplefilter("ignore")
        config = transformers.AutoConfig.from_pretrained(str(folder), local_files_only=True)
        for name in ("hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout"):
            if hasattr(config, name):
                setattr(config, name, dropout)
        body = _with_head(transformers, folder, config)
        return _split(body) if body is not None else _headless(transformers, folder, config)


@contextmanager
def _silence(transformers: Any) -> Iterator[None]:
    """Hide the library's progress bar while weights are read."""
    logging = transformers.utils.logging
    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def _with_head(transformers: Any, folder: Path, config: Any) -> Any:
    """Return the model with its head, or None when the checkpoint has none."""
    if not any("MaskedLM" in name or "PreTraining" in name for name in config.architectures or []):
        return None
    options = {"config": config, "local_files_only": True, "use_safetensors": True}
    return transformers.AutoModelForMaskedLM.from_pretrained(str(folder), **options).float()


def _split(body: Any) -> Loaded:
    torch = import_extra("torch", "Training SiDR", "neural")
    last = body.get_output_embeddings()
    weight = last.weight.detach().clone()
    bias = torch.zeros(len(weight)) if last.bias is None else last.bias.detach().clone()
    through = torch.nn.Identity()
    through.bias = None  # BERT's setter reads it
    body.set_output_embeddings(through)
    return Loaded(body, True, weight, bias)


def _headless(transformers: Any, folder: Path, config: Any) -> Loaded:
    torch = import_extra("torch", "Training SiDR", "neural")
    options = {"config": config, "local_files_only": True, "use_safetensors": True}
    body = transformers.AutoModel.from_pretrained(str(folder), **options).float()
    weight = body.get_input_embeddings().weight.detach().clone()
    return Loaded(body, False, weight, torch.zeros(len(weight)))


TEXTS_PER_PASS = 16
"""Texts of like length that go through the transformer together, so that little is padded."""


class TokenBatch(NamedTuple):
    """Token states of some texts, concatenated without padding."""

    states: Any
    lengths: Any


class VocabularyModel:
    """Encodes texts as weights over a vocabulary: the maximum over positions of elu1p (x + 1, or e^x below 0).

    Parameters
    ----------
    folder : path
        A BERT-like checkpoint. Where it has no masked-language-model head, the head begins as its word embeddings.
    seed : int
        Fixes dropout.
    dropout : float
        The share of activations that is left out in training.
    frozen_layers : int
        Number of lowest layers that are not trained, like the word embeddings.
    item_scale : float
        Where the scale of items' values begins; it learns in steps of its own size.
    learns_scales : bool
        Whether the scales of queries' and items' values learn.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        seed: int = 0,
        dropout: float = 0.0,
        frozen_layers: int = 0,
        item_scale: float = 1.0,
        learns_scales: bool = True,
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
        self.learns_scales = learns_scales
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
        scales = [self.query_scale, self._item_factor] if self.learns_scales else []
        return [("body", body), ("head", [self.weight]), ("rest", [self.bias, *scales])]

    def parameters(self) -> list[Any]:
        """Return all that learns."""
        return [each for _, group in self.groups() for each in group]

    def begin_step(self, seed: int) -> None:
        """Let dropout draw, and fix what it draws next, so that a step is the same after a break."""
        self.body.train()
        self._torch.manual_seed(seed)

    def encode(self, texts: Sequence[Int64Array]) -> TokenBatch:
        """Run token ids through the transformer; states keep the texts' order."""
        torch, states = self._torch, [None] * len(texts)
        for chosen in _chunks(texts):
            for number, rows in zip(chosen, self._states([texts[n] for n in chosen]), strict=True):
                states[number] = rows
        lengths = torch.tensor([len(text) for text in texts], dtype=torch.int64)
        return TokenBatch(torch.cat(states), lengths)

    def values(self, encoding: TokenBatch, tokens: Int64Array, *, scale: Any = None) -> Any:
        """Return each text's values of some tokens, which gradients can follow."""
        values = self._torch.nn.functional.elu(self.highest(encoding, tokens)) + 1
        return values if scale is None else scale * values

    def highest(self, encoding: TokenBatch, tokens: Int64Array) -> Any:
        """Return the highest of what the head says of some tokens at all positions of each text."""
        torch = self._torch
        chosen = torch.from_numpy(np.ascontiguousarray(tokens, np.int64))
        logits = torch.nn.functional.linear(encoding.states, self.weight[chosen], self.bias[chosen])
        return torch.segment_reduce(logits, "max", lengths=encoding.lengths, axis=0)

    def fixed_values(self, encoding: TokenBatch, tokens: Int64Array, *, scale: Any = None) -> NDArray[np.float32]:
        """Return the same as an array, which no gradient follows."""
        with self._torch.no_grad():
            plain = TokenBatch(encoding.states.detach(), encoding.lengths)
            return np.ascontiguousarray(self.values(plain, tokens, scale=scale).numpy())

    def guessing(self, texts: Sequence[Int64Array], places: Int64Array, tokens: Int64Array, wanted: Int64Array) -> Any:
        """Return the mean cross entropy of the wanted tokens at some places of the texts, laid end to end."""
        torch, chosen = self._torch, self._torch.from_numpy(np.ascontiguousarray(tokens, np.int64))
        states = self.encode(texts).states[torch.from_numpy(places)]
        logits = torch.nn.functional.linear(states, self.weight[chosen], self.bias[chosen])
        return torch.nn.functional.cross_entropy(logits, torch.from_numpy(wanted.astype(np.int64)))

    def no_gradients(self) -> Any:
        """Return a context in which nothing is remembered for gradients; nothing is dropped from now on."""
        self.body.eval()
        return self._torch.no_grad()

    def _states(self, texts: Sequence[Int64Array]) -> Iterator[Any]:
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


def _chunks(texts: Sequence[Int64Array]) -> Iterator[list[int]]:
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    for start in range(0, len(order), TEXTS_PER_PASS):
        yield order[start : start + TEXTS_PER_PASS]


INITIAL_LOGIT = -2.0
"""A token's highest value in a text that says nothing about it, before elu1p."""
SAMPLE_TEXTS_PER_BATCH = 50


def center(model: VocabularyModel, *samples: Sequence[Int64Array], level: float = INITIAL_LOGIT) -> None:
    """Set the head's biases so that every token has this level in the mean over the samples, each counting alike.

    A head tied to word embeddings gives common words high values in every text; so beta search would rank by them.
    """
    means = [np.mean(list(_means(model, sample)), axis=0) for sample in samples]
    torch = model._torch
    with torch.no_grad():
        model.bias += level - torch.from_numpy(np.mean(means, axis=0).astype(np.float32))


def _means(model: VocabularyModel, texts: Sequence[Int64Array]) -> Iterator[NDArray[np.float32]]:
    """Yield the mean highest value of every token, over some texts at a time."""
    for start in range(0, len(texts), SAMPLE_TEXTS_PER_BATCH):
        with model.no_gradients():
            encoding = model.encode(texts[start : start + SAMPLE_TEXTS_PER_BATCH])
            yield model.highest(encoding, np.arange(model.tokens)).mean(dim=0).numpy()


MLM_TEXTS_PER_STEP = 32
MASKED_SHARE = 0.15
"""Of a text's tokens; four in five become [MASK], one in ten another token, one in ten stays (as BERT was trained)."""
MLM_RATES = {"body": 5e-5, "head": 2e-4, "rest": 2e-3}


def train_masked(
    model: VocabularyModel, texts: Sequence[Int64Array], tokens: Int64Array, mask: int, *, steps: int, seed: int = 0
) -> list[float]:
    """Train the model on texts by masked tokens, and return each step's loss; only tokens of the texts are predicted.

    Parameters
    ----------
    model : VocabularyModel
        The model.
    texts : sequence of int64 arrays
        Token ids between [CLS] and [SEP].
    tokens : int64 array
        The tokens among which to choose, ascending.
    mask : int
        The id of [MASK].
    steps : int
        How many batches of 32 texts.
    seed : int
        Seed of all random numbers.
    """
    optimizer = TorchAdamW(model.groups(), MLM_RATES)
    long = [number for number, text in enumerate(texts) if len(text) > 2]
    losses = []
    for step in progress(range(steps if long else 0), what="masked words"):
        model.begin_step(seed + step)
        rng = np.random.default_rng([seed, 2, step])
        chosen = [texts[long[number]] for number in rng.integers(0, len(long), MLM_TEXTS_PER_STEP)]
        losses.append(_loss(model, chosen, tokens, mask, rng))
        optimizer.apply(rate_factor(step, steps, warm_up=0.1))
    return losses


def _loss(
    model: VocabularyModel, texts: list[Int64Array], tokens: Int64Array, mask: int, rng: np.random.Generator
) -> float:
    """Compute the gradients of a batch; return its loss."""
    hidden, places, wanted = [], [], []
    start = 0
    for text in texts:
        covered, at = _covered(text, tokens, mask, rng)
        hidden.append(covered)
        places.append(start + at)
        wanted.append(np.searchsorted(tokens, text[at]))
        start += len(text)
    where = np.concatenate(places)
    if not len(where):
        return 0.0
    loss: Any = model.guessing(hidden, where, tokens, np.concatenate(wanted))
    loss.backward()
    return float(loss.detach())


def _covered(
    text: Int64Array, tokens: Int64Array, mask: int, rng: np.random.Generator
) -> tuple[Int64Array, Int64Array]:
    """Return the text with some tokens hidden, and where."""
    inside = 1 + np.flatnonzero(np.isin(text[1:-1], tokens))
    at = np.sort(rng.permutation(inside)[: max(1, round(MASKED_SHARE * len(inside)))])
    kind, covered = rng.random(len(at)), text.copy()
    covered[at[kind < 0.8]] = mask
    others = at[(kind >= 0.8) & (kind < 0.9)]
    covered[others] = tokens[rng.integers(0, len(tokens), len(others))]
    return covered, at
