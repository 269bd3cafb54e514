"""Compile and run the C++ unit tests in tests/native, each file a program, under the address sanitizer.

python scripts/native_tests.py
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import toolchain

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-ffp-contract=off"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


def main() -> int:
    """Return 0 if every program compiled and passed."""
    sources = sorted((ROOT / "tests" / "native").glob("*_test.cpp"))
    with tempfile.TemporaryDirectory() as folder:
        return max(run(source, Path(folder) / source.stem) for source in sources)


def run(source: Path, program: Path) -> int:
    """Compile one test program and run it."""
    command = [*toolchain.compiler(), *FLAGS, *SANITIZERS, f"-I{ROOT / 'native'}", str(source), "-o", str(program)]
    if subprocess.run(command).returncode:
        return 1
    return int(subprocess.run([program]).returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
