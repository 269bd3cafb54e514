"""vizsla compose: join artifacts by an expression into a new one, adjust its answers, and say how sure they are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vizsla._internal.terminal import working
from vizsla.artifacts.artifact import load
from vizsla.base.scorer import Scorer
from vizsla.cli.options import (
    DATA_HELP,
    add_bundling,
    add_output,
    add_reading,
    bundling,
    check_output,
    open_items,
    unique_names,
)
from vizsla.cli.signatures import SignatureOptions
from vizsla.compose import parse
from vizsla.compose.adjustments import adjust
from vizsla.compose.confidence import learn_confidence
from vizsla.compose.parser import sum_terms
from vizsla.errors import CompositionError, InputError
from vizsla.methods.fusion import learn_fusion

if TYPE_CHECKING:
    from vizsla.base.retriever import Retriever

OPTIONS = SignatureOptions(learn_fusion)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the expression and its names, and what weights are learned from."""
    parser.add_argument("expression", help="such as '(a | b) >> c' or '0.7*a.normalized() + 0.3*b.normalized()'")
    parser.add_argument("--let", action="append", default=[], metavar="NAME=ARTIFACT", help="what a name stands for")
    parser.add_argument("--adjust", metavar="FILE", help="adjust its answers by synonyms, signals and rules")
    add_output(parser)
    add_bundling(parser)
    add_reading(parser)
    learning = parser.add_argument_group("learning the weights of a sum, such as 'a + b', on held-out clicks")
    learning.add_argument("--learn", metavar="DATA", help=f"items and clicks: {DATA_HELP}")
    learning.add_argument("--clicks", metavar="FILE", help="a click log of DATA: query, item, weight[, time]")
    learning.add_argument("--queries", metavar="FILE", help="query texts, when DATA has only items")
    OPTIONS.add_to(learning)
    sure = "learn on held-out clicks of --learn how likely a hit is to be clicked; without a sum, nothing else"
    learning.add_argument("--confidence", action="store_true", help=sure)
    learning.add_argument("--report", metavar="FILE", help="write what was tried, and how sure it is, as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Parse, build and save."""
    check_output(arguments)
    _check_report(arguments.report)
    names = _loaded(arguments.let)
    if arguments.confidence and not arguments.learn:
        raise InputError("`--confidence` must be learned on clicks. Got no --learn.")
    dataset: Any = _dataset(arguments) if arguments.learn else None
    composed: Retriever
    if dataset is None or (arguments.confidence and not _is_sum(arguments.expression)):
        composed = parse(arguments.expression, names)
    else:
        composed = _learned(arguments, names, dataset)
    if arguments.adjust is not None:
        composed = adjust(composed, arguments.adjust)
    if arguments.confidence:
        with working("learning confidence"):
            composed = learn_confidence(composed, dataset)
        print("" if composed.report is None else composed.report.summary)
    composed.save(arguments.output, overwrite=arguments.overwrite, bundle_models=bundling(arguments))
    print(f"{arguments.output}: {composed}")


def _check_report(path: str | None) -> None:
    """Refuse a report that cannot be written, before long work and not after it."""
    if path is not None and not Path(path).parent.is_dir():
        raise InputError(f"`--report` must be a file in a folder that is there. Got {path}: make the folder first.")


def _loaded(pairs: list[str]) -> dict[str, Scorer]:
    names: dict[str, Scorer] = {}
    for name, path in unique_names(pairs).items():
        loaded = load(path)
        if not isinstance(loaded, Scorer):
            raise InputError(f"A part must be a retriever or a scorer. Got kind {loaded.kind!r} in {path}.")
        names[name] = loaded
    return names


def _dataset(arguments: argparse.Namespace) -> Any:
    given = {name: getattr(arguments, name) for name in ("clicks", "queries") if getattr(arguments, name)}
    return open_items(arguments.learn, arguments, **given)


def _is_sum(expression: str) -> bool:
    """Return whether there are weights to learn."""
    try:
        return len(sum_terms(expression)) > 1
    except CompositionError:
        return False


def _learned(arguments: argparse.Namespace, names: dict[str, Scorer], dataset: Any) -> Retriever:
    """Weigh the terms of the sum on held-out clicks, and say how that went."""
    parts = {term: parse(term, names) for term in sum_terms(arguments.expression)}
    with working("learning the weights"):
        fusion = learn_fusion(parts, dataset, **OPTIONS.given(arguments))
    if arguments.report:
        fusion.to_json(arguments.report)
    print(fusion.summary)
    return fusion.retriever
