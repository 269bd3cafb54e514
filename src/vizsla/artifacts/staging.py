"""Staging: a folder is filled under a temporary name and then takes its place, whole, in one step."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType

from vizsla.arguments import path_of
from vizsla.artifacts import renames
from vizsla.artifacts.leftovers import discard, hold, new_token, remove, sweep
from vizsla.artifacts.ownership import check_replaceable
from vizsla.errors import InputError

_ATTEMPTS = 100


class Staging:
    """The folder `.name.token.partial` beside the target, locked for as long as its writer lives.

    Entering sweeps up what killed writers left and gives the folder to fill; leaving puts it in place, or removes it
    when an exception (Ctrl-C too) is on its way. Of several writers to one path the last to finish wins, whole.
    """

    def __init__(self, path: str | Path, *, overwrite: bool = False):
        # A link is written through, as `open(link, "w")` would.
        self.target, self._overwrite = Path(os.path.realpath(path_of(path))), overwrite
        if not self.target.name:
            raise InputError(f"`path` must name a folder. Got {str(path)!r}.")
        self._lock = -1
        self.folder = self._name()

    def __enter__(self) -> Path:
        sweep(self.target)
        check_replaceable(self.target, overwrite=self._overwrite)
        renames.make_parents(self.target.parent)
        try:
            self._make()
        except BaseException:
            self._discard()
            raise
        return self.folder

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._put_in_place()
        finally:
            self._discard()

    def _make(self) -> None:
        while self._lock < 0:
            self.folder = self._name()
            self.folder.mkdir()
            self._lock = hold(self.folder)

    def _name(self) -> Path:
        return self.target.with_name(f".{self.target.name}.{new_token()}.partial")

    def _put_in_place(self) -> None:
        for _ in range(_ATTEMPTS):
            try:
                self._try_to_put_in_place()
            except (FileExistsError, FileNotFoundError):
                continue  # Another writer came or went between the look and the rename: look again.
            renames.sync(self.target.parent)
            return
        raise InputError(f"`path` must hold still. Got {self.target}, which other writers keep replacing: try again.")

    def _try_to_put_in_place(self) -> None:
        if not check_replaceable(self.target, overwrite=self._overwrite):
            renames.rename_new(self.folder, self.target)
        elif not renames.exchange(self.folder, self.target):
            self._replace_in_two_steps()

    def _replace_in_two_steps(self) -> None:
        # Between the two renames readers find the old artefact under this name, and so does `sweep` after a crash.
        replaced = self.folder.with_suffix(".replaced")
        self.target.rename(replaced)
        try:
            renames.rename_new(self.folder, self.target)
        except BaseException:
            with contextlib.suppress(FileExistsError):
                renames.rename_new(replaced, self.target)
            raise
        finally:
            if self.target.exists():
                discard(replaced)

    def _discard(self) -> None:
        # After an exchange this is the artefact that was replaced.
        try:
            remove(self.folder)
        finally:
            if self._lock >= 0:
                os.close(self._lock)
