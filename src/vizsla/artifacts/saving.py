"""Saving: what one save has written so far, so that what several parts hold is written once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from vizsla.artifacts.manifest import ParentRecord

if TYPE_CHECKING:
    from vizsla.artifact import Artifact


class Stored(NamedTuple):
    """An artefact that this save has written: its record, and how many artefacts lie inside one another there."""

    record: ParentRecord
    height: int


@dataclass
class Saving:
    """One save of an artefact and of all that is inside.

    Parameters
    ----------
    root : Path
        The outermost folder, while it is being filled.
    bundle_models : bool, optional
        Whether models that encoders only name are stored inside; None: small ones that need no torch.
    lasting : bool
        Whether the folder will stay: then it is flushed to the disk, and models outside are named by the way from it.
    """

    root: Path
    bundle_models: bool | None = None
    lasting: bool = True
    _by_object: dict[int, tuple[Any, Stored]] = field(default_factory=dict)
    _by_content: dict[tuple[str, str], Stored] = field(default_factory=dict)
    _stand_ins: dict[int, tuple[Any, Artifact]] = field(default_factory=dict)

    def known(self, thing: object) -> Stored | None:
        """Return where the very same object was written."""
        found = self._by_object.get(id(thing))
        return None if found is None else found[1]

    def equal(self, record: ParentRecord) -> Stored | None:
        """Return where the same content was written."""
        return self._by_content.get((record.kind, record.xxh64))

    def remember(self, thing: object, stored: Stored) -> None:
        """Note an object that lies at `stored`; it is kept alive, or its number could be given to another."""
        self._by_object[id(thing)] = thing, stored
        self._by_content.setdefault((stored.record.kind, stored.record.xxh64), stored)

    def stand_in(self, thing: object, make: Callable[[], Artifact]) -> Artifact:
        """Return the artefact that is saved in place of something that is none, the same one each time."""
        if id(thing) not in self._stand_ins:
            self._stand_ins[id(thing)] = thing, make()
        return self._stand_ins[id(thing)][1]
