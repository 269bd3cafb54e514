"""Recipe: with which options a model was trained, so that it can be trained again on other clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vizsla.errors import FormatError, InputError
from vizsla.text.ngrams import NgramTfidf

if TYPE_CHECKING:
    from vizsla.dataset import Dataset
    from vizsla.methods.xrlinear.model import XrLinear

Recipe = dict[str, Any]

NAMES = (
    "item_texts", "cold_start", "representation", "share", "branching", "max_leaf", "negatives", "loss", "C", "bias",
    "threshold", "max_nonzeros", "transform", "weights", "neighbours", "half_life", "seed",
)  # fmt: skip
"""Options of `train_xrlinear` that a recipe keeps as they were given."""
CHOSEN = ("kind_shares", "click_weights", "own_encoder")


def recipe_of(options: Recipe) -> Recipe | None:
    """Return what a model remembers of its options; None where one of them, such as a tree, is no plain value.

    Examples
    --------
    >>> recipe_of({"negatives": "tfn", "tree": None, "beam": 10})
    {'negatives': 'tfn'}
    >>> recipe_of({"negatives": print, "tree": None}) is None
    True
    """
    plain = all(isinstance(options.get(name, ""), str) for name in ("representation", "negatives"))
    if not plain or options.get("tree") is not None:
        return None
    return {name: value for name, value in options.items() if name in NAMES}


def checked_recipe(recipe: Recipe | None) -> Recipe | None:
    """Return a recipe that was read from a file; one with anything but plain options of training raises."""
    for name, value in (recipe or {}).items():
        simple = isinstance(value, bool | int | float | str | type(None))
        if name not in (*NAMES, *CHOSEN) or not (simple or name == "kind_shares"):
            raise FormatError(f"A recipe must hold options of training. Got {name!r}.")
    return recipe


def retrained(model: XrLinear, dataset: Dataset, *, threads: int = 1) -> XrLinear:
    """Train anew on another dataset, as the model was trained; what was chosen for it on its clicks stays chosen.

    Parameters
    ----------
    model : XrLinear
        A trained model.
    dataset : Dataset
        What to learn from.
    threads : int
        How many to use.
    """
    from vizsla.methods.xrlinear.train import train_xrlinear

    if model.recipe is None:
        remedy = "Give a function that trains it on a dataset: `lambda dataset: train_xrlinear(dataset, …)`."
        raise InputError(f"A model must know how it was trained, to be trained again. Got {model!r}. {remedy}")
    options = dict(model.recipe)
    if dataset.events is None:
        options["half_life"] = None  # without times nothing decays
    if options.pop("own_encoder", False):
        options |= {"encoder": model.encoder, "kind_shares": None}
    return train_xrlinear(dataset, **options, beam=model.index.beam, threads=threads)


def with_choices(recipe: Recipe | None, encoder: Any, *, own_encoder: bool, click_weights: str) -> Recipe | None:
    """Return the recipe with what training chose by itself."""
    if recipe is None:
        return None
    shares = list(encoder.shares) if isinstance(encoder, NgramTfidf) else None
    return recipe | {"kind_shares": shares, "own_encoder": own_encoder, "click_weights": click_weights}
