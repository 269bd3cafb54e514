"""Checkpoints from which training continues to the same bits, and progress reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vizsla.artifacts.artifact import Artifact
from vizsla.errors import FormatError

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class TrainingState(Artifact):
    """Named arrays, how many steps were taken, and what was measured after each epoch.

    Parameters
    ----------
    key : str
        Says what is trained on what: a state is only good for a run with the same key.
    steps : int
        How many steps were taken.
    arrays : mapping of float32 arrays
        Parameters and moments by name, each laid out flat.
    measured : float64 array, epochs × held-out queries
        What was measured so far.
    """

    kind = "training-state"

    def __init__(self, key: str, steps: int, arrays: Mapping[str, NDArray[np.float32]], measured: NDArray[np.float64]):
        self.key, self.steps, self.arrays, self.measured = key, steps, dict(arrays), measured

    def __repr__(self) -> str:
        return f"TrainingState({self.steps:,} steps, {len(self.arrays)} arrays)"

    def array(self, name: str, shape: Sequence[int]) -> NDArray[np.float32]:
        """Return a copy of an array in its shape, or raise where the state holds none of that size."""
        values = self.arrays.get(name)
        if values is None or values.size != prod(shape) or not np.isfinite(values).all():
            raise FormatError(f"A checkpoint must hold {name!r}, finite and of shape {tuple(shape)}. It does not.")
        return np.array(values, np.float32).reshape(tuple(shape))

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(key=self.key, steps=self.steps, names=sorted(self.arrays))
        for name in sorted(self.arrays):
            writer.array(f"state_{name}", self.arrays[name])
        writer.array("measured", self.measured)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        names: list[Any] = reader.parameter("names", list)
        if not all(isinstance(name, str) and name.isidentifier() for name in names):
            raise FormatError(f"{reader.path}: the names of a training's arrays must be identifiers.")
        arrays = {name: reader.array(f"state_{name}", np.float32, finite=False) for name in names}
        measured = reader.array("measured", np.float64, ndim=2, finite=False)
        steps = reader.parameter("steps", int)
        if steps < 0:
            raise FormatError(f"{reader.path}: the steps of a training must be at least 0. Got {steps}.")
        return cls(reader.parameter("key", str), steps, arrays, measured)


class TrainingProgress(NamedTuple):
    """How far a training is, and how good.

    Attributes
    ----------
    step, steps : int
        How far it is.
    loss : float
        Of the last step.
    held_out : list of float
        The quality of every look at the held-out queries so far; the first is before training.
    """

    step: int
    steps: int
    loss: float
    held_out: list[float]


Watch = Callable[[TrainingProgress], None]
