"""What `add` and `remove` share: a saved model gets other items, without training."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vizsla.artifacts.artifact import kinds_with
from vizsla.artifacts.kinds import class_of
from vizsla.base.retriever import Retriever
from vizsla.cli.options import load_retriever
from vizsla.errors import InputError

MODEL_HELP = "the model's folder; as OUT too, it is replaced"


def load_with(path: str, method: str) -> tuple[Retriever, Callable[..., Any]]:
    """Load a model and return its method of this name too; a model that has none raises."""
    model = load_retriever(path)
    change = getattr(model, method, None)
    if change is None:
        kinds = [kind for kind in kinds_with(method) if issubclass(class_of(kind) or object, Retriever)]
        raise InputError(
            f"The model must be of a kind whose items can change without training: {', '.join(kinds)}. "
            f"Got kind {model.kind!r} in {path}: build it anew."
        )
    return model, change


def save_changed(model: Retriever, changed: Retriever, arguments: argparse.Namespace, *, done: str) -> None:
    """Save the changed model and say how many items came or went."""
    # Who gives the model's own folder as output means to replace it; any other artifact still needs --overwrite.
    in_place = Path(arguments.output).exists() and Path(arguments.output).samefile(arguments.model)
    changed.save(arguments.output, overwrite=arguments.overwrite or in_place)
    count, total = abs(len(changed.items) - len(model.items)), len(changed.items)
    print(f"{arguments.output}: {count:,} {done}, {total:,} items, {changed.nbytes / 1e6:.1f} MB")
