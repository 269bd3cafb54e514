"""Saving: what one save has written so far, so that what several parts hold is written once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from vizsla.artifacts.manifest import ParentRecord
from vizsla.errors import InputError

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
        Whether models that the caller opened are stored inside; None: small ones that need no torch.
    models : tuple of str
        Folders or hub ids that the caller names in this call. A model that only an artefact names is copied from
        nowhere else: otherwise a prepared artefact could have any file of this machine copied.
    lasting : bool
        Whether the folder will stay: then it is flushed to the disk, and models outside are named by the way from it.
    """

    root: Path
    bundle_models: bool | None = None
    models: tuple[str, ...] = ()
    lasting: bool = True
    _by_object: dict[int, tuple[Any, Stored]] = field(default_factory=dict)
    _by_content: dict[tuple[str, str], Stored] = field(default_factory=dict)
    _stand_ins: dict[int, tuple[Any, Artifact]] = field(default_factory=dict)
    _copied: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, root: Path, bundle_models: Any) -> Self:
        """Return the save of `Artifact.save`, where `bundle_models` may also be one model or several."""
        if bundle_models is None or isinstance(bundle_models, bool):
            return cls(root, bundle_models)
        several = [bundle_models] if isinstance(bundle_models, str | os.PathLike) else list(bundle_models)
        if not several or not all(isinstance(name, str | os.PathLike) and str(name) for name in several):
            raise InputError("`bundle_models` must be True, False, or models' folders or hub ids. Got others.")
        return cls(root, None, tuple(map(str, several)))

    def may_copy(self, name: str) -> str | None:
        """Return a model that an artefact names as the caller names it too; None if the caller does not."""
        for given in self.models:
            if given == name or (os.path.exists(given) and os.path.realpath(given) == os.path.realpath(name)):  # noqa: PTH110
                self._copied.add(given)
                return given
        return None

    def check_copied(self) -> None:
        """Raise if the caller named a model that nothing in the artefact names."""
        if unused := [name for name in self.models if name not in self._copied]:
            raise InputError(f"`bundle_models` must name models of the artefact. Got {unused[0]!r}, which is none.")

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
