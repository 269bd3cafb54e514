"""Pages: one documented function, class or method of the installed Python, as a process of its own reads them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vizsla.demo.docstring import Docstring, split_docstring, without_varying
from vizsla.demo.see_also import Entry, see_also, without_descriptions
from vizsla.errors import VizslaError

_SECONDS = 300
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[._]+")


@dataclass(frozen=True)
class Page:
    """One documented object.

    Parameters
    ----------
    names : tuple of str
        Its public names, the best one first.
    signature : str
        Its parameters in brackets; may be empty.
    doc : Docstring
        Its docstring, taken apart.
    entries : tuple of Entry
        What its section "See Also" says.
    """

    names: tuple[str, ...]
    signature: str
    doc: Docstring
    entries: tuple[Entry, ...]

    @property
    def id(self) -> str:
        """The qualified public name."""
        return self.names[0]

    @property
    def title(self) -> str:
        """The name as words: `tempfile.NamedTemporaryFile` is "tempfile Named Temporary File"."""
        return " ".join(_HUMP.sub(" ", self.id).split())

    @property
    def text(self) -> str:
        """The signature and the docstring, without its summary and without what it says about other pages."""
        call = self.id + self.signature if self.signature else self.doc.calls or self.id
        return f"{call}\n\n{without_descriptions(self.doc.body)}".strip()


def read_pages() -> list[Page]:
    """Return the pages of the standard library, numpy and scipy, sorted by id."""
    pages = [_page(raw) for raw in _collect()["pages"]]
    documented = [page for page in pages if page.doc.summary or page.doc.body]
    return sorted(documented, key=lambda page: page.id)


def _collect() -> dict[str, Any]:
    """Run the collector away from this process; it neither sees a display nor the current folder."""
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "PYTHONINSPECT", "PYTHONSTARTUP"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    # Sets in signatures are written in the order of their hashes; more threads only cost time to start.
    environment |= {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "-P", str(Path(__file__).with_name("collector.py"))]
    try:
        with tempfile.TemporaryDirectory(prefix="vizsla-demo-") as folder:
            done = subprocess.run(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS
            )
    except subprocess.TimeoutExpired:
        raise VizslaError(f"Reading the documentation of this Python took over {_SECONDS} s. Try again.") from None
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise VizslaError(f"The documentation of this Python could not be read. Its reader ended with: {last}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _page(raw: dict[str, Any]) -> Page:
    names = tuple(sorted(set(raw["names"]), key=lambda name: _rank(name, raw["own"])))
    parts = split_docstring(without_varying(raw["doc"]), {_last(names[0]), _last(raw["own"])})
    return Page(names, raw["signature"], parts, tuple(see_also(raw["doc"])))


def _rank(name: str, own: str) -> tuple[bool, int, int, str]:
    """Order names: those that end as the object calls itself, then the short ones."""
    return not f".{name}".endswith(f".{own}"), name.count("."), len(name), name


def _last(name: str) -> str:
    return name.rpartition(".")[2]
