"""Compile the bindings without writing anything, every warning an error.

Builds on other people's machines never fail on a warning of a compiler we have not seen; ours must be clean.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path

import nanobind

import toolchain

ROOT = Path(__file__).resolve().parent.parent
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]


def main() -> int:
    """Check each binding file; its headers come along."""
    foreign = [nanobind.include_dir(), sysconfig.get_path("include")]
    includes = ["-Inative", *(f"-isystem{folder}" for folder in foreign)]
    flags = ["-std=c++20", "-fvisibility=hidden", "-fsyntax-only", *WARNINGS, *includes]
    sources = sorted(map(str, ROOT.glob("native/bindings/*.cpp")))
    checks = [subprocess.run([*toolchain.compiler(), *flags, source], cwd=ROOT) for source in sources]
    return int(any(check.returncode for check in checks))


if __name__ == "__main__":
    sys.exit(main())
