"""Write the type stub of the native module; with `--print`, show it instead.

The stub is committed, so that mypy and editors see types in a checkout that was never built; a test compares it
with the built module.
"""

import sys
from pathlib import Path

from nanobind.stubgen import StubGen

from vizsla import _native as native

STUB = Path(__file__).resolve().parent.parent / "src" / "vizsla" / "_native.pyi"


def render() -> str:
    """The stub's text for the module as it is built."""
    generator = StubGen(native)
    generator.put(native)
    return str(generator.get()).rstrip() + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(render())
    else:
        STUB.write_text(render(), encoding="utf-8")
