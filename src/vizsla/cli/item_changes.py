"""Shared by `add` and `remove`: change the items of a saved model, without training."""

from __future__ import annotations

import argparse
from pathlib import Path

from vizsla.artifacts.kinds import BUILT_IN, class_of
from vizsla.base.retriever import Retriever
from vizsla.cli.options import load_retriever
from vizsla.errors import InputError

MODEL_HELP = "the model's folder; as OUT too, it is replaced"


def load_changeable(path: str) -> Retriever:
    """Load a model; one whose items cannot change raises."""
    model = load_retriever(path)
    if not _takes_items(type(model)):
        kinds = [kind for kind in BUILT_IN if _takes_items(class_of(kind) or object)]
        raise InputError(
            f"The model must be of a kind whose items can change without training: {', '.join(kinds)}. "
            f"Got kind {model.kind!r} in {path}: build it again."
        )
    return model


def _takes_items(kind: type) -> bool:
    return issubclass(kind, Retriever) and kind.with_items is not Retriever.with_items


def save_changed(model: Retriever, changed: Retriever, arguments: argparse.Namespace, *, done: str) -> None:
    """Save the changed model and say how many items came or went."""
    # The model's own folder as output means that it is replaced; any other artifact still needs --overwrite.
    in_place = Path(arguments.output).exists() and Path(arguments.output).samefile(arguments.model)
    changed.save(arguments.output, overwrite=arguments.overwrite or in_place)
    count, total = abs(len(changed.items) - len(model.items)), len(changed.items)
    print(f"{arguments.output}: {count:,} {done}, {total:,} items, {changed.nbytes / 1e6:.1f} MB")
