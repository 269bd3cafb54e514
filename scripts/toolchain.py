"""What a build needs from the machine, and the sentence that says what to install where it is missing."""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

_TRIAL = "#include <concepts>\n#include <span>\nint main() { return std::span<int>{}.empty() ? 0 : 1; }\n"


class Refusal(Exception):  # noqa: N818
    """The machine lacks something; the message is one sentence that says what to do."""


def require_venv() -> None:
    """Refuse a Python that cannot make virtual environments (Debian ships the module apart)."""
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        name = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise Refusal(f"Python's venv module is missing. Install it, on Debian or Ubuntu with: apt-get install {name}")


def compiler() -> list[str]:
    """The C++ compiler as CMake will find it, checked to understand C++20."""
    command = _compiler_command()
    trial = subprocess.run(
        [*command, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"], input=_TRIAL, text=True, capture_output=True
    )
    if trial.returncode:
        raise Refusal(
            f"The compiler `{shlex.join(command)}` does not understand C++20. Install g++ 11, clang 14 or newer, "
            "or name another one: make CXX=g++-12 ..."
        )
    return command


def _compiler_command() -> list[str]:
    named = os.environ.get("CXX", "").strip()
    if named:
        command = shlex.split(named)
        if shutil.which(command[0]) is None:
            raise Refusal(f"CXX names the compiler `{named}`, which is not installed. Install it or unset CXX.")
        return command
    for name in ("c++", "g++", "clang++"):
        if shutil.which(name):
            return [name]
    raise Refusal("No C++ compiler was found. Install one, on Debian or Ubuntu with: apt-get install g++")


def require_headers(python: Path) -> None:
    """Refuse a Python without its C headers, which the native core is compiled against."""
    question = "import sys, sysconfig; print(sysconfig.get_path('include'), '%d.%d' % sys.version_info[:2], sep='\\n')"
    asked = subprocess.run([python, "-c", question], text=True, capture_output=True, check=True)
    include, version = asked.stdout.splitlines()
    if not Path(include, "Python.h").exists():
        name = f"python{version}-dev"
        raise Refusal(f"Python's C headers are missing. Install them, on Debian or Ubuntu with: apt-get install {name}")


def runtime_library(command: list[str], name: str) -> Path:
    """Where the compiler keeps one of its runtime libraries, such as `libasan.so`."""
    found = subprocess.run([*command, f"-print-file-name={name}"], text=True, capture_output=True, check=True)
    path = Path(found.stdout.strip())
    if not path.is_absolute():
        raise Refusal(f"The compiler `{shlex.join(command)}` has no {name}. Use g++: make CXX=g++ sanitize")
    return path.resolve()
