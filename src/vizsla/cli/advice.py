"""The library's advice names its own arguments; on the command line the same things are options."""

from __future__ import annotations

import re

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
