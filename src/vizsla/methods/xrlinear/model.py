"""XrLinear: query text to items through a tree of sparse linear matchers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Self

from vizsla.cached_property import cached_property
from vizsla.checked import checked
from vizsla.encoded import Encoded
from vizsla.encoder import Encoder
from vizsla.encoders.reference import read_encoder, write_encoder
from vizsla.errors import InputError
from vizsla.explanation import Explanation
from vizsla.filter import Filter
from vizsla.indexes.tree import TreeIndex
from vizsla.methods.xrlinear.calibration import Calibration, read_calibration
from vizsla.methods.xrlinear.item_texts import ItemTexts
from vizsla.methods.xrlinear.training_queries import TrainingQueries
from vizsla.methods.xrlinear.tree import LabelTree
from vizsla.queries import Queries
from vizsla.recipe import refit
from vizsla.sparse_rows import SparseRows, as_scipy
from vizsla.strings import Strings

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.dataset import Dataset


class XrLinear(Encoded):
    """A trained matcher. Make one with `train_xrlinear`.

    A score is the logarithm of the product of activations on the item's path (Eq. 8): 0 at best.

    Parameters
    ----------
    items : Strings
        Item ids.
    encoder : Encoder
        Query texts to features. Code, such as a function, is saved by its fingerprint only: see `with_encoder`.
    index : TreeIndex
        The tree and its matchers.
    training_queries : TrainingQueries
        The training queries of every item, for explanations.
    texts : ItemTexts, optional
        The items' own texts, to find neighbours of items that have no clicks.
    calibration : Calibration, optional
        How the text of an item without clicks becomes a matcher.
    """

    kind = "xrlinear"
    scale = "log relevance"
    index: TreeIndex

    @checked
    def __init__(
        self,
        items: Strings,
        encoder: Encoder,
        index: TreeIndex,
        training_queries: TrainingQueries,
        *,
        texts: ItemTexts | None = None,
        calibration: Calibration | None = None,
    ):
        super().__init__(items, encoder, index)
        if texts is not None and len(texts) != len(items):
            raise InputError(f"`texts` must be those of {len(items)} items. Got {len(texts)}.")
        self.training_queries, self.texts, self.calibration = training_queries, texts, calibration

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.items):,} items, beam {self.index.beam})"

    @property
    def highest(self) -> float:  # type: ignore[override]
        """The logarithm of a product of activations is 0 at best; a margin as it is has no bound."""
        return inf if self.index.transform == "none" else 0.0

    def exhaustive(self) -> Self:
        """Return the same model without a beam: it scores every item."""
        return self.with_effort(max(len(self.items), 1))

    @checked
    def with_items(self, items: Mapping[str, str] | Iterable[tuple[str, str]], *, neighbours: int = 10) -> Self:
        """Return a model that also knows these items, which have texts but no clicks; nothing is trained again.

        Parameters
        ----------
        items : mapping or pairs
            Texts by id; the ids must be new.
        neighbours : int
            How many items with clicks, the nearest by text, make the matcher of a new one.
        """
        from vizsla.methods.xrlinear.cold import add_items

        return add_items(self, items, neighbours=neighbours)

    def without_items(self, ids: Iterable[str]) -> Self:
        """Return a model that has forgotten these items; nothing is trained again."""
        from vizsla.methods.xrlinear.cold import remove_items

        return remove_items(self, ids)

    def refitted(self, dataset: Dataset, *, threads: int = 1) -> XrLinear:
        """Train anew on this dataset, with what was chosen for it; a model whose options are no plain data raises."""
        recipe = self._recipe
        if recipe is None or {"tree", "negatives", "representation"} & {each.name for each in recipe.bindings}:
            remedy = "Give a function that trains it on a dataset: `lambda dataset: train_xrlinear(dataset, …)`."
            raise InputError(f"A model must know how it was trained, to be trained again. Got {self!r}. {remedy}")
        again: XrLinear = refit(self, dataset, threads=threads)
        return again

    @cached_property
    def tree(self) -> LabelTree:
        """Which items live together, layer by layer, by item number."""
        return LabelTree([layer.child_offsets for layer in self.index.layers], self.index.leaf_items)

    @checked
    def leaf_mates(self, item: str) -> list[str]:
        """Return the ids of the items in the same leaf, the item itself left out."""
        number = self.items.number(item)
        mates = self.tree.neighbours(number)
        return self.items.take(mates[mates != number])

    @checked
    def top_features(self, layer: int, node: int, *, most: int = 10) -> list[tuple[str, float]]:
        """Return the features with the largest weights of a node's matcher: what the node stands for.

        Parameters
        ----------
        layer : int
            0 holds the root's children; the last layer holds the items, by their place in the tree.
        node : int
            The node's number within its layer, as in `tree.path`.
        most : int
            How many features.
        """
        from vizsla.methods.xrlinear.explain import top_features

        return top_features(self, layer, node, most=most)

    def _rows(self, queries: Queries) -> SparseRows:
        rows = queries.encoded(self.encoder)
        # Dense features are read as sparse ones: zeros are left out.
        return rows if isinstance(rows, SparseRows) else SparseRows.of(as_scipy(rows))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        from vizsla.methods.xrlinear.explain import explain

        return explain(self, queries, item)

    def _with(self, **changes: Any) -> Self:
        same = {"items": self.items, "encoder": self.encoder, "index": self.index}
        known: dict[str, Any] = {"training_queries": self.training_queries, "texts": self.texts}
        known |= {"calibration": self.calibration}
        return self._kept(type(self)(**{**same, **known, **changes}))

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(cold_start=self.calibration is not None)
        write_encoder(writer, self.encoder)
        writer.catalogue("items", self.items)
        self.training_queries.write(writer, "training_queries")
        writer.child("tree", self.index)
        if self.texts is not None and self.calibration is not None:
            self.texts.write(writer, "texts")
            writer.parameters(calibration=list(self.calibration))

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index, items, encoder = reader.child("tree", TreeIndex), reader.catalogue("items"), read_encoder(reader)
        queries, texts, calibration = TrainingQueries.read(reader, "training_queries", items=len(items)), None, None
        if reader.parameter("cold_start", bool):
            texts, calibration = ItemTexts.read(reader, "texts", dim=encoder.dim), read_calibration(reader)
        return cls(items, encoder, index, queries, texts=texts, calibration=calibration)
