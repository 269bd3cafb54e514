"""TorchPairModel: a transformer that reads query and item together (extra `neural`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vizsla.cached_property import cached_property
from vizsla.checked import checked
from vizsla.encoders.foreign import typed_errors
from vizsla.encoders.weights import config_checksum, tokenizer_checksum, weights_bytes, weights_checksum
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.extra import import_extra
from vizsla.io.atomic import writing_folder
from vizsla.pairs.pair_model import FORMS, Floats, PairModel, checksum_of
from vizsla.short_text import short_text

FORM = "vizsla_form"
"""Where a saved model's configuration says what makes a number of its last layer."""


class TorchPairModel(PairModel):
    """A cross-encoder as transformers loads it. Code from the hub is never run.

    Parameters
    ----------
    name : str
        A hub id, or the folder of a model.
    form : {"head", "dot"}, optional
        "head": a model for sequence classification with one number. "dot": the inner product of the first and the
        last token's vectors, by the root of their dimensions ([EMB]-CE). What the model says, or "head", unless given.
    layers : int, optional
        Keep only so many of its first layers.
    max_tokens : int, optional
        Cut pairs after so many tokens, the longer text first; the model's own limit unless given, or if that is less.
    batch : int
        Pairs that go through the model at once.
    device : str, optional
        Where to compute; the CPU unless given.
    download : bool
        Fetch a model from the hub that is not on this machine yet.
    untrained : bool
        Take a model that brings no head for one number, to train it; it would rank at random, so it is refused else.
    seed : int
        Fixes the weights of such a head.
    """

    @checked
    def __init__(
        self,
        name: str | Path,
        *,
        form: str | None = None,
        layers: int | None = None,
        max_tokens: int | None = None,
        batch: int = 32,
        device: str | None = None,
        download: bool = True,
        untrained: bool = False,
        seed: int = 0,
    ):
        self.name, self.batch = str(name), check_positive("batch", batch)
        self.layers = None if layers is None else check_positive("layers", layers)
        if form is not None:
            check_form(form)
        self.torch = import_extra("torch", f"Scoring with {self.name!r}", "neural")
        self.tokenizer, self.model, self.form, new = _load(self.name, form, layers, download=download, seed=seed)
        if new and not untrained:
            raise InputError(
                f"`name` must be a model with a trained head. Got {self.name!r}, which brings no {', '.join(new)}: "
                'train one with `train_cross_encoder`, or let its tokens\' vectors score with form="dot".'
            )
        self.model.eval().to(device or "cpu")
        wanted = (
            int(self.tokenizer.model_max_length) if max_tokens is None else check_positive("max_tokens", max_tokens)
        )
        self.max_tokens = min(wanted, _positions(self.model))

    def __repr__(self) -> str:
        return short_text(f"TorchPairModel({self.name}", f", {self.form})")

    @property
    def fingerprint(self) -> str:
        """Changes with the weights, the tokeniser, the form and the limit of tokens."""
        return f"pairs:{checksum_of((self.form, self.max_tokens), self._weights):016x}"

    @cached_property
    def _weights(self) -> int:
        seen = tokenizer_checksum(self.tokenizer, weights_checksum(self.model))
        return config_checksum(self.model.config, seen)

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return weights_bytes(self.model)

    @property
    def reference(self) -> dict[str, Any]:
        """What an artefact remembers, to load the model again."""
        name = str(Path(self.name).absolute()) if Path(self.name).is_dir() else self.name
        options = {"form": self.form, "max_tokens": self.max_tokens}
        kept = {} if self.layers is None else {"layers": self.layers}
        return {"kind": "torch", "name": name, "options": options | kept, "bytes": self.nbytes}

    def score_batch(self, queries: list[str], texts: list[str]) -> Floats:
        """Score a few pairs."""
        with self.torch.inference_mode():
            return np.asarray(self.forward(queries, texts).float().cpu().numpy(), np.float32)

    def forward(self, queries: list[str], texts: list[str]) -> Any:
        """Return the scores of a few pairs as a tensor that knows how it was made."""
        device = next(self.model.parameters()).device
        cut = {"truncation": True, "max_length": self.max_tokens, "padding": True, "return_tensors": "pt"}
        given = self.tokenizer(queries, texts, **cut).to(device)
        return pair_scores(self.model, dict(given), self.form)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> TorchPairModel:
        """Write weights and tokeniser to a folder, and return the model of it."""
        setattr(self.model.config, FORM, self.form)
        self.tokenizer.model_max_length = self.max_tokens
        with writing_folder(folder, overwrite=overwrite) as made:
            self.model.save_pretrained(str(made), safe_serialization=True)
            self.tokenizer.save_pretrained(str(made))
        return TorchPairModel(folder, batch=self.batch, download=False, max_tokens=self.max_tokens)


def pair_scores(model: Any, given: dict[str, Any], form: str) -> Any:
    """Return the scores of tokenised pairs: the head's only number, or the inner product of first and last token."""
    if form == "head":
        return model(**given).logits[:, 0]
    states = model(**given).last_hidden_state
    last = given["attention_mask"].sum(dim=1, keepdim=True) - 1
    ends = states.gather(1, last.unsqueeze(2).expand(-1, -1, states.shape[2]))[:, 0]
    return (states[:, 0] * ends).sum(dim=1) / float(states.shape[2]) ** 0.5


def _load(
    name: str, form: str | None, layers: int | None, *, download: bool, seed: int
) -> tuple[Any, Any, str, list[str]]:
    """Return tokenizer, model, form, and the weights of a head that the model does not bring."""
    package = import_extra("transformers", f"Scoring with {name!r}", "neural")
    package.utils.logging.disable_progress_bar()
    package.utils.logging.set_verbosity_error()  # it warns of a new head, which is what training wants
    options: dict[str, Any] = {"trust_remote_code": False, "local_files_only": not download}
    with typed_errors(f"`name` must be a cross-encoder's hub id or folder; {name!r} is not"):
        return _loaded(package, name, form, layers, options, seed)


def _loaded(
    package: Any, name: str, form: str | None, layers: int | None, options: dict[str, Any], seed: int
) -> tuple[Any, Any, str, list[str]]:
    config = package.AutoConfig.from_pretrained(name, **options)
    form = check_form(form or str(getattr(config, FORM, "head")))
    config.num_labels = 1 if form == "head" else config.num_labels
    config.num_hidden_layers = min(layers or config.num_hidden_layers, config.num_hidden_layers)
    import_extra("torch", f"Scoring with {name!r}", "neural").manual_seed(seed)
    kind = package.AutoModelForSequenceClassification if form == "head" else package.AutoModel
    tokenizer = package.AutoTokenizer.from_pretrained(name, **options)
    model, report = kind.from_pretrained(name, config=config, output_loading_info=True, **options)
    return tokenizer, model, form, sorted(report["missing_keys"]) if form == "head" else []


def check_form(form: str) -> str:
    """Return the form if it is one."""
    check_choice("form", form, FORMS)
    return form


def _positions(model: Any) -> int:
    """Return how many tokens the model has places for: more would be none of its input."""
    return int(getattr(model.config, "max_position_embeddings", 512))
