"""OnnxSettings: how a folder's ONNX model is to be used, as `encoder.json` keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from vizsla.artifacts import strict_json
from vizsla.errors import InputError, check_choice, check_positive

POOLINGS = ("mean", "cls")


@dataclass(frozen=True)
class OnnxSettings:
    """What turns the model's output into vectors.

    Parameters
    ----------
    query_prompt, item_prompt : str
        Put before every query or item text.
    normalise : bool
        Bring rows to length 1.
    max_tokens : int
        Cut texts after so many tokens.
    pooling : {"mean", "cls"}
        What becomes of the tokens' vectors.

    Examples
    --------
    >>> OnnxSettings(max_tokens=128).pooling
    'mean'
    """

    query_prompt: str = ""
    item_prompt: str = ""
    normalise: bool = True
    max_tokens: int = 512
    pooling: str = "mean"

    def __post_init__(self) -> None:
        check_positive("max_tokens", self.max_tokens)
        check_choice("pooling", self.pooling, POOLINGS)
        for name in ("query_prompt", "item_prompt"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"`{name}` must be a str. Got {getattr(self, name)!r}.")

    @classmethod
    def read(cls, file: Path, given: Mapping[str, Any]) -> Self:
        """Return what the file says, if it is there; what is given and not None goes before it."""
        stored = _stored(file) if file.exists() else {}
        return cls(**stored | {name: value for name, value in given.items() if value is not None})

    def write(self, file: Path) -> None:
        """Write the file that `read` reads."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as options of `OnnxEncoder`."""
        return asdict(self)


def _stored(file: Path) -> dict[str, Any]:
    types: dict[str, type] = {"query_prompt": str, "item_prompt": str, "normalise": bool, "pooling": str}
    types["max_tokens"] = int
    try:
        stored = strict_json.read(file)
    except ValueError:
        stored = None
    if not isinstance(stored, dict) or any(type(stored.get(n, t())) is not t for n, t in types.items()):
        raise InputError(f"{file} must hold {', '.join(types)} as JSON. Got something else.")
    return {name: stored[name] for name in types if name in stored}
