"""An artifact that holds others, some of them perhaps the same."""

from __future__ import annotations

from vizsla.artifacts.artifact import Artifact


class Box(Artifact):
    kind = "box"

    def __init__(self, *parts, ids=None):
        self.parts, self.ids = parts, ids

    def answer(self):
        return [part.answer() for part in self.parts], self.ids and list(self.ids)

    def _write(self, writer):
        writer.parameters(count=len(self.parts), named=self.ids is not None)
        for number, part in enumerate(self.parts):
            writer.child(f"part{number}", part)
        if self.ids is not None:
            writer.catalog("ids", self.ids)

    @classmethod
    def _read(cls, reader):
        # Backwards, so that what is pointed to is often read after what points there.
        parts = [reader.child(f"part{number}") for number in reversed(range(reader.parameter("count", int)))]
        return cls(*reversed(parts), ids=reader.catalog("ids") if reader.parameter("named", bool) else None)
