"""The demo's dataset: the documentation of the Python that is installed on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vizsla.demo.holding_out import hold_out
from vizsla.demo.page import Page, read_pages
from vizsla.demo.questions import questions
from vizsla.item import Item

if TYPE_CHECKING:
    from vizsla.dataset import Dataset

WARM, COLD = 540, 60


def python_docs(*, seed: int = 0) -> Dataset:
    """Return the documented functions, classes and methods of the standard library, numpy and scipy.

    An item's id is its qualified public name, its title that name as words, its text its signature and docstring
    without the summary. The queries are the summaries, and the descriptions of an item in the sections "See Also" of
    others. The split "test" holds queries most of whose items (nine in ten) keep a query in the split "train"; for
    the others nobody has asked before.

    The documentation is read by a process of its own, which takes some seconds; nothing is downloaded. For a given
    installation, the same seed gives the same dataset.

    Parameters
    ----------
    seed : int
        Chooses the held-out queries.
    """
    return docs_dataset(read_pages(), warm=WARM, cold=COLD, seed=seed)


def docs_dataset(pages: Sequence[Page], *, warm: int, cold: int, seed: int) -> Dataset:
    """Make the dataset of some pages, with at most so many held-out queries about warm and about cold items.

    Examples
    --------
    >>> from vizsla.demo.docstring import Docstring
    >>> page = Page(("a.mean",), "(x)", Docstring("", "Average of numbers.", "Fast."), ())
    >>> ds = docs_dataset([page], warm=1, cold=0, seed=0)
    >>> ds.text("a.mean"), ds.queries[0].text, ds.splits
    ('a mean a.mean(x)\\n\\nFast.', 'Average of numbers', ('train', 'test'))
    """
    from vizsla.dataset import Dataset

    about = questions(pages)
    texts = {f"q{number}": text for number, text in enumerate(about, 1)}
    held = hold_out(about, warm=warm, cold=cold, seed=seed)
    judged = {query: dict.fromkeys(about[text], 1) for query, text in texts.items()}
    train = {query: items for query, items in judged.items() if texts[query] not in held}
    test = {query: items for query, items in judged.items() if texts[query] in held}
    return Dataset.of([_item(page) for page in pages], queries=texts, qrels={"train": train, "test": test})


def _item(page: Page) -> Item:
    """Make an item; the summary is not indexed, but people who see an answer want to read it."""
    return Item(page.id, page.text, page.title, {"summary": page.doc.summary})
