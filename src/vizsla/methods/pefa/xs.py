"""PefaXs: one index over item vectors that have moved towards the queries they were clicked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from vizsla.candidates import Candidates
from vizsla.clicks.choice import Choice
from vizsla.clicks.log import ClickLog
from vizsla.clicks.matrices import Rows, is_sparse
from vizsla.encoder import Encoder
from vizsla.errors import FormatError, InputError
from vizsla.explanation import Explanation
from vizsla.index import Mask
from vizsla.indexes.dense_index import DenseIndex
from vizsla.indexes.grouped import GroupedIndex
from vizsla.indexes.inverted import InvertedIndex
from vizsla.methods.bm25 import Bm25
from vizsla.methods.dense import Dense
from vizsla.methods.pefa.blend import asked, blended, speakers
from vizsla.methods.pefa.explain_xs import explain_xs
from vizsla.methods.pefa.settings import XsSettings
from vizsla.methods.vectored import Vectored
from vizsla.retriever import Retriever
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter


class PefaXs(Retriever):
    """A retriever over vectors or bags adapted to clicks; it costs what the base costs. Use `pefa_xs` or `pefa_max`.

    Parameters
    ----------
    base : Dense or Bm25
        What is adapted.
    log : ClickLog
        What was clicked.
    settings : XsSettings
        The numbers of the formula.
    index : DenseIndex, GroupedIndex or InvertedIndex
        The moved vectors, with past queries' vectors if the best past query may speak alone.
    choice : Choice, optional
        How the settings were chosen.
    """

    kind = "pefa-xs"

    def __init__(
        self,
        base: Vectored,
        log: ClickLog,
        settings: XsSettings,
        index: DenseIndex | GroupedIndex | InvertedIndex,
        *,
        choice: Choice | None = None,
    ):
        self.base, self.log, self.settings, self.index, self.choice = base, log, settings, index, choice
        self.scale = base.scale
        if len(index) != len(base.items) or index.dim != base.index.dim + settings.extra:
            raise InputError("`index` must be over the base's items and dimensions. Got another.")
        if log.width != len(base.items) or log.dim != base.index.dim:
            raise InputError("`log` must be of clicks on the base's items, in its dimensions. Got another.")

    @classmethod
    def build(cls, base: Vectored, log: ClickLog, settings: XsSettings, *, choice: Choice | None = None) -> Self:
        """Move the items' vectors and index them like the base's."""
        vectors = blended(base._vectors(slice(None)), log, np.arange(len(base.items)), settings, base._weights)
        return cls(base, log, settings, _indexed(base, log, settings, vectors), choice=choice)

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self.base.items

    @property
    def encoder(self) -> Encoder:
        """The base's encoder."""
        return self.base.encoder

    @property
    def nbytes(self) -> int:
        """Bytes of the index that is searched; base and log are kept for explaining and for new clicks."""
        return self.index.nbytes

    def with_clicks(self, clicks: Any) -> PefaXs:
        """Return the retriever with more clicks: only the items they touch are computed anew.

        All settings stay. The answers are, bit for bit, those of a retriever built at once with these settings from
        all clicks. A graph index (HNSW) is built anew.

        Parameters
        ----------
        clicks
            A Dataset, or (query text, item id) pairs with or without a weight.
        """
        return self._changed(clicks, 1)

    def without_clicks(self, clicks: Any) -> PefaXs:
        """Take clicks away again: adding and taking away leaves no trace."""
        return self._changed(clicks, -1)

    def with_encoder(self, encoder: Encoder) -> PefaXs:
        """Give the encoder that a load could not bring back; see `Dense.with_encoder`."""
        if not isinstance(self.base, Dense):
            raise InputError("`encoder` must be left as it is: this base keeps its own words.")
        return PefaXs(self.base.with_encoder(encoder), self.log, self.settings, self.index, choice=self.choice)

    def _changed(self, clicks: Any, sign: int) -> PefaXs:
        log, touched = self.log.changed(clicks, self.items, self.base._encoded, sign=sign)
        if isinstance(self.index, InvertedIndex):  # lists are written anew in any case
            return PefaXs.build(self.base, log, self.settings, choice=self.choice)
        inner = self.index.index if isinstance(self.index, GroupedIndex) else self.index
        vectors = np.array(inner.stored.take(slice(0, len(self.items))), np.float32)
        vectors[touched] = blended(self.base._vectors(touched), log, touched, self.settings)
        index = _indexed(self.base, log, self.settings, vectors)
        return PefaXs(self.base, log, self.settings, index, choice=self.choice)

    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        rows = asked(self.base._encoded(texts), self.settings)
        return self.base._find(self.index, rows, k, allowed, threads)

    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        return self.base._score_given(self.index, asked(self.base._encoded(texts), self.settings), candidates)

    def _explain(self, text: str, item: int) -> Explanation:
        row = self.base._encoded([text])
        one = Candidates(np.array([0, 1]), np.array([item], np.int32), None)
        score = float(self.base._score_given(self.index, asked(row, self.settings), one)._required_scores()[0])
        own = float(self.base._score([text], one)._required_scores()[0])
        query = row.toarray()[0] if is_sparse(row) else row[0]
        return explain_xs(score, query, own, self.log, item, self.settings, self.base._weights)

    def _write(self, writer: ArtifactWriter) -> None:
        choice = None if self.choice is None else self.choice.to_dict()
        writer.parameters(settings=self.settings.to_dict(), choice=choice)
        writer.child("base", self.base)
        writer.child("index", self.index)
        self.log.write(writer)

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        base, index = reader.child("base"), reader.child("index")
        kinds = InvertedIndex if isinstance(base, Bm25) else DenseIndex | GroupedIndex
        if not isinstance(base, Dense | Bm25) or not isinstance(index, kinds):
            raise FormatError(f"{reader.path}: expected a base and an index over its rows. Got other kinds.")
        log = ClickLog.read(reader, width=len(base.items))
        choice = reader.parameter("choice", (dict, type(None)))
        try:
            settings = XsSettings(**reader.parameter("settings", dict))
            return cls(base, log, settings, index, choice=None if choice is None else Choice.of(choice))
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error


def _indexed(
    base: Vectored, log: ClickLog, settings: XsSettings, vectors: Rows
) -> DenseIndex | GroupedIndex | InvertedIndex:
    if not settings.best:
        built: DenseIndex | InvertedIndex = base._indexed(vectors)
        return built
    said, owners = speakers(base._vectors(slice(None)), log, settings)
    index = base._indexed(np.concatenate([vectors, said]))
    return GroupedIndex(index, np.concatenate([np.arange(len(vectors), dtype=np.int32), owners]))
