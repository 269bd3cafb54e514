"""The defaults of the public surface are as recorded: a changed default changes every user's results.

`python tests/packaging/test_defaults.py` records what the code has now; review the difference before committing it.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import vizsla

FILE = Path(__file__).with_name("defaults.json")
PLAIN = (int, float, str, bool, type(None))


def public_callables() -> dict[str, Any]:
    """Return the functions of the top level, and the public methods and constructors of its classes."""
    found: dict[str, Any] = {}
    for name in vizsla.__all__:
        value = getattr(vizsla, name)
        if inspect.isfunction(value):
            found[name] = value
        elif inspect.isclass(value):
            for method, inner in vars(value).items():
                function = getattr(inner, "__func__", inner)
                if inspect.isfunction(function) and (method == "__init__" or not method.startswith("_")):
                    found[name if method == "__init__" else f"{name}.{method}"] = function
    return found


def current() -> dict[str, Any]:
    """Return every default that is plain data, by callable and option."""
    found = {}
    for name, function in public_callables().items():
        for option in inspect.signature(function).parameters.values():
            if _is_plain(option.default):
                found[f"{name}({option.name})"] = json.loads(json.dumps(option.default))
    return dict(sorted(found.items()))


def _is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN) or (isinstance(value, tuple) and all(map(_is_plain, value)))


def test_no_default_has_changed():
    recorded, now = json.loads(FILE.read_text("utf-8")), current()
    assert len(recorded) > 100
    changed = {name: (recorded[name], now[name]) for name in recorded.keys() & now if recorded[name] != now[name]}
    assert changed == {}, "if that is meant, record the defaults anew and say so in CHANGELOG.md"


if __name__ == "__main__":
    FILE.write_text(json.dumps(current(), indent=1) + "\n", "utf-8")
