"""Reads the documentation of the installed Python, as a script in a process of its own.

Documentation that C code or decorators attach is only there after an import, and importing some 600 modules would
litter the caller's process. So this file is run by its path, imports nothing of Vizsla, and writes one JSON
document to the standard output that it was born with; whatever the modules print goes nowhere.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import re
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

PACKAGES = ("numpy", "scipy")

# They open a browser or a window, print a poem, change the interpreter, or are another name of a module we have.
SKIPPED = {
    *("antigravity", "this", "tkinter", "turtle", "turtledemo", "idlelib", "distutils", "lib2to3", "encodings"),
    *("nt", "ntpath", "nturl2path", "posix", "posixpath", "pydoc_data", "sre_compile", "sre_constants", "sre_parse"),
    *("numpy.core", "numpy.distutils", "numpy.matlib", "scipy.special.cython_special"),
}
SKIPPED_ANYWHERE = {"conftest", "setup", "test", "tests"}

DEPRECATIONS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
DEPRECATED = re.compile(r"([\w.]+)[`']?(?: module| package| namespace)? is deprecated")
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


class Collector:
    """Pages by object identity: aliases of one object become the names of one page."""

    def __init__(self, log: list[warnings.WarningMessage]) -> None:
        self.log = log  # Python adds the warnings of the run.
        self.pages: dict[int, dict[str, Any]] = {}
        self.kept: list[object] = []  # An object that dies would give its identity to another.
        self.failed: list[str] = []

    def collect(self) -> dict[str, Any]:
        """Import all public modules, then read their members."""
        loaded = [module for name in self.roots() for module in self.load(name)]
        deprecated = self.deprecated()
        for name, module in loaded:
            if not deprecated & {name, *parents(name)}:
                self.read_module(name, module)
        return {"pages": list(self.pages.values()), "failed": self.failed}

    def roots(self) -> list[str]:
        """Return the top-level modules."""
        return [*sorted(name for name in sys.stdlib_module_names if not name.startswith("_")), *PACKAGES]

    def load(self, name: str) -> Iterator[tuple[str, ModuleType]]:
        """Import a module and the public ones below it; one that fails is noted."""
        if name in SKIPPED:
            return
        try:
            module = importlib.import_module(name)
        except (Exception, SystemExit) as problem:
            self.failed.append(f"{name}: {type(problem).__name__}")
            return
        yield name, module
        yield from aliases(name, module)
        for child in sorted(info.name for info in pkgutil.iter_modules(getattr(module, "__path__", []))):
            if not child.startswith("_") and child not in SKIPPED_ANYWHERE:
                yield from self.load(f"{name}.{child}")

    def deprecated(self) -> set[str]:
        """Return the names that the warnings so far call deprecated."""
        said = (str(warning.message) for warning in self.log if issubclass(warning.category, DEPRECATIONS))
        return {name for message in said for name in DEPRECATED.findall(message)}

    def read_module(self, name: str, module: ModuleType) -> None:
        """Add the module's public functions, classes and documented callables."""
        declared = getattr(module, "__all__", None)
        for member in sorted(set(declared if declared is not None else vars(module))):
            found = self.get(module, member)
            if member.startswith("_") or found is None or isinstance(found, ModuleType) or not callable(found):
                continue
            if declared is None and not belongs(found, name):
                continue
            prefix = "" if name == "builtins" else f"{name}."
            self.add(f"{prefix}{member}", found)
            if inspect.isclass(found):
                self.read_class(f"{prefix}{member}", found)

    def get(self, module: ModuleType, member: str) -> Any:
        """Return a member, or None when it is missing or deprecated."""
        before = len(self.log)
        try:
            found = getattr(module, member, None)
        except Exception:
            return None
        return None if any(issubclass(said.category, DEPRECATIONS) for said in self.log[before:]) else found

    def read_class(self, name: str, cls: type) -> None:
        """Add the public methods that the class itself defines, or a private parent for it."""
        public = [parent for parent in cls.__mro__[1:] if not parent.__name__.startswith("_")]
        inherited = {doc for parent in public for doc in member_docs(parent)}
        for member in sorted({member for parent in cls.__mro__ if parent not in public for member in vars(parent)}):
            raw = inspect.getattr_static(cls, member)
            method = raw.__func__ if isinstance(raw, (classmethod, staticmethod)) else raw
            if member.startswith("_") or not callable(method) or inspect.isclass(method):
                continue
            if getattr(method, "__doc__", None) not in inherited:
                self.add(f"{name}.{member}", method)

    def add(self, name: str, found: Any) -> None:
        """Add a page, or one more name of a page that is there."""
        page = self.pages.get(id(found))
        if page is None:
            doc = own_doc(found)
            if not doc:
                return
            page = {"own": own_name(found), "names": [], "signature": signature(found), "doc": doc}
            self.pages[id(found)] = page
            self.kept.append(found)
        page["names"].append(name)


def aliases(name: str, module: ModuleType) -> Iterator[tuple[str, ModuleType]]:
    """Yield modules that live elsewhere but are public members here: `os.path` and `numpy.emath`."""
    for member in sorted(getattr(module, "__all__", ())):
        found = vars(module).get(member)
        if isinstance(found, ModuleType) and not found.__name__.startswith(name.partition(".")[0] + "." + member):
            yield f"{name}.{member}", found


def parents(name: str) -> Iterator[str]:
    """Yield the packages above a module."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def belongs(found: Any, module: str) -> bool:
    """Tell whether a module without `__all__` is the home of the object, or lends its name to a private one."""
    home = getattr(found, "__module__", None) or ""
    return home in (module, f"_{module}") or home.startswith(f"{module}.")


def own_name(found: Any) -> str:
    """Return the name that the object itself has, without its module."""
    name = getattr(found, "__qualname__", None) or getattr(found, "__name__", None) or getattr(found, "name", None)
    return name if isinstance(name, str) else ""


def own_doc(found: Any) -> str:
    """Return the object's own documentation, or nothing when it is its type's or its parent's."""
    doc = getattr(found, "__doc__", None)
    if not isinstance(doc, str) or (not inspect.isclass(found) and doc == type(found).__doc__):
        return ""
    return ADDRESS.sub("", inspect.cleandoc(doc)).strip()


def member_docs(cls: type) -> Iterator[str]:
    """Yield the documentation of all members that the class itself defines."""
    docs = (getattr(member, "__doc__", None) for member in vars(cls).values())
    return (doc for doc in docs if isinstance(doc, str))


def signature(found: Any) -> str:
    """Return the parameters in brackets, or nothing where Python does not know them."""
    try:
        return ADDRESS.sub("", str(inspect.signature(found)))
    except (ValueError, TypeError, NameError, AttributeError):
        return ""


def main() -> None:
    """Write the pages as JSON to what was the standard output; silence what the modules write."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        json.dump(Collector(log).collect(), answer)
    answer.close()
    os._exit(0)  # Some modules register work for the end of the process; there is nothing left to do.


if __name__ == "__main__":
    main()
