"""A checksum of a torch model's weights, and their bytes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from vizsla import _native
from vizsla.extra import import_extra

PASSING = frozenset(
    {"transformers_version", "torch_dtype", "dtype", "architectures", "use_cache", "name_or_path", "problem_type"}
    | {"id2label", "label2id", "vizsla_form", "gradient_checkpointing"}
)
"""Settings that say where a model came from or what it is used for, not what it computes."""


def weights_checksum(model: Any) -> int:
    """Return a number that changes with every bit of every weight, and with every weight's name, type and shape."""
    seen, torch = 0, import_extra("torch", "Reading weights", "neural")
    for name, weights in sorted(model.state_dict().items()):
        # Byte by byte: half and whole numbers of 64 bits would lose digits as float32.
        values = weights.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        about = f"{name} {weights.dtype} {tuple(weights.shape)}"
        seen = text_checksum(about, int(_native.checksum(values, seen)))
    return int(seen)


def tokenizer_checksum(tokenizer: Any, seen: int = 0) -> int:
    """Return a number that changes with a tokenizer's vocabulary and its rules, but not with what it was used for."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is not None:
        state = json.loads(backend.to_str())
        rules = {name: value for name, value in state.items() if name not in ("truncation", "padding")}
    else:
        special = {name: str(token) for name, token in tokenizer.special_tokens_map.items()}
        rules = {"vocabulary": tokenizer.get_vocab(), "special": special}
    sides = [str(getattr(tokenizer, name, "")) for name in ("truncation_side", "padding_side")]
    return text_checksum(json.dumps([rules, sides], sort_keys=True), seen)


def config_checksum(config: Any, seen: int = 0) -> int:
    """Return a number that changes with what a transformer's configuration says beside its defaults."""
    told = config.to_diff_dict() if hasattr(config, "to_diff_dict") else {}
    kept = {name: value for name, value in told.items() if not name.startswith("_") and name not in PASSING}
    return text_checksum(json.dumps(kept, sort_keys=True, default=str), seen)


def modules_checksum(model: Any, seen: int = 0) -> int:
    """Return a number that changes with the kinds and settings of a sentence-transformers model's modules."""
    for module in model:
        about = [type(module).__name__, _settings(module)]
        seen = text_checksum(json.dumps(about, sort_keys=True, default=str), seen)
        inner: Any = getattr(module, "auto_model", None) or getattr(module, "model", None)
        seen = config_checksum(inner.config, seen) if hasattr(inner, "config") else seen
    return seen


def _settings(module: Any) -> Any:
    """Return what a module computes by, in words that do not change with the version of sentence-transformers."""
    kind = type(module).__name__
    if kind == "Transformer":
        return bool(getattr(module, "do_lower_case", False))
    if kind == "Pooling":
        mode = module.get_pooling_mode_str() if hasattr(module, "get_pooling_mode_str") else module.pooling_mode
        return [mode if isinstance(mode, str) else "+".join(mode), bool(getattr(module, "include_prompt", True))]
    return module.get_config_dict() if hasattr(module, "get_config_dict") else {}


def text_checksum(text: str, seen: int = 0) -> int:
    """Return a checksum of a text, after another."""
    return int(_native.checksum(np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8), seen))


def weights_bytes(model: Any) -> int:
    """Return the bytes of all weights."""
    return sum(int(weights.numel() * weights.element_size()) for weights in model.state_dict().values())
