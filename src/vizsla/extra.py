"""Optional packages, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any

from vizsla.errors import MissingExtraError


def import_extra(module: str, feature: str, extra: str) -> Any:
    """Import a package of an extra; when it is missing, say what needs it and how to install it.

    Examples
    --------
    >>> import_extra("no_such_package", "Flying", "wings")
    Traceback (most recent call last):
    vizsla.errors.MissingExtraError: Flying needs an extra. Install it with: pip install 'vizsla[wings]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(feature, extra) from None
