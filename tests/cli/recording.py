"""Runs a command up to the call that it is made for, and tells what that call was given."""

from __future__ import annotations

import inspect
from importlib import import_module

from vizsla.cli import main
from vizsla.errors import InputError


class StopError(InputError):
    """Ends a command where its options have arrived."""


class Recorder:
    """Stands in the place of functions.

    Attributes
    ----------
    calls : list of dict
        What was given by name; positional arguments go by their number.
    """

    def __init__(self, monkeypatch):
        self.monkeypatch, self.calls = monkeypatch, []

    def at(self, place: str, answer=None) -> None:
        """Take the place of `module:name`, `module:class.name` or `module:dict.key`; answer, or end the command."""
        module, _, name = place.partition(":")
        target = import_module(module if module.startswith("vizsla.") else f"vizsla.cli.{module}")
        *owners, name = name.split(".")
        for owner in owners:
            target = getattr(target, owner)
        known = isinstance(target, dict)
        own = not known and isinstance(inspect.getattr_static(target, name), classmethod | staticmethod)
        method = owners and not own and not known

        def record(*given, **named):
            given = given[1:] if method else given
            self.calls.append({**{str(at): value for at, value in enumerate(given)}, **named})
            if answer is None:
                raise StopError("recorded")
            return answer

        if known:
            self.monkeypatch.setitem(target, name, record)
            return
        self.monkeypatch.setattr(target, name, staticmethod(record) if own else record)

    def given(self, argv) -> dict:
        """Run a command, which is to end in the last recorded call, and return what that was given."""
        self.calls.clear()
        code = main([str(each) for each in argv])
        assert self.calls, f"never called, exit code {code}: {argv}"
        return self.calls[-1]
