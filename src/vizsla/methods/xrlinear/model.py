"""XrLinear: query text to items through a tree of sparse linear matchers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any, Self

from vizsla.candidates import Candidates
from vizsla.encoder import Encoder
from vizsla.errors import CompositionError, FormatError, InputError, check_positive
from vizsla.explanation import Explanation
from vizsla.filters import Where
from vizsla.index import Mask
from vizsla.indexes.inverted import InvertedIndex
from vizsla.indexes.tree import TreeIndex
from vizsla.methods.xrlinear.csr import Csr, as_csr
from vizsla.methods.xrlinear.item_texts import ItemTexts
from vizsla.methods.xrlinear.taught import Taught
from vizsla.retriever import Retriever
from vizsla.strings import Strings
from vizsla.text.ngrams import NgramTfidf

if TYPE_CHECKING:
    from vizsla.artifact_reader import ArtifactReader
    from vizsla.artifact_writer import ArtifactWriter
    from vizsla.methods.xrlinear.cold import Calibration


class XrLinear(Retriever):
    """A trained matcher. Make one with `train_xrlinear`.

    A score is the logarithm of the product of activations on the item's path (Eq. 8): 0 at best.

    Parameters
    ----------
    items : Strings
        Item ids.
    encoder : Encoder
        Query texts to features; an `NgramTfidf` can be saved.
    index : TreeIndex
        The tree and its matchers.
    taught : Taught
        The training queries of every item, for explanations.
    texts : ItemTexts, optional
        The items' own texts, to find neighbours of items that have no clicks.
    calibration : Calibration, optional
        How the text of an item without clicks becomes a matcher.
    """

    kind = "xrlinear"
    scale = "log relevance"

    def __init__(
        self,
        items: Strings,
        encoder: Encoder,
        index: TreeIndex,
        taught: Taught,
        *,
        texts: ItemTexts | None = None,
        calibration: Calibration | None = None,
    ):
        if len(index) != len(items):
            raise InputError(f"`index` must be over {len(items)} items. Got one over {len(index)}.")
        if index.dim != encoder.dim:
            raise InputError(f"`index` must be over the encoder's {encoder.dim} features. Got {index.dim}.")
        if texts is not None and len(texts) != len(items):
            raise InputError(f"`texts` must be those of {len(items)} items. Got {len(texts)}.")
        self._items, self.encoder, self.index, self.taught = items, encoder, index, taught
        self.texts, self.calibration = texts, calibration

    @property
    def items(self) -> Strings:
        """Item ids by number."""
        return self._items

    @property
    def nbytes(self) -> int:
        """Bytes of the tree and the vocabulary."""
        return self.index.nbytes + int(getattr(self.encoder, "nbytes", 0))

    def __call__(
        self,
        queries: str | Sequence[str],
        k: int = 10,
        *,
        where: Where | None = None,
        threads: int = 1,
        beam: int | None = None,
    ) -> Candidates:
        """Return the best `k` items for each query; `beam` nodes of a layer are followed."""
        if beam is not None and beam != self.index.beam:
            return self.with_beam(beam)(queries, k, where=where, threads=threads)
        return super().__call__(queries, k, where=where, threads=threads)

    def with_beam(self, beam: int) -> Self:
        """Return the same model with another default beam; it shares all arrays."""
        return self._with(index=self.index.with_beam(check_positive("beam", beam)))

    def exhaustive(self) -> Self:
        """Return the same model without a beam: it scores every item."""
        return self.with_beam(max(len(self._items), 1))

    def with_items(self, items: Mapping[str, str] | Iterable[tuple[str, str]], *, neighbours: int = 10) -> Self:
        """Return a model that also knows these items, which have texts but no clicks; nothing is trained again."""
        from vizsla.methods.xrlinear.cold import add_items

        return add_items(self, items, neighbours=neighbours)

    def without_items(self, ids: Iterable[str]) -> Self:
        """Return a model that has forgotten these items; nothing is trained again."""
        from vizsla.methods.xrlinear.cold import remove_items

        return remove_items(self, ids)

    def features(self, texts: list[str]) -> Csr:
        """Encode query texts into rows of ascending features."""
        if isinstance(self.encoder, NgramTfidf):
            return Csr(*self.encoder.rows(texts), self.encoder.dim)
        return as_csr(self.encoder.queries(texts), "queries")

    def _search(self, texts: list[str], k: int, allowed: Mask | None, threads: int) -> Candidates:
        found = self.index.search_rows(*self.features(texts)[:3], k, allowed=allowed, threads=threads)
        found.catalogue = self._items  # the index made it for this call alone
        return found

    def _score(self, texts: list[str], candidates: Candidates) -> Candidates:
        return self.index.score_rows(*self.features(texts)[:3], candidates)

    def _explain(self, text: str, item: int) -> Explanation:
        from vizsla.methods.xrlinear.explain import explain

        return explain(self, text, item)

    def _with(self, **changes: Any) -> Self:
        same = {"items": self._items, "encoder": self.encoder, "index": self.index, "taught": self.taught}
        return type(self)(**{**same, "texts": self.texts, "calibration": self.calibration, **changes})

    def _write(self, writer: ArtifactWriter) -> None:
        if not isinstance(self.encoder, NgramTfidf):
            raise CompositionError(
                f"The encoder must be an NgramTfidf to be saved. Got {type(self.encoder).__name__}, which is code."
            )
        writer.strings("items", self._items)
        self.encoder.write(writer, "encoder")
        self.taught.write(writer, "taught")
        writer.child("tree", self.index)
        postings = None if self.texts is None or self.calibration is None else self.texts.index
        writer.parameters(texts=postings is not None)
        if postings is not None:
            writer.child("texts", postings)
            writer.parameters(calibration=list(self.calibration or ()))

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index, items = reader.child("tree"), reader.strings("items")
        if not isinstance(index, TreeIndex):
            raise FormatError(f"{reader.path / 'tree'}: expected a tree. Got kind {index.kind!r}.")
        encoder, taught = NgramTfidf.read(reader, "encoder"), Taught.read(reader, "taught", items=len(items))
        texts, calibration = cls._read_texts(reader, encoder.dim) if reader.parameter("texts", bool) else (None, None)
        try:
            return cls(items, encoder, index, taught, texts=texts, calibration=calibration)
        except InputError as error:
            raise FormatError(f"{reader.path}: {error}") from error

    @staticmethod
    def _read_texts(reader: ArtifactReader, dim: int) -> tuple[ItemTexts, Calibration]:
        from vizsla.methods.xrlinear.cold import Calibration

        postings, numbers = reader.child("texts"), reader.parameter("calibration", list)
        if not isinstance(postings, InvertedIndex) or postings.width != dim:
            raise FormatError(f"{reader.path / 'texts'}: expected postings over {dim} features.")
        if len(numbers) != len(Calibration._fields) or not all(type(n) is float and isfinite(n) for n in numbers):
            raise FormatError(f"{reader.path}: the calibration must be {len(Calibration._fields)} numbers.")
        return ItemTexts(index=postings), Calibration(*numbers)
