"""vizsla compose: join artefacts by an expression into a new one."""

from __future__ import annotations

import argparse

from vizsla.cli.options import add_bundling, add_output, unique_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the expression and its names."""
    parser.add_argument("expression", help="such as '(a | b) >> c' or '0.7*a.normalised() + 0.3*b.normalised()'")
    parser.add_argument("--let", action="append", default=[], metavar="NAME=ARTEFACT", help="what a name stands for")
    add_output(parser)
    add_bundling(parser)


def run(arguments: argparse.Namespace) -> None:
    """Parse, build and save."""
    from vizsla.artifact import load
    from vizsla.compose import parse
    from vizsla.errors import InputError
    from vizsla.scorer import Scorer

    names: dict[str, Scorer] = {}
    for name, path in unique_names(arguments.let).items():
        loaded = load(path)
        if not isinstance(loaded, Scorer):
            raise InputError(f"A part must be a retriever or a scorer. Got kind {loaded.kind!r} in {path}.")
        names[name] = loaded
    composed = parse(arguments.expression, names)
    composed.save(arguments.output, overwrite=arguments.overwrite, bundle_models=arguments.bundle_model)
    print(f"{arguments.output}: {composed}")
