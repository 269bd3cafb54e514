"""The demo's dataset: the documentation of the Python that is installed on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vizsla.demo.page import Page, read_pages
from vizsla.demo.questions import questions
from vizsla.item import Item

if TYPE_CHECKING:
    from vizsla.dataset import Dataset

HELD_OUT, COLD = 0.07, 0.1


def python_docs(*, seed: int = 0) -> Dataset:
    """Return the documented functions, classes and methods of the standard library, numpy and scipy.

    An item's id is its qualified public name, its title that name as words, its text its signature and docstring
    without the summary. The queries are the summaries, and the descriptions of an item in the sections "See Also" of
    others. Nine in ten queries of the split "test" are about items that keep a query in the split "train"; about the
    items of the others nobody has asked before.

    The documentation is read by a process of its own, which takes some seconds; nothing is downloaded. For a given
    installation, the same seed gives the same dataset.

    Parameters
    ----------
    seed : int
        Chooses the held-out queries.
    """
    return docs_dataset(read_pages(), held_out=HELD_OUT, cold=COLD, seed=seed)


def docs_dataset(pages: Sequence[Page], *, held_out: float, cold: float, seed: int) -> Dataset:
    """Make the dataset of some pages; `held_out` and `cold` are those of `Dataset.split`.

    Examples
    --------
    >>> from vizsla.demo.docstring import Docstring
    >>> docs = {"a.mean": "Average of numbers.", "a.var": "Spread of numbers."}
    >>> pages = [Page((name,), "(x)", Docstring("", said, "Fast."), ()) for name, said in docs.items()]
    >>> ds = docs_dataset(pages, held_out=0.5, cold=1, seed=0)
    >>> ds.text("a.mean"), ds.queries[0].text, ds.splits
    ('a mean a.mean(x)\\n\\nFast.', 'Average of numbers', ('train', 'test'))
    """
    from vizsla.dataset import Dataset

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


def _item(page: Page) -> Item:
    """Make an item; the summary is not indexed, but people who see an answer want to read it."""
    return Item(page.id, page.text, page.title, {"summary": page.doc.summary})
