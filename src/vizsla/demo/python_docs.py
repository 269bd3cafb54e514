"""The demo's data set: the documentation of the Python that is installed on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla.core.catalog import Item
from vizsla.demo.docstring import (
    Docstring,
    Entry,
    first_sentence,
    see_also,
    split_docstring,
    without_descriptions,
    without_varying,
)
from vizsla.errors import VizslaError

if TYPE_CHECKING:
    from vizsla.data.dataset import Dataset

_TIMEOUT_S = 300
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[._]+")


@dataclass(frozen=True)
class DocPage:
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


def read_pages() -> list[DocPage]:
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
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S
            )
    except subprocess.TimeoutExpired:
        raise VizslaError(f"Reading the documentation of this Python took over {_TIMEOUT_S} s. Try again.") from None
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        raise VizslaError(f"The documentation of this Python could not be read. Its reader ended with: {last}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _page(raw: dict[str, Any]) -> DocPage:
    names = tuple(sorted(set(raw["names"]), key=lambda name: _rank(name, raw["own"])))
    parts = split_docstring(without_varying(raw["doc"]), {_last(names[0]), _last(raw["own"])})
    return DocPage(names, raw["signature"], parts, tuple(see_also(raw["doc"])))


def _rank(name: str, own: str) -> tuple[bool, int, int, str]:
    """Order names: those that end as the object calls itself, then the short ones."""
    return not f".{name}".endswith(f".{own}"), name.count("."), len(name), name


def _last(name: str) -> str:
    return name.rpartition(".")[2]


MAX_ITEMS_PER_QUERY = 5  # "Emit a record." is about twelve pages, and so about none.

_ROLE = re.compile(r":[\w:]+:`~?([^`<]+?)(?: <[^`>]*>)?`")
_EMPHASIS = re.compile(r"(?<![\w*])\*(\w[^*\s]*)\*(?!\w)")
_WORD = re.compile(r"\w*[^\W\d_]\w*")
# "Equivalent function", "Similar to linspace, but": said about the page where it stands, not by itself.
_RELATIVE = re.compile(
    r"(\(almost\) )?(the )?"
    r"(alias|class this|corresponding|equivalent|for|identical|related|same|see|similar|this|which)\b",
    re.IGNORECASE,
)


def questions(pages: Sequence[DocPage]) -> dict[str, list[str]]:
    """Return `{question: item ids}`, sorted by question; each is about at most `MAX_ITEMS_PER_QUERY` items.

    Questions that differ in case, markup or the final full stop only are one, about all their items.
    """
    spelled: dict[str, str] = {}
    about: dict[str, set[str]] = {}
    for text, item in _pairs(pages):
        key = text.casefold()
        spelled.setdefault(key, text)
        about.setdefault(key, set()).add(item)
    kept = {spelled[key]: sorted(items) for key, items in about.items() if len(items) <= MAX_ITEMS_PER_QUERY}
    return dict(sorted(kept.items()))


def resolve(name: str, page: str, ids: Mapping[str, str]) -> str | None:
    """Return the id of the item that `page` calls `name`: the nearest one, from its own class and module outwards.

    Examples
    --------
    >>> ids = {"numpy.linalg.norm": "numpy.linalg.norm", "numpy.abs": "numpy.absolute"}
    >>> [resolve(name, "numpy.linalg.eig", ids) for name in ("norm", "abs", "sin")]
    ['numpy.linalg.norm', 'numpy.absolute', None]
    """
    place = page
    while place:
        if f"{place}.{name}" in ids:
            return ids[f"{place}.{name}"]
        place = place.rpartition(".")[0]
    return ids.get(name)


def plain(sentence: str) -> str:
    """Return a sentence without markup and without its final full stop.

    Examples
    --------
    >>> plain("Inverse of :func:`~scipy.special.erf`, as ``erfinv``.")
    'Inverse of scipy.special.erf, as erfinv'
    >>> plain("The *n*-dimensional power 2**x.")
    'The n-dimensional power 2**x'
    """
    bare = _EMPHASIS.sub(r"\1", _ROLE.sub(r"\1", sentence)).replace("`", "")
    return " ".join(bare.split()).rstrip(" .:;")


def _pairs(pages: Sequence[DocPage]) -> Iterator[tuple[str, str]]:
    """Yield (question, item id): each page's summary, and what others say about it."""
    ids = {name: page.id for page in pages for name in page.names}
    for page in pages:
        said = [(page.doc.summary, page.id), *_descriptions(page, ids)]
        yield from ((plain(text), item) for text, item in said if len(_WORD.findall(plain(text))) > 1)


def _descriptions(page: DocPage, ids: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for entry in page.entries:
        text = first_sentence(entry.said)[0]
        if text and not _RELATIVE.match(text):
            targets = (resolve(name, page.id, ids) for name in entry.names)
            yield from ((text, item) for item in targets if item is not None and item != page.id)


HELD_OUT_SHARE, COLD_SHARE = 0.07, 0.1


def python_docs(*, seed: int = 0) -> Dataset:
    """Return the documented functions, classes and methods of the standard library, numpy and scipy.

    An item's id is its qualified public name, its title that name as words, its text its signature and docstring
    without the summary. The queries are the summaries, and the descriptions of an item in the sections "See Also" of
    others. Nine in ten queries of the split "test" are about items that keep a query in the split "train"; about the
    items of the others have no earlier queries.

    The documentation is read by a process of its own, which takes some seconds; nothing is downloaded. For a given
    installation, the same seed gives the same dataset.

    Parameters
    ----------
    seed : int
        Chooses the held-out queries.
    """
    return docs_dataset(read_pages(), held_out=HELD_OUT_SHARE, cold=COLD_SHARE, seed=seed)


def docs_dataset(pages: Sequence[DocPage], *, held_out: float, cold: float, seed: int) -> Dataset:
    """Make the dataset of some pages; `held_out` and `cold` are those of `Dataset.split`.

    Examples
    --------
    >>> from vizsla.demo.docstring import Docstring
    >>> docs = {"a.mean": "Average of numbers.", "a.var": "Spread of numbers."}
    >>> pages = [DocPage((name,), "(x)", Docstring("", said, "Fast."), ()) for name, said in docs.items()]
    >>> ds = docs_dataset(pages, held_out=0.5, cold=1, seed=0)
    >>> ds.text("a.mean"), ds.queries[0].text, ds.splits
    ('a mean a.mean(x)\\n\\nFast.', 'Average of numbers', ('train', 'test'))
    """
    from vizsla.data.dataset import Dataset

    about = questions(pages)
    texts = {f"q{number}": text for number, text in enumerate(about, 1)}
    judged = {query: dict.fromkeys(about[text], 1) for query, text in texts.items()}
    whole = Dataset.of([_item(page) for page in pages], queries=texts, qrels={"train": judged})
    train, held = whole.split(held_out=held_out, cold=cold, seed=seed)
    return Dataset(
        whole.items,
        whole.queries,
        qrels={"train": train.qrels("train"), "test": held.qrels("test")},
        warnings=train.warnings,
        split_report=train.split_report,
    )


def _item(page: DocPage) -> Item:
    """Make an item; the summary is not indexed, but people who see an answer want to read it."""
    return Item(page.id, page.text, page.title, {"summary": page.doc.summary})
