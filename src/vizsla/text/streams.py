"""Texts and catalogs in whatever shape they are given, read once and in batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla.core.strings import Strings
from vizsla.core.validation import check_listed, is_iterable
from vizsla.data.metadata_join import described
from vizsla.errors import InputError, check_choice
from vizsla.io.frames import plain_items, series_of

TEXTS_PER_BATCH = 512
"""Texts handed to a native builder at once; the result does not depend on it."""


def batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield lists of texts, so that an iterable larger than memory can be read.

    Examples
    --------
    >>> [len(batch) for batch in batches("a text" for _ in range(600))]
    [512, 88]
    """
    remaining = iter(_many(texts))
    while batch := list(islice(remaining, TEXTS_PER_BATCH)):
        yield batch


def listed(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list; a single str raises."""
    return list(_many(texts))


def _many(texts: Any) -> Iterable[str]:
    if isinstance(texts, str):
        raise InputError("`texts` must hold many texts. Got one str: put it into a list.")
    texts = series_of(texts)
    if not isinstance(texts, ValuesView):  # of a mapping: texts, whose ids are not wanted here
        check_listed("texts", texts)
    if not isinstance(texts, Iterable) or getattr(texts, "ndim", 1) == 0:
        raise InputError(f"`texts` must hold many texts. Got {type(texts).__name__}.")
    return texts


def call_with(function: Any, texts: list[str], *rest: Any) -> Any:
    """Call a native function with texts; what is not a text raises InputError."""
    try:
        return function(texts, *rest)
    except TypeError as error:
        raise InputError(str(error)) from None


class TextStream:
    """Yields a catalog's texts, once; `ids` are known when it is through.

    Parameters
    ----------
    items
        Texts, a mapping of id to text, (id, text) pairs, objects with `id` and `default_text()`, a dataset that has
        such `items`, or what `Dataset.of` makes one of: a data frame, or dicts.
    ids : iterable of str, optional
        The ids, when `items` are texts. Without them an item's id is its number.

    Examples
    --------
    >>> stream = TextStream({"a": "fig", "b": "pear"})
    >>> list(stream), list(stream.ids)
    (['fig', 'pear'], ['a', 'b'])
    """

    def __init__(self, items: Any, ids: Iterable[str] | None = None):
        items = plain_items(items)
        known = getattr(items, "item_ids", getattr(items, "ids", None))
        self._known = known if isinstance(known, Strings) else None  # a dataset's ids are checked, and carry details
        self._items = getattr(items, "items", items) if not isinstance(items, Mapping) else items.items()
        if not is_iterable(self._items):
            raise InputError(f"`items` must be texts, a mapping, pairs or a dataset. Got {type(items).__name__}.")
        self._given = None if ids is None else Strings.unique(ids)
        self._ids: Strings | None = None

    @property
    def ids(self) -> Strings:
        """The items' ids, by number."""
        if self._ids is None:
            raise InputError("The ids are known only after all texts were read.")
        return self._ids

    def __iter__(self) -> Iterator[str]:
        return (text for _, text in self.pairs())

    def pairs(self) -> Iterator[tuple[Any, str]]:
        """Yield each item as it was given, and its text."""
        remaining = iter(self._items)
        head = list(islice(remaining, 1))
        rows = chain(head, remaining)
        if not head or isinstance(head[0], str):
            yield from self._plain(rows)
        else:
            yield from self._named(rows)

    def _plain(self, texts: Iterable[str]) -> Iterator[tuple[Any, str]]:
        count = 0
        for text in texts:
            yield text, _text(text, count)
            count += 1
        if self._given is not None and len(self._given) != count:
            raise InputError(f"`ids` must be as many as the texts ({count}). Got {len(self._given)}.")
        self._ids = Strings.of(map(str, range(count))) if self._given is None else self._given

    def _named(self, rows: Iterable[Any]) -> Iterator[tuple[Any, str]]:
        if self._given is not None:
            raise InputError("`ids` must be None for items that bring their own. Got both.")
        if self._known is not None:
            yield from ((row, _text(row.default_text(), number)) for number, row in enumerate(rows))
            self._ids = self._known
            return
        ids: list[str] = []
        for row in rows:
            id, text = _id_and_text(row, len(ids))
            yield row, _text(text, len(ids))
            ids.append(id)
        self._ids = Strings.unique(ids, what="item id")


def _text(text: Any, number: int) -> str:
    if not isinstance(text, str):
        raise InputError(f"`texts` must hold str. Got {type(text).__name__} at position {number}.")
    return text


def _id_and_text(row: Any, number: int) -> tuple[str, str]:
    if hasattr(row, "default_text"):
        return row.id, row.default_text()
    if isinstance(row, (tuple, list)) and len(row) == 2 and isinstance(row[0], str):
        return row[0], row[1]
    remedy = ": ids are texts, so write str(id)" if isinstance(row, tuple | list) and len(row) == 2 else ""
    raise InputError(f"Every item must be a text or an (id, text) pair. Got {row!r:.100} at position {number}{remedy}.")


def new_items(known: Strings, items: Mapping[str, str] | Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return new items as (id, text) pairs; an id that is known, or anything else than such pairs, raises.

    Examples
    --------
    >>> new_items(Strings.of(["a"]), {"b": "a fig"})
    [('b', 'a fig')]
    """
    items = plain_items(items)
    if not is_iterable(items) and not hasattr(items, "item_ids"):
        raise InputError(f"`items` must be texts by id, or (id, text) pairs. Got {type(items).__name__}.")
    if isinstance(getattr(items, "item_ids", None), Strings):
        items = items.items  # type: ignore[union-attr, assignment]
    rows: list[Any] = list(items.items() if isinstance(items, Mapping) else items)
    pairs = [(row.id, row.default_text()) if hasattr(row, "default_text") else row for row in rows]
    for pair in pairs:
        if not _is_pair(pair):
            raise InputError(f"`items` must be texts by id, or (id, text) pairs. Got {pair!r:.80}.")
        if pair[0] in known:
            raise InputError(f"`items` must be new. Got {pair[0]!r}, which is there: leave it out, or remove it first.")
    return pairs


def known_ids(known: Strings, ids: Iterable[str], *, unknown: str = "raise") -> list[str]:
    """Return ids as a list; one that is not known raises, or is left out where `unknown` is "ignore".

    Examples
    --------
    >>> known_ids(Strings.of(["a"]), ["b", "a"], unknown="ignore")
    ['a']
    >>> known_ids(Strings.of(["a"]), ["b", "a"])
    Traceback (most recent call last):
    vizsla.errors.InputError: `item` must be a known id. Got 'b'.
    """
    check_choice("unknown", unknown, ("raise", "ignore"))
    if isinstance(ids, str):
        raise InputError(f"`ids` must be several ids. Got the text {ids!r:.60}: put it into a list.")
    if not is_iterable(ids):
        raise InputError(f"`ids` must be several ids. Got {type(ids).__name__}.")
    given = list(ids)
    if unknown == "raise":
        for item in given:
            known.number(item)
        return given
    return [item for item in given if item in known]


def kept_items(known: Strings, ids: Iterable[str]) -> NDArray[np.int64]:
    """Return the numbers of all items but these; one must be left.

    Examples
    --------
    >>> kept_items(Strings.of(["a", "b", "c"]), ["b"]).tolist()
    [0, 2]
    """
    kept = np.ones(len(known), dtype=np.bool_)
    kept[[known.number(item) for item in known_ids(known, ids)]] = False
    if not kept.any():
        raise InputError("At least one item must be left. Got the ids of all of them.")
    return np.flatnonzero(kept)


def grown_ids(known: Strings, ids: Strings | Iterable[str], source: Any = None) -> Strings:
    """Return the ids of a catalog and of new items, with what both sides know of theirs.

    Examples
    --------
    >>> list(grown_ids(Strings.of(["a"]), ["b"]))
    ['a', 'b']
    """
    both = Strings.unique([*known, *ids], what="item id")
    given = None if source is None else plain_items(source)
    return described(both, [known, *_catalogs(given, ids)], settled=True)


def left_ids(known: Strings, kept: NDArray[np.int64]) -> Strings:
    """Return the ids of the items that are left, with what is known of them."""
    return described(Strings.of(known.take(kept.astype(np.int32))), [known])


def _catalogs(*sources: Any) -> list[Strings]:
    found = [getattr(source, "item_ids", getattr(source, "ids", source)) for source in sources]
    return [source for source in found if isinstance(source, Strings)]


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
