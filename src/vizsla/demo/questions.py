"""Questions: the sentences that people wrote about a page, and the pages that each is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from vizsla.demo.docstring import first_sentence
from vizsla.demo.page import Page

MOST_ITEMS = 5  # "Emit a record." is about twelve pages, and so about none.

_ROLE = re.compile(r":[\w:]+:`~?([^`<]+?)(?: <[^`>]*>)?`")
_EMPHASIS = re.compile(r"(?<![\w*])\*(\w[^*\s]*)\*(?!\w)")
_WORD = re.compile(r"\w*[^\W\d_]\w*")
# "Equivalent function", "Similar to linspace, but": said about the page where it stands, not by itself.
_RELATIVE = re.compile(
    r"(\(almost\) )?(the )?"
    r"(alias|class this|corresponding|equivalent|for|identical|related|same|see|similar|this|which)\b",
    re.IGNORECASE,
)


def questions(pages: Sequence[Page]) -> dict[str, list[str]]:
    """Return `{question: item ids}`, sorted by question; each is about at most `MOST_ITEMS` items.

    Questions that differ in case, markup or the final full stop only are one, about all their items.
    """
    spelled: dict[str, str] = {}
    about: dict[str, set[str]] = {}
    for text, item in _pairs(pages):
        key = text.casefold()
        spelled.setdefault(key, text)
        about.setdefault(key, set()).add(item)
    kept = {spelled[key]: sorted(items) for key, items in about.items() if len(items) <= MOST_ITEMS}
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


def _pairs(pages: Sequence[Page]) -> Iterator[tuple[str, str]]:
    """Yield (question, item id): each page's summary, and what others say about it."""
    ids = {name: page.id for page in pages for name in page.names}
    for page in pages:
        said = [(page.doc.summary, page.id), *_descriptions(page, ids)]
        yield from ((plain(text), item) for text, item in said if len(_WORD.findall(plain(text))) > 1)


def _descriptions(page: Page, ids: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for entry in page.entries:
        text = first_sentence(entry.said)[0]
        if text and not _RELATIVE.match(text):
            targets = (resolve(name, page.id, ids) for name in entry.names)
            yield from ((text, item) for item in targets if item is not None and item != page.id)
