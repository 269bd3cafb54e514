"""CrossEncoder: a model that reads query and item together, as a scorer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.artifacts.artifact import Artifact
from vizsla.base.scorer import Scorer
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.errors import FormatError, InputError
from vizsla.scorers.pair_models import PairModel, open_pair_model, read_pair_model, write_pair_model
from vizsla.scorers.text import StoredTexts, TextScorer
from vizsla.typing import Float32Array

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset


class CrossEncoder(TextScorer, Artifact):
    """Scores pairs of texts with a cross-encoder: accurate but expensive; use it after `>>`.

    Pairs of all queries of a call go through the model together, those of like length in one batch. Every pair is a
    model call: a `Budget` limits them, a `ScoreCache` remembers them.

    Parameters
    ----------
    texts : mapping, Dataset, Retriever or Engine
        Item texts by id, or what keeps them.
    model : str, path or PairModel
        A folder with `model.onnx` (extra `onnx`), or a hub id or folder of a model that transformers can load (extra
        `neural`).
    scale : str
        The name of what the scores measure.
    **options
        Options of `OnnxPairModel` or `TorchPairModel`, such as `max_tokens`, `batch`, `device`, `threads`.
    """

    kind = "cross-encoder"

    @validate_args
    def __init__(
        self,
        texts: Mapping[str, str] | Dataset | Scorer,
        model: str | Path | PairModel,
        *,
        scale: str = "cross-encoder",
        **options: Any,
    ):
        super().__init__(texts, scale=scale)
        self.model = model if isinstance(model, PairModel) else open_pair_model(model, **options)
        if options and self.model is model:
            raise InputError(f"`options` must go to the model itself. Got {', '.join(options)}.")

    def __repr__(self) -> str:
        return f"CrossEncoder({self.model!r}, {len(self._items):,} items)"

    @property
    def fingerprint(self) -> str:
        """The model's."""
        return self.model.fingerprint

    @property
    def nbytes(self) -> int:
        """Bytes of the model."""
        return self.model.nbytes

    def _byte_counts(self) -> dict[Any, int]:
        return {self.model.fingerprint: self.model.nbytes}

    def score_pairs(self, queries: list[str], texts: list[str]) -> Float32Array:
        """Let the model read the pairs."""
        return self.model.scores(queries, texts)

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(scale=self.scale)
        writer.catalog("items", self._items)
        texts = self._item_texts(np.arange(len(self._items), dtype=np.int32))
        writer.strings("texts", Strings.of(texts))
        write_pair_model(writer, self.model)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        items, texts = reader.catalog("items"), reader.strings("texts", findable=False)
        if len(items) != len(texts):
            raise FormatError(f"{reader.path}: expected a text for each of {len(items)} items. Got {len(texts)}.")
        return cls(StoredTexts(items, texts), read_pair_model(reader), scale=reader.parameter("scale", str))
