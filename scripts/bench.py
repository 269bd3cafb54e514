"""Run the quick form of every benchmark: each module of benchmarks/ that can be run."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str]) -> int:
    """Run them one after the other; any failure is the command's."""
    files = [file for file in sorted(ROOT.glob("benchmarks/*.py")) if "__main__" in file.read_text(encoding="utf-8")]
    if not files:
        print("No benchmark exists yet.", file=sys.stderr)
    codes = [run_quick(file.stem, arguments) for file in files]
    return int(any(codes))


def run_quick(name: str, arguments: list[str]) -> int:
    """One benchmark's exit code."""
    return subprocess.run([sys.executable, "-m", f"benchmarks.{name}", "--quick", *arguments], cwd=ROOT).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
