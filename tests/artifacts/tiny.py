"""A small artifact with one of everything that artifacts can hold, a nested one included."""

from __future__ import annotations

import numpy as np

from vizsla.artifacts.artifact import Artifact
from vizsla.core.strings import Strings
from vizsla.errors import FormatError


class Tiny(Artifact):
    kind = "tiny"

    def __init__(self, name, ids, scores, flags, notes, inner=None, weight=0.5):
        self.name, self.ids, self.scores, self.flags = name, ids, scores, flags
        self.notes, self.inner, self.weight = notes, inner, weight

    @classmethod
    def make(cls, seed=0, n=20, inner=True):
        random = np.random.default_rng(seed)
        return cls(
            f"tiny {seed}",
            Strings.of([f"id-{number}é" for number in range(n)]),
            random.random((n, 3)).astype(np.float32),
            random.random(n) < 0.5,
            {"words": ["näh", "x"], "n": n},
            cls.make(seed + 1, n, inner=False) if inner else None,
        )

    def answer(self):
        """Everything that the object can say, by way of every part of it."""
        return (
            self.name,
            self.weight,
            list(self.ids),
            [self.ids.find(text) for text in [*self.ids, "absent"]],
            self.scores.tolist(),
            self.flags.tolist(),
            self.notes,
            self.inner and self.inner.answer(),
        )

    def _write(self, writer):
        writer.parameters(name=self.name, weight=self.weight, nested=self.inner is not None)
        writer.strings("ids", self.ids)
        writer.array("scores", self.scores)
        writer.array("flags", self.flags)
        writer.json("notes", self.notes)
        if self.inner is not None:
            writer.child("inner", self.inner)

    @classmethod
    def _read(cls, reader):
        ids = reader.strings("ids")
        scores, flags = reader.array("scores", np.float32, ndim=2), reader.array("flags", np.bool_)
        if not len(ids) == len(scores) == len(flags) or not np.isfinite(scores).all():
            raise FormatError(f"{reader.path}: the parts do not fit together.")
        return cls(
            reader.parameter("name", str),
            ids,
            scores,
            flags,
            reader.json("notes"),
            reader.child("inner") if reader.parameter("nested", bool) else None,
            reader.parameter("weight", float),
        )


def names(folder):
    """Return what lies in a folder, hidden or not."""
    return sorted(entry.name for entry in folder.iterdir())
