"""PairModel: a model that reads two texts together and gives a number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import _native
from vizsla.encoders.lengths import by_length
from vizsla.errors import InputError
from vizsla.progress import progress

Floats = NDArray[np.float32]
FORMS = ("head", "dot")
"""What makes a number of the last layer: a head over the first token, or the inner product of first and last token."""


class PairModel(ABC):
    """Scores pairs of texts, batch by batch, pairs of like length together.

    Attributes
    ----------
    batch : int
        Pairs that go through the model at once.
    """

    batch: int

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever a pair would be scored differently."""

    @property
    def nbytes(self) -> int:
        """Bytes of the weights; 0 where nothing is known of them."""
        return 0

    @property
    @abstractmethod
    def reference(self) -> dict[str, Any]:
        """What an artefact remembers, to load the model again: kind, name, options."""

    @abstractmethod
    def score_batch(self, queries: list[str], texts: list[str]) -> Floats:
        """Score a few pairs."""

    def scores(self, queries: Sequence[str], texts: Sequence[str]) -> Floats:
        """Score pair after pair: `queries[i]` with `texts[i]`."""
        if len(queries) != len(texts):
            raise InputError(f"`texts` must be as many as the queries ({len(queries)}). Got {len(texts)}.")
        found = np.zeros(len(texts), np.float32)
        joined = [query + text for query, text in zip(queries, texts, strict=True)]
        batches = list(by_length(joined, self.batch))
        for chosen in progress(batches, what=f"scoring, {self.batch} pairs a step"):
            found[chosen] = self.score_batch([queries[at] for at in chosen], [texts[at] for at in chosen])
        return found


def checksum_of(rules: object, seen: int = 0) -> int:
    """Return a checksum of what a `repr` says, after another."""
    return int(_native.checksum(np.frombuffer(repr(rules).encode(), np.uint8), seen))
