"""Loads a transformer with its masked-language-model head, or without one (extra `neural`)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from vizsla.errors import InputError
from vizsla.extra import import_extra


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
    """Keep the library's own progress bar away while weights are read."""
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
