"""The moments of a save, counted: something can be made to happen just before any one of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

from vizsla.artifacts import atomic_folder

STEPS = [(os, "fsync"), (atomic_folder, "exchange"), (atomic_folder, "rename_new"), (shutil, "rmtree"), (os, "mkdir")]


class Events:
    """Patches everything that a save does to the disk, and calls `action` before the step with the given number."""

    def __init__(self, patch: Callable[..., None], number: int, action: Callable[[], None], *, exchange: bool):
        self.number, self.count, self._action = number, 0, action
        for place, name in STEPS:
            patch(place, name, self._counted(getattr(place, name)))
        if not exchange:
            # What a file system without RENAME_EXCHANGE answers.
            patch(atomic_folder, "exchange", lambda one, other: False)

    def _counted(self, step: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            if self.count == self.number:
                self._action()
            return step(*arguments, **options)

        return counted
