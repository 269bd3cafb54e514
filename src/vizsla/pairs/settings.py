"""PairSettings: how a folder's ONNX cross-encoder is to be used, as `pairs.json` keeps it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from vizsla.artifacts import strict_json
from vizsla.encoders.model_files import PAIR_SETTINGS as SETTINGS
from vizsla.errors import InputError, check_positive

__all__ = ["SETTINGS", "PairSettings"]


@dataclass(frozen=True)
class PairSettings:
    """What the model's file does not say.

    Parameters
    ----------
    max_tokens : int
        Pairs are cut after so many tokens.

    Examples
    --------
    >>> PairSettings(max_tokens=128)
    PairSettings(max_tokens=128)
    """

    max_tokens: int = 512

    def __post_init__(self) -> None:
        check_positive("max_tokens", self.max_tokens)

    @classmethod
    def read(cls, file: Path, *, max_tokens: int | None = None) -> Self:
        """Return what the file says, if it is there; what is given goes before it."""
        if max_tokens is not None or not file.exists():
            return cls() if max_tokens is None else cls(max_tokens)
        try:
            stored = strict_json.read(file)
        except ValueError:
            stored = None
        if not isinstance(stored, dict) or type(stored.get("max_tokens")) is not int:
            raise InputError(f"{file} must hold max_tokens as JSON. Got something else.")
        return cls(stored["max_tokens"])

    def write(self, file: Path) -> None:
        """Write the file that `read` reads."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")
