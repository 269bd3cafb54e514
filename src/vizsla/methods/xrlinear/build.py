"""Training: from a dataset with clicks to an XrLinear model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vizsla.base.encoder import Encoder
from vizsla.base.placement import Placement
from vizsla.base.recipe import builds, settle
from vizsla.core.sparse import SparseRows, as_scipy
from vizsla.core.validation import check_seed, check_type, validate_args
from vizsla.errors import InputError, check_choice, check_positive
from vizsla.indexes.tree import TRANSFORMS, WEIGHT_BYTES, NodeWeights, TreeIndex
from vizsla.learning.recency import recent_clicks
from vizsla.learning.selection import Choice, Choices
from vizsla.methods.xrlinear.cold_start import MAX_CHILDREN, ColdStart, ItemTexts, with_cold_leaves
from vizsla.methods.xrlinear.instances import Instances, TrainingQueries, training_instances
from vizsla.methods.xrlinear.layer import LOSSES
from vizsla.methods.xrlinear.matchers import (
    Negatives,
    check_scheme,
    explicit_negatives,
    matcher_aware,
    train_matchers,
)
from vizsla.methods.xrlinear.model import XrLinear
from vizsla.methods.xrlinear.paper import PAPER_BRANCHING, paper_parts
from vizsla.methods.xrlinear.tree import DEFAULT_BRANCHING, DEFAULT_MAX_LEAF, LabelTree, cluster_items, item_vectors
from vizsla.methods.xrlinear.tuning import (
    CLICK_WEIGHTS,
    DAMPED,
    choose_click_weights,
    default_encoder,
    fit_features,
)
from vizsla.text.ngrams import NgramTfidf

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from vizsla.core.sparse import Matrix
    from vizsla.data.dataset import Dataset


@builds("xrlinear", data="dataset")
@validate_args
def xrlinear(
    dataset: Dataset,
    *,
    encoder: Encoder | None = None,
    kind_shares: Sequence[float] | None = None,
    item_texts: bool = True,
    cold_start: bool = True,
    representation: str | Matrix = "pifa",
    share: float = 0.5,
    tree: LabelTree | None = None,
    branching: int = DEFAULT_BRANCHING,
    max_leaf: int = DEFAULT_MAX_LEAF,
    negatives: str | Matrix | Negatives = "tfn",
    loss: str = "squared_hinge",
    C: float = 1.0,
    bias: float = 1.0,
    click_weights: str = "auto",
    threshold: float = 0.1,
    max_nonzeros: int | None = None,
    transform: str = "l3-hinge",
    weights: str = "float32",
    beam: int = 10,
    neighbors: int = 10,
    half_life: float | str | None = None,
    seed: int = 0,
    paper: bool = False,
    depth: int | None = None,
    threads: int = 1,
    on: Placement | None = None,
) -> XrLinear:
    """Train a tree of items with a sparse linear matcher at every node, on clicks.

    The same dataset, options and seed give the same model, with any number of threads.

    Parameters
    ----------
    dataset : Dataset
        Its clicks are the training signal; its items are what can be found.
    encoder : Encoder, optional
        From query texts to features, sparse or dense. By default n-grams of three kinds. One that is an artifact is
        saved with the model; of a function only the fingerprint is.
    kind_shares : sequence of float, optional
        How much word unigrams, word bigrams and character trigrams weigh in the default features, from 0 to 1. By
        default some are tried on held-out clicks, which takes a second or two; see `fit_features`.
    item_texts : bool
        Let each item's own text be a training instance of the item. Items without text have none.
    cold_start : bool
        Place items without clicks beside their nearest neighbors by text, with matchers made from theirs, and keep the
        texts so that items can be added later. Where no item has a text there is nothing to do.
    representation : {"pifa", "text", "concat", "blend"} or matrix
        What makes items alike to the tree: the queries that chose them (PIFA, Eq. 5; their own texts count as such when
        `item_texts`), their texts, both side by side, or both blended. Or your own vectors, a row for each item.
    share : float
        Weight of the queries in "concat" and "blend", from 0 to 1; the texts have the rest.
    tree : LabelTree, optional
        Your own tree, instead of clustering; no node may have more than 256 children.
    branching : int
        The most children of a node above the leaves, 256 at most. The paper's B is 32; a wide root loses fewer items
        on the way (R@10 .585 to .599 and .715 to .749 on two click sets), is smaller and faster to search, and takes
        twice as long to train.
    max_leaf : int
        The most items that clustering puts into a leaf, 256 at most.
    negatives : {"tfn", "man", "tfn+man"}, matrix or callable
        What a node's children learn from: instances that chose one of them (teacher forcing); instances that the layers
        above lead there (matcher-aware); or both. A matrix shaped like `dataset.clicks` names further negatives, such
        as items that were shown and not clicked. A callable is `train_matchers`'s `negatives`.
    loss : {"squared_hinge", "hinge", "logistic"}
        The loss of a margin.
    C : float
        Weight of the losses against the regularizer.
    bias : float
        Value of the feature that every query has; 0 for none.
    click_weights : {"auto", "none", "damped", "raw"}
        What a click costs: as much as any other, more if it is heavier, or what it weighs. "auto" is "damped", unless
        another way is surely better on held-out clicks; where all weigh the same nothing is chosen. See `click_costs`.
    threshold : float
        Weights up to this size are dropped (Eq. 7); 0 keeps all that are not zero.
    max_nonzeros : int, optional
        The most weights of a matcher, the largest first.
    transform : str
        How a margin becomes an activation: "l1-hinge" to "l5-hinge", "sigmoid" or "none".
    weights : {"float32", "int16", "int8"}
        How weights are stored.
    beam : int
        How many nodes of a layer a search follows unless it says otherwise.
    neighbors : int
        How many neighbors make the matcher of an item without clicks.
    half_life : float, "auto" or None
        Days after which a click weighs half as much, for a log with times; "auto" trains again for each of some and
        chooses on the latest clicks.
    seed : int
        Fixes everything random.
    paper : bool
        The paper to the letter: its features and its tree of spherical 32-means over PIFA vectors (see `means_tree`),
        learned from queries alone, whose clicks count alike; items without clicks get no matcher of their own. Other
        options hold as given; `branching`, where it is the default, is 32.
    depth : int, optional
        With `paper`, how many layers the tree has below the root; by default as many as leave 100 items to a cluster
        in the mean.
    threads : int
        How many threads train.
    on : Placement, optional
        Where sub-trees are trained, such as `vizsla.scale.connect("auto")`; the model is the same, byte for byte.

    Examples
    --------
    >>> from vizsla.data.dataset import Dataset
    >>> log = [("red fruit", "fig"), ("green fruit", "pear"), ("red thing", "fig"), ("green thing", "pear")]
    >>> model = xrlinear(Dataset.of({"fig": "a fig", "pear": "a pear"}, clicks=log))
    >>> model("something green").ids
    [['pear', 'fig']]
    """
    given = dict(locals())
    if paper:
        return xrlinear(**by_the_paper(given))
    if half_life is not None:
        dataset, half_life = _recent(given)
        given["dataset"] = dataset
    ready = prepared(given)
    layers = train_matchers(
        SparseRows.of(ready.features, name="features"), SparseRows.of(ready.costs, name="clicks"), ready.tree,
        negatives=_further(negatives, ready, beam=beam, bias=bias, threads=threads),
        teacher_forcing=not (isinstance(negatives, str) and negatives == "man"),
        item_instances=ready.item_instances, on=on, **{name: given[name] for name in SOLVER_OPTIONS},
    )  # fmt: skip
    matchers, calibration = [NodeWeights(*layer[:3]) for layer in layers], None
    instances, tree, fitted = ready.instances, ready.tree, ready.encoder
    queries, clicks = ready.features[: instances.queries], instances.clicks[: instances.queries]
    if ready.cold is not None:
        matchers[-1], calibration = ready.cold.calibrate(matchers[-1], tree, queries, clicks, bias=bias, seed=seed)
    index = TreeIndex.build(
        [layer.astype(np.int32) for layer in tree.layers], tree.items, matchers,
        dim=fitted.dim, bias=bias, transform=transform, weights=weights, beam=beam,
    )  # fmt: skip
    chosen = TrainingQueries.of(instances.texts[: instances.queries], clicks, click_weights=ready.click_weights)
    known = ready.cold.texts if ready.cold else None
    model = XrLinear(dataset.item_ids, fitted, index, chosen, texts=known, calibration=calibration)
    shares = {"kind_shares": list(fitted.shares)} if isinstance(fitted, NgramTfidf) and encoder is None else {}
    settle(model, click_weights=ready.click_weights, half_life=half_life, **shares)
    model.report = Choices.of(kind_shares=ready.by_features, click_weights=ready.by_weights)
    return model


SOLVER_OPTIONS = ("loss", "C", "bias", "threshold", "max_nonzeros", "seed", "threads")
"""What `xrlinear` passes on to `train_layer`."""


class PreparedTraining(NamedTuple):
    """All that is known when the training of the matchers begins.

    Attributes
    ----------
    instances : Instances
        Queries and item texts to learn from.
    encoder : Encoder
        Given, or fitted.
    features, costs : csr_array
        Instances by features, and by items.
    cold : ColdStart or None
        What makes matchers for items without clicks.
    tree : LabelTree
        Given, or clustered.
    click_weights : str
        What a click costs.
    by_features, by_weights : Choice or None
        How these were chosen.
    """

    instances: Instances
    encoder: Encoder
    features: csr_array
    costs: csr_array
    cold: ColdStart | None
    tree: LabelTree
    click_weights: str
    by_features: Choice | None
    by_weights: Choice | None

    @property
    def item_instances(self) -> NDArray[np.bool_] | None:
        """Which instances the items' own layer learns from.

        A matcher that is made from others is not learned, and its item's text would only push its neighbors down.
        """
        return None if self.cold is None else self.instances.of_warm_items


def prepared(options: Mapping[str, Any]) -> PreparedTraining:
    """Check the arguments of `xrlinear`, fit features and cluster the items."""
    dataset, encoder, tree = options["dataset"], options["encoder"], options["tree"]
    seed, threads, representation = options["seed"], options["threads"], options["representation"]
    if options["depth"] is not None:
        raise InputError("`depth` must be given with `paper`; other trees follow `branching` and `max_leaf`.")
    shape = {name: options[name] for name in ("branching", "max_leaf")}
    _check_options(dataset, tree, shape=shape, **{name: options[name] for name in ("loss", "transform", "weights")})
    check_choice("click_weights", options["click_weights"], CLICK_WEIGHTS)
    check_scheme(options["negatives"])
    check_seed(seed)
    instances = training_instances(dataset, item_texts=options["item_texts"])
    how = DAMPED if options["click_weights"] == "auto" else options["click_weights"]
    encoder, by_features = _features(
        encoder, options["kind_shares"], instances, costs=how, seed=seed, threads=threads
    )  # fmt: skip
    by_weights = None
    features = as_scipy(encoder.queries(instances.texts))
    if options["click_weights"] == "auto":
        how, by_weights = choose_click_weights(instances, features, seed=seed, threads=threads)
    costs = instances.costs(how)
    texts = _item_texts(dataset, encoder) if options["cold_start"] or _reads_texts(representation) else None
    cold = None
    if options["cold_start"] and texts is not None:
        cold = ColdStart(texts, instances.warm, check_positive("neighbors", options["neighbors"]), threads)
    if tree is None:
        tree = _grow(
            _vectors(representation, options["share"], features, costs, texts, dense=not encoder.sparse),
            cold, **shape, seed=seed, threads=threads,
        )  # fmt: skip
    return PreparedTraining(instances, encoder, features, costs, cold, tree, how, by_features, by_weights)


def by_the_paper(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are the paper's features and tree; an option that contradicts them raises."""
    dataset, tree = options["dataset"], options["tree"]
    fixed = {"kind_shares": None, "representation": "pifa", "half_life": None}
    for name, value in fixed.items():
        if options[name] is not value and options[name] != value:
            raise InputError(f"`{name}` must be left alone with `paper`. Got {options[name]!r:.60}.")
    from vizsla.data.dataset import Dataset

    check_type("dataset", dataset, Dataset, "a Dataset")
    own = options["branching"] != DEFAULT_BRANCHING
    encoder, means = paper_parts(
        dataset, options["encoder"], branching=options["branching"] if own else PAPER_BRANCHING,
        depth=options["depth"], seed=options["seed"],
    )  # fmt: skip
    changes = {"item_texts": False, "cold_start": False, "click_weights": "none", "paper": False, "depth": None}
    return {**options, **changes, "encoder": encoder, "tree": means if tree is None else tree}


def _recent(options: dict[str, Any]) -> tuple[Dataset, float | None]:
    """Return the dataset with weights that decay, and the half-life, which may have been chosen."""
    dataset, half_life = options["dataset"], options["half_life"]

    def build(clicks: Dataset) -> XrLinear:
        return xrlinear(**{**options, "dataset": clicks, "half_life": None})

    return recent_clicks(dataset, half_life, build)


def _check_options(
    dataset: Dataset, tree: LabelTree | None, *, shape: Mapping[str, int], loss: str, transform: str, weights: str
) -> None:
    """Check all arguments before the training starts."""
    from vizsla.data.dataset import Dataset

    check_type("dataset", dataset, Dataset, "a Dataset")
    check_choice("loss", loss, LOSSES)
    check_choice("transform", transform, TRANSFORMS)
    check_choice("weights", weights, list(WEIGHT_BYTES))
    for name, number in shape.items():
        if check_positive(name, number) > MAX_CHILDREN:
            raise InputError(f"`{name}` must be at most {MAX_CHILDREN}. Got {number}.")
    if tree is not None and len(tree) != len(dataset.items):
        raise InputError(f"`tree` must hold the dataset's {len(dataset.items)} items. Got one of {len(tree)}.")
    widest = 0 if tree is None else max(int(np.diff(layer).max(initial=0)) for layer in tree.layers)
    if widest > MAX_CHILDREN:
        raise InputError(f"No node of `tree` may have more than {MAX_CHILDREN} children. Got one with {widest}.")


def _features(
    encoder: Encoder | None, shares: Sequence[float] | None, instances: Instances, **options: Any
) -> tuple[Encoder, Choice | None]:
    if encoder is not None and shares is not None:
        raise InputError("Only one of `encoder` and `kind_shares` can be given. Got both.")
    if encoder is not None:
        return encoder, None
    if shares is not None:
        return default_encoder(instances.texts).with_shares(shares), None
    return fit_features(instances, **options)


def _reads_texts(representation: str | Matrix) -> bool:
    return isinstance(representation, str) and representation != "pifa"


def _item_texts(dataset: Dataset, encoder: Encoder) -> ItemTexts | None:
    texts = [item.default_text() for item in dataset.items]
    return ItemTexts(as_scipy(encoder.items(texts))) if any(text.strip() for text in texts) else None


def _vectors(
    representation: str | Matrix,
    share: float,
    features: csr_array,
    costs: csr_array,
    texts: ItemTexts | None,
    *,
    dense: bool,
) -> Matrix:
    written = None if texts is None else texts.vectors
    vectors = item_vectors(representation, features, costs, written, share=share)
    # Features that were dense cluster faster as such.
    return as_scipy(vectors).toarray() if dense and isinstance(representation, str) else vectors


def _grow(vectors: Matrix, cold: ColdStart | None, **options: Any) -> LabelTree:
    tree = cluster_items(vectors, **options)
    return tree if cold is None or cold.warm.all() else with_cold_leaves(tree, cold.warm, cold.near)


def _further(scheme: str | Matrix | Negatives, ready: PreparedTraining, **options: Any) -> Negatives | None:
    if isinstance(scheme, str):
        inputs = SparseRows.of(ready.features, name="features")
        return None if scheme == "tfn" else matcher_aware(inputs, ready.tree, **options)
    rows, count = ready.instances.rows, ready.features.shape[0]
    return scheme if callable(scheme) else explicit_negatives(scheme, ready.tree, rows, count)
