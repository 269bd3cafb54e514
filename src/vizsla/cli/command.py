"""Run a verb of the command line, and report errors in one line."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Sequence

from vizsla._internal.terminal import escape_control
from vizsla.cli.interrupts import EXIT_INTERRUPTED, MESSAGE, CtrlC
from vizsla.cli.verbs import lazy_parser
from vizsla.errors import VizslaError

_OPTIONS = (
    ("pass overwrite=True", "add --overwrite"),
    (r'\b(encoding|on_error)="([\w-]+)"', lambda found: f"--{found[1].replace('_', '-')} {found[2]}"),
    ("this base has none. Give one.", "this base has none. Name a model with --encoder."),
)


def as_options(message: str) -> str:
    """Return a message in the words of the command line.

    Examples
    --------
    >>> as_options('Pass encoding="utf-16".')
    'Pass --encoding utf-16.'
    """
    for argument, option in _OPTIONS:
        message = re.sub(argument, option, message)
    return message


WRONG_INPUT = 2


def run(argv: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code; see `vizsla.cli.command`."""
    warnings.showwarning = _one_line_warning
    ctrl_c = CtrlC()
    with ctrl_c.watched():
        try:
            code = _run(argv, ctrl_c)
            ctrl_c.over = True
            return code
        except (Exception, KeyboardInterrupt) as error:
            ctrl_c.over = True
            if isinstance(error, KeyboardInterrupt) or ctrl_c.pressed:
                print(MESSAGE, file=sys.stderr)
                return EXIT_INTERRUPTED
            return _failed(error)


def _run(argv: Sequence[str] | None, ctrl_c: CtrlC) -> int:
    _print_anything()
    given = sys.argv[1:] if argv is None else argv
    with ctrl_c.at_once():
        arguments, unknown = lazy_parser().parse_known_args(given)
    if nothing := [each for each in given if re.fullmatch(r"--[^=]+=--", each)]:  # argparse reads no value
        arguments.verb.error(f"argument {nothing[0].removesuffix('=--')}: expected a value. Got --")
    if unknown:  # argparse itself would show the usage of `vizsla`, which lists no option of the verb
        arguments.verb.error(f"unrecognized arguments: {' '.join(unknown)}")
    return int(arguments.run(arguments) or 0)


def _failed(error: Exception) -> int:
    """Say what is wrong with the input and return the exit code; an error that is our own fault is raised again."""
    if isinstance(error, BrokenPipeError):
        return _closed_pipe()
    if isinstance(error, VizslaError | OSError):
        print(f"vizsla: {_one_line(error)}", file=sys.stderr)
    elif isinstance(error, MemoryError):
        print("vizsla: there is not enough memory for this.", file=sys.stderr)
    else:
        raise error
    return WRONG_INPUT


def _print_anything() -> None:
    # A byte of an argument that is no UTF-8 becomes half a surrogate pair, which no stream can print as it is.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _one_line(error: object) -> str:
    return as_options(escape_control(" ".join(str(error).split())))


def _one_line_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"vizsla: warning: {_one_line(message)}", file=sys.stderr)


def _closed_pipe() -> int:
    # The reader (`| head`) has gone: let the interpreter's own flush at exit go nowhere instead of complaining.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
