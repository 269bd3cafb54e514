"""The command `vizsla`: one verb a file."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from vizsla import __version__
from vizsla.errors import VizslaError
from vizsla.printable import printable

VERBS = (
    "demo",
    "index",
    "train",
    "adapt",
    "add",
    "remove",
    "search",
    "eval",
    "compare",
    "sweep",
    "compose",
    "split",
    "inspect",
    "check",
    "convert",
    "export",
)
WRONG_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code: 0, 1 for a check that failed, 2 for wrong input, 130 for Ctrl-C."""
    warnings.showwarning = _one_line_warning
    try:
        _print_anything()
        arguments, unknown = parser().parse_known_args(argv)
        if unknown:  # argparse itself would show the usage of `vizsla`, which lists no option of the verb
            arguments.verb.error(f"unrecognized arguments: {' '.join(unknown)}")
        return int(arguments.run(arguments) or 0)
    except (VizslaError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            return _closed_pipe()
        print(f"vizsla: {_one_line(error)}", file=sys.stderr)
        return WRONG_INPUT
    except MemoryError:
        print("vizsla: there is not enough memory for this.", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("vizsla: stopped; nothing was left half-written.", file=sys.stderr)
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """Return the parser with all verbs."""
    import importlib

    top = argparse.ArgumentParser(prog="vizsla", description="First-stage search from a catalogue and a click log.")
    top.add_argument("--version", action="version", version=f"vizsla {__version__}")
    verbs = top.add_subparsers(metavar="VERB", required=True)
    for verb in VERBS:
        module = importlib.import_module(f"vizsla.cli.{verb}")
        about = (module.__doc__ or "").partition("\n")[0].partition(": ")[2]
        sub = verbs.add_parser(verb, help=about, description=about)
        module.add_arguments(sub)
        sub.set_defaults(run=module.run, verb=sub)
    return top


def _print_anything() -> None:
    # A byte of an argument that is no UTF-8 becomes half a surrogate pair, which no stream can print as it is.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _one_line(error: Exception) -> str:
    # The library's advice names its own argument; here the same thing is an option.
    return printable(" ".join(str(error).split())).replace("pass overwrite=True", "add --overwrite")


def _one_line_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(printable(f"vizsla: warning: {message}"), file=sys.stderr)


def _closed_pipe() -> int:
    # The reader (`| head`) has gone: let the interpreter's own flush at exit go nowhere instead of complaining.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
