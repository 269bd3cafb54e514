"""XrLinear: query text to items through a tree of sparse linear models, with explanations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from vizsla._internal.lazy import cached_property
from vizsla.base.encoder import Encoder
from vizsla.base.index_retriever import IndexRetriever
from vizsla.base.queries import Queries
from vizsla.base.recipe import refit
from vizsla.base.retriever import Retriever
from vizsla.core.explanation import Explanation
from vizsla.core.sparse import SparseRows, as_scipy
from vizsla.core.strings import Strings
from vizsla.core.validation import validate_args
from vizsla.data.filter import Filter
from vizsla.encoders.persistence import read_encoder, write_encoder
from vizsla.errors import InputError
from vizsla.indexes.tree import NodeWeights, TreeIndex, all_matchers, node_matcher
from vizsla.methods.xrlinear.cold_start import ColdCalibration, ItemTexts, read_calibration
from vizsla.methods.xrlinear.instances import TrainingQueries
from vizsla.methods.xrlinear.tree import LabelTree
from vizsla.text.ngrams import NgramTfidf

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter
    from vizsla.data.dataset import Dataset


class XrLinear(IndexRetriever):
    """A trained matcher. Make one with `xrlinear`.

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
        The items' own texts, to find neighbors of items that have no clicks.
    calibration : ColdCalibration, optional
        How the text of an item without clicks becomes a matcher.
    """

    kind = "xrlinear"
    scale = "log relevance"
    index: TreeIndex

    @validate_args
    def __init__(
        self,
        items: Strings,
        encoder: Encoder,
        index: TreeIndex,
        training_queries: TrainingQueries,
        *,
        texts: ItemTexts | None = None,
        calibration: ColdCalibration | None = None,
    ):
        super().__init__(items, encoder, index)
        if texts is not None and len(texts) != len(items):
            raise InputError(f"`texts` must be those of {len(items)} items. Got {len(texts)}.")
        self.training_queries, self.texts, self.calibration = training_queries, texts, calibration

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.items):,} items, beam {self.index.beam})"

    @property
    def max_score(self) -> float:  # type: ignore[override]
        """The logarithm of a product of activations is 0 at best; a margin as it is has no bound."""
        return inf if self.index.transform == "none" else 0.0

    def exhaustive(self) -> Self:
        """Return the same model without a beam: it scores every item."""
        return self.with_effort(max(len(self.items), 1))

    @validate_args
    def with_items(self, items: Mapping[str, str] | Iterable[tuple[str, str]], *, neighbors: int = 10) -> Self:
        """Return a model that also knows these items, which have texts but no clicks; nothing is trained again.

        Parameters
        ----------
        items : mapping or pairs
            Texts by id; the ids must be new.
        neighbors : int
            How many items with clicks, the nearest by text, make the matcher of a new one.
        """
        from vizsla.methods.xrlinear.cold_start import add_items

        return add_items(self, items, neighbors=neighbors)

    def _without_items(self, ids: list[str], memo: dict[int, Retriever]) -> Self:
        from vizsla.methods.xrlinear.cold_start import remove_items

        return remove_items(self, ids)

    def refit_on(self, dataset: Dataset, *, threads: int = 1) -> XrLinear:
        """Train again on this dataset, with what was chosen for it; a model whose options are no plain data raises."""
        recipe = self._recipe
        if recipe is None or {"tree", "negatives", "representation"} & {each.name for each in recipe.bindings}:
            remedy = "Give a function that trains it on a dataset: `lambda dataset: xrlinear(dataset, …)`."
            raise InputError(f"A model must know how it was trained, to be trained again. Got {self!r}. {remedy}")
        again: XrLinear = refit(self, dataset, threads=threads)
        return again

    @cached_property
    def tree(self) -> LabelTree:
        """Which items live together, layer by layer, by item number."""
        return LabelTree([layer.child_offsets for layer in self.index.layers], self.index.leaf_items)

    @validate_args
    def leaf_mates(self, item: str) -> list[str]:
        """Return the ids of the items in the same leaf, the item itself left out."""
        number = self.items.number(item)
        mates = self.tree.neighbors(number)
        return self.items.take(mates[mates != number])

    @validate_args
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

        return top_features(self, layer, node, most=most)

    def _rows(self, queries: Queries) -> SparseRows:
        rows = queries.encoded(self.encoder)
        # Dense features are read as sparse ones: zeros are left out.
        return rows if isinstance(rows, SparseRows) else SparseRows.of(as_scipy(rows))

    def _explain(self, queries: Queries, item: int, filter: Filter | None) -> Explanation:
        return explain(self, queries, item)

    def _with(self, **changes: Any) -> Self:
        same = {"items": self.items, "encoder": self.encoder, "index": self.index}
        known: dict[str, Any] = {"training_queries": self.training_queries, "texts": self.texts}
        known |= {"calibration": self.calibration}
        return self._kept(type(self)(**{**same, **known, **changes}))

    def _write(self, writer: ArtifactWriter) -> None:
        writer.parameters(cold_start=self.calibration is not None)
        write_encoder(writer, self.encoder)
        writer.catalog("items", self.items)
        self.training_queries.write(writer, "training_queries")
        writer.child("tree", self.index)
        if self.texts is not None and self.calibration is not None:
            self.texts.write(writer, "texts")
            writer.parameters(calibration=list(self.calibration))

    @classmethod
    def _read(cls, reader: ArtifactReader) -> Self:
        index, items, encoder = reader.child("tree", TreeIndex), reader.catalog("items"), read_encoder(reader)
        queries, texts, calibration = TrainingQueries.read(reader, "training_queries", items=len(items)), None, None
        if reader.parameter("cold_start", bool):
            texts, calibration = ItemTexts.read(reader, "texts", dim=encoder.dim), read_calibration(reader)
        return cls(items, encoder, index, queries, texts=texts, calibration=calibration)


MAX_FEATURES_EXPLAINED = 5


def explain(model: XrLinear, queries: Queries, item: int) -> Explanation:
    """Return the item's score as the sum of its path's log activations, and what made each of them."""
    rows = model._rows(queries)
    query = dict(zip(rows.columns.tolist(), rows.values.tolist(), strict=True))
    score = model._score_one(queries, item)
    path = model.index.path(item)
    steps = [_step(model, number, node, query) for number, node in enumerate(path)]
    reason = f"xrlinear: the sum of {len(path)} log activations on the way to the item"
    return Explanation(score, reason, [*steps, *_training_queries(model, item)])


def _step(model: XrLinear, number: int, node: int, query: dict[int, float]) -> Explanation:
    features, weights = node_matcher(model.index, number, node)
    bias = dict(zip(features.tolist(), weights.tolist(), strict=True)).get(model.index.dim, 0.0) * model.index.bias
    shared = [(f, query[f] * w) for f, w in zip(features.tolist(), weights.tolist(), strict=True) if f in query]
    margin = bias + sum(share for _, share in shared)
    largest = sorted(shared, key=lambda pair: (-abs(pair[1]), pair[0]))[:MAX_FEATURES_EXPLAINED]
    parts = [Explanation(share, _name(model, feature)) for feature, share in largest]
    last = number == len(model.index.layers) - 1
    place = "the item itself" if last else f"layer {number + 1}, node {node}"
    reason = f"{place}: margin {margin:.4f} = bias {bias:.4f} + {len(shared)} n-grams, the largest of them:"
    return Explanation(log_activation(margin, model.index.transform), reason, parts)


def log_activation(margin: float, transform: str) -> float:
    """Return the logarithm of the activation of a margin.

    Examples
    --------
    >>> log_activation(0.0, "l3-hinge"), log_activation(2.0, "l3-hinge")
    (-1.0, -0.0)
    """
    if transform == "none":
        return margin
    if transform == "sigmoid":
        return float(-np.logaddexp(0, -margin))
    return float(-(max(0.0, 1 - margin) ** int(transform[1])))


def _name(model: XrLinear, feature: int) -> str:
    return repr(model.encoder.feature_name(feature)) if isinstance(model.encoder, NgramTfidf) else f"feature {feature}"


def _training_queries(model: XrLinear, item: int) -> list[Explanation]:
    count = model.training_queries.count(item)
    if count == 0:
        return [Explanation(0.0, "no training query: placed by its text")]
    queries = [Explanation(weight, repr(text)) for text, weight in model.training_queries.of_item(item)]
    what = "training query" if count == 1 else "training queries"
    reason = f"chosen for {count} {what} (with the clicks' weights), the heaviest first:"
    return [Explanation(0.0, reason, queries)]


def top_features(model: XrLinear, layer: int, node: int, *, most: int = 10) -> list[tuple[str, float]]:
    """Return the features with the largest weights of a node's matcher: what the node stands for."""
    _check_node(model, layer, node)
    features, weights = node_matcher(model.index, layer, node)
    real: NDArray[np.bool_] = features < model.index.dim
    order = np.argsort(-weights[real], kind="stable")[:most]
    return [(_name(model, int(f)), float(w)) for f, w in zip(features[real][order], weights[real][order], strict=True)]


def _check_node(model: XrLinear, layer: int, node: int) -> None:
    layers = model.index.layers
    if not 0 <= layer < len(layers):
        raise InputError(f"`layer` must be from 0 to {len(layers) - 1}, the items' layer. Got {layer}.")
    nodes = int(layers[layer].child_offsets[-1])
    if not 0 <= node < nodes:
        raise InputError(f"`node` must be from 0 to {nodes - 1} in layer {layer}. Got {node}.")


Model = TypeVar("Model", bound="XrLinear")


def quantize(model: Model, weights: str = "int8") -> Model:
    """Return the model with its weights as 16-bit or 8-bit integers, one factor for each node's children.

    Parameters
    ----------
    model : XrLinear
        A trained model.
    weights : {"float32", "int16", "int8"}
        How to store them. What was rounded before stays rounded.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> from vizsla.methods.xrlinear.build import xrlinear
    >>> model = xrlinear(Dataset.of(["a fig", "a pear"], clicks=[("sweet", "0"), ("green", "1")]))
    >>> quantize(model).index.nbytes < model.index.nbytes
    True
    """
    return model._with(index=model.index.with_matchers(all_matchers(model.index), weights=weights))


def prune(model: Model, threshold: float) -> Model:
    """Return the model without the weights up to `threshold`, as if it had been trained with it (Eq. 7).

    Items without clicks keep matchers made from unpruned ones, so a model that was trained with it can differ
    a little in them.

    Parameters
    ----------
    model : XrLinear
        A trained model.
    threshold : float
        Weights up to this size are dropped; at least that of training to have any effect.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> from vizsla.methods.xrlinear.build import xrlinear
    >>> model = xrlinear(Dataset.of(["a fig", "a pear"], clicks=[("sweet", "0"), ("green", "1")]), threshold=0)
    >>> prune(model, 0.3).index.nbytes < model.index.nbytes
    True
    """
    if not 0 <= threshold < np.inf:
        raise InputError(f"`threshold` must be 0 or more. Got {threshold!r}.")
    return model._with(index=pruned_index(model.index, threshold))


def pruned_index(index: TreeIndex, threshold: float) -> TreeIndex:
    """Return the index without the weights up to `threshold`."""
    return index.with_matchers([_without_small(layer, threshold) for layer in all_matchers(index)])


def _without_small(nodes: NodeWeights, threshold: float) -> NodeWeights:
    large = np.abs(nodes.values) > threshold
    kept = np.concatenate([[0], np.cumsum(large)])
    return NodeWeights(kept[nodes.offsets].astype(np.int64), nodes.features[large], nodes.values[large])
