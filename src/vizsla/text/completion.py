"""Completer: what a user who has typed a few letters probably goes on to write, from titles and past queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from vizsla import _native
from vizsla.artifacts.artifact import Artifact
from vizsla.core.strings import Strings
from vizsla.core.validation import check_type
from vizsla.data.dataset import Dataset
from vizsla.errors import FormatError, InputError, check_positive
from vizsla.typing import Float32Array, Float64Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

HALF_LIFE_DAYS = 30.0
"""Days after which a click counts half."""
MAX_TITLE_CHARS = 120
"""A longer text is no title, and a longer query is not suggested."""
TYPO_CHARS = 4
"""So many letters must be typed before one of them may be wrong."""


class CompletionEntry(NamedTuple):
    """A text that may be suggested: how it compares, how it is shown, and what it weighs."""

    key: str
    text: str
    weight: float


class Suggested(NamedTuple):
    """An entry that continues a prefix, and whether the prefix has a typo (1) or not (0)."""

    entry: CompletionEntry
    edits: int


def completion_key(text: str) -> str:
    """Return how a text is compared: case-folded, with single spaces; one at the end is kept.

    Examples
    --------
    >>> completion_key("  Fire  FOX "), completion_key("Straße")
    ('fire fox ', 'strasse')
    """
    key = " ".join(text.casefold().split())
    return f"{key} " if key and text[-1:].isspace() else key


def title_of(title: str, text: str) -> str:
    """Return what is suggested for an item: its title, or its text if that is as short; empty where there is none."""
    chosen = " ".join((title or text).split())
    return chosen if len(chosen) <= MAX_TITLE_CHARS else ""


class Completer(Artifact):
    """Completes what is typed: titles and past queries that begin with it, the most clicked first.

    Where fewer than `k` begin with it, those that begin with something one edit away follow.

    Parameters
    ----------
    keys : Strings
        How entries compare, in ascending order of their UTF-8 bytes, each once.
    texts : Strings
        How they are shown.
    weights : float32 array
        Their weights; the heaviest are suggested first.

    Examples
    --------
    >>> complete = Completer.from_weights({"Firefox": 3, "fire alarm": 1, "fig tree": 2})
    >>> complete("fi"), complete("fire a"), complete("Feref")
    (['Firefox', 'fig tree', 'fire alarm'], ['fire alarm'], ['Firefox'])
    """

    kind = "completer"

    def __init__(self, keys: Strings, texts: Strings, weights: Float32Array):
        check_type("keys", keys, Strings, "Strings")
        check_type("texts", texts, Strings, "Strings")
        if not len(keys) == len(texts) == len(weights) or weights.dtype != np.float32:
            raise InputError(f"`texts` and `weights` must be {len(keys)}, as many as `keys`. Got others.")
        self.keys, self.texts, self.weights = keys, texts, weights
        self._native = _native.Completions(keys.data, keys.offsets, weights)

    @classmethod
    def of(cls, dataset: Dataset, *, half_life_days: float | None = HALF_LIFE_DAYS) -> Self:
        """Read the titles and the clicked queries of a dataset.

        A query weighs its clicks, and a title those of its item. An item without a title gives its text if that has at
        most 120 characters.

        Parameters
        ----------
        dataset : Dataset
            Items, queries and clicks.
        half_life_days : float, optional
            Days before the last click after which a click counts half; None: no discount. Clicks without times
            do not decay.
        """
        check_type("dataset", dataset, Dataset, "a Dataset")
        clicks = dataset.clicks
        if dataset.events is not None and half_life_days is not None:
            clicks = dataset.events.decayed(half_life_days).matrix(clicks.shape)
        asked = np.asarray(clicks.sum(axis=1), np.float64).reshape(-1)
        chosen = np.asarray(clicks.sum(axis=0), np.float64).reshape(-1)
        return cls.from_weights(_texts_of(dataset, asked, chosen))

    @classmethod
    def from_weights(cls, weights: Mapping[str, float] | Iterable[tuple[str, float]]) -> Self:
        """Take texts and what each weighs; of those that differ in case or spaces only, the heaviest is shown."""
        best: dict[str, CompletionEntry] = {}
        for text, weight in weights.items() if isinstance(weights, Mapping) else weights:
            key = completion_key(text).rstrip()
            if key and len(key) <= MAX_TITLE_CHARS:
                best[key] = joined_entry(best.get(key), CompletionEntry(key, text, float(weight)))
        return cls.from_entries(best.values())

    @classmethod
    def from_entries(cls, entries: Iterable[CompletionEntry]) -> Self:
        """Take entries with distinct keys."""
        ordered = sorted((entry.key.encode(), entry) for entry in entries)
        weights = np.array([entry.weight for _, entry in ordered], np.float32)
        if not np.isfinite(weights).all():
            raise InputError("The weights of entries must be finite. Got others.")
        return cls(
            Strings.of(entry.key for _, entry in ordered), Strings.of(entry.text for _, entry in ordered), weights
        )

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"Completer({len(self):,} entries)"

    @property
    def nbytes(self) -> int:
        """Bytes of the keys, the texts and the weights."""
        return int(self.keys.nbytes + self.texts.nbytes + self.weights.nbytes)

    def __call__(self, prefix: str, k: int = 8, *, typos: bool = True) -> list[str]:
        """Return at most `k` texts that go on as the prefix does, the best first.

        Parameters
        ----------
        prefix : str
            What was typed so far; nothing at all asks for the heaviest.
        k : int
            How many at most.
        typos : bool
            Whether one of at least 4 letters may be wrong where too few begin with the prefix.
        """
        return [found.entry.text for found in self.find(prefix, k, typos=typos)]

    def find(self, prefix: str, k: int = 8, *, typos: bool = True) -> list[Suggested]:
        """Return what `__call__` does, with keys, weights and edits."""
        check_type("prefix", prefix, str, "a text")
        key = completion_key(prefix)
        found = self._native.find(key, min(check_positive("k", k), max(len(self), 1)), typos and len(key) >= TYPO_CHARS)
        keys, texts, weights = self.keys, self.texts, self.weights
        return [Suggested(CompletionEntry(keys[at], texts[at], float(weights[at])), edits) for at, edits in found]

    def _write(self, writer: ArtifactWriter) -> None:
        writer.strings("keys", self.keys)
        writer.strings("texts", self.texts)
        writer.array("weights", self.weights)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        try:
            return cls(reader.strings("keys"), reader.strings("texts"), reader.array("weights", np.float32))
        except (InputError, ValueError) as error:
            raise FormatError(f"{reader.path}: {error}") from error


def joined_entry(known: CompletionEntry | None, new: CompletionEntry) -> CompletionEntry:
    """Return two entries of one key as one: their weights are added, and the heavier's text is shown."""
    if known is None:
        return new
    text = new.text if (new.weight, known.text) > (known.weight, new.text) else known.text
    return CompletionEntry(new.key, text, known.weight + new.weight)


def _texts_of(dataset: Dataset, asked: Float64Array, chosen: Float64Array) -> Iterable[tuple[str, Any]]:
    for query, weight in zip(dataset.queries, asked, strict=True):
        if weight:
            yield query.text, weight
    for item, weight in zip(dataset.items, chosen, strict=True):
        yield title_of(item.title, item.text), weight
