"""A virtual environment with Vizsla installed in it, brought up to date with as little work as possible.

What is installed is remembered in a small file inside the environment, written last: an interrupted run leaves
none, and the next run starts afresh. Contents decide, not file times, so switching branches costs nothing twice.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import toolchain

ROOT = Path(__file__).resolve().parent.parent
BUILD_TOOLS = ["scikit-build-core", "nanobind", "cmake", "ninja"]


class Environment:
    """One virtual environment of the repository: `.venv`, that without torch, or that of a sanitizer build."""

    def __init__(self, *, venv: str, extras: str, sanitize: str, this_python: bool) -> None:
        self.folder = ROOT / venv
        self.python = self.folder / "bin" / "python"
        self.extras = {extra for extra in extras.split(",") if extra}
        self.sanitize = sanitize
        self.this_python = this_python
        self._memory = self.folder / "vizsla.json"
        self._busy = self.folder / "installing"

    def prepare(self) -> None:
        """Create, install or rebuild what is missing, and nothing else."""
        with lock():
            if self._must_create():
                self._create()
            known = self._remembered()
            wanted = self._wanted(known)
            if known.get("requirements") != wanted["requirements"] or known.get("extras") != wanted["extras"]:
                self._install(wanted)
            elif known.get("native") != wanted["native"] or self._lost_modules(known):
                self._rebuild(known)
            else:
                return
            self._remember({**wanted, "modules": _modules()})

    def _must_create(self) -> bool:
        """Absent, moved with its repository, left half-made, or made by another Python than the one asked for."""
        if not self.python.exists() or self._busy.exists():
            return True
        known = self._remembered()
        if known and known["root"] != str(ROOT):
            return True
        return self.this_python and self._python_version() != sys.version.split()[0]

    def _python_version(self) -> str:
        lines = (self.folder / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        pairs = dict(line.split(" = ", 1) for line in lines if " = " in line)
        return pairs.get("version", "")

    def _create(self) -> None:
        toolchain.require_venv()
        say(f"Creating {self.folder.name} with Python {sys.version.split()[0]}")
        if self.folder.is_symlink():
            self.folder.unlink()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        with self._half_made():
            run([sys.executable, "-m", "venv", str(self.folder)], "The virtual environment could not be made")

    def _wanted(self, known: dict) -> dict:
        extras = sorted(self.extras | set(known.get("extras", [])))
        native = [ROOT / "CMakeLists.txt", *sorted(p for p in (ROOT / "native").rglob("*") if p.is_file())]
        return {
            "root": str(ROOT),
            "extras": extras,
            "requirements": digest([ROOT / "pyproject.toml", ROOT / "constraints.txt"]),
            "native": digest(native),
        }

    def _install(self, wanted: dict) -> None:
        """Build tools first: the build runs in this environment, so that the next one can go on from it."""
        self._check_toolchain()
        named = f"[{','.join(wanted['extras'])}]" if wanted["extras"] else ""
        minutes = "some minutes" if "test-neural" in wanted["extras"] else "about a minute"
        say(f"Installing vizsla{named} into {self.folder.name} ({minutes} the first time)")
        self._memory.unlink(missing_ok=True)
        with self._half_made():
            self._pip("-c", "constraints.txt", *BUILD_TOOLS)
            self._pip("-c", "constraints.txt", *self._editable(f".{named}"))

    def _rebuild(self, known: dict) -> None:
        """Vizsla alone; what an interrupted attempt leaves, the next attempt replaces."""
        self._check_toolchain()
        say(f"Rebuilding vizsla in {self.folder.name}")
        self._remember({**known, "native": ""})
        self._pip("--no-deps", *self._editable("."))

    def _editable(self, target: str) -> list[str]:
        settings = []
        if self.sanitize:
            settings = [
                f"cmake.define.VIZSLA_SANITIZE={self.sanitize}",
                f"build-dir=build/sanitize-{self.sanitize}",
                "install.strip=false",  # the report's stack needs the symbols
            ]
        else:
            settings = own_build(self.folder)
        return ["--no-build-isolation", *(f"--config-settings={setting}" for setting in settings), "-e", target]

    def _check_toolchain(self) -> None:
        toolchain.compiler()
        toolchain.require_headers(self.python)

    @contextlib.contextmanager
    def _half_made(self) -> Iterator[None]:
        """Mark the environment until pip comes back: a killed pip leaves packages without all their files."""
        self._busy.touch()
        try:
            yield
        except toolchain.Refusal:
            self._busy.unlink()
            raise
        self._busy.unlink()

    def _pip(self, *arguments: str) -> None:
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {**os.environ, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        # Compiling every package's every module takes half of the time; Python compiles those that are used.
        command = [str(self.python), "-m", "pip", "install", "-qq", "--no-compile", *arguments]
        run(command, "The installation failed, for the reason above", environment)

    def _lost_modules(self, known: dict) -> bool:
        """Whether a module that the editable install points at is gone (new ones are found without help)."""
        return not set(known.get("modules", [])) <= set(_modules())

    def _remembered(self) -> dict:
        try:
            return json.loads(self._memory.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}

    def _remember(self, state: dict) -> None:
        draft = self._memory.with_suffix(".draft")
        draft.write_text(json.dumps(state, indent=1), encoding="utf-8")
        draft.replace(self._memory)


@contextlib.contextmanager
def lock() -> Iterator[None]:
    """One preparation at a time: `make demo` in one terminal waits for `make test` in another."""
    folder = ROOT / "build"
    folder.mkdir(exist_ok=True)
    with (folder / "prepare.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def digest(files: list[Path]) -> str:
    """One hash over names and contents."""
    total = hashlib.sha256()
    for file in files:
        total.update(f"{file.relative_to(ROOT)}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def own_build(venv: Path) -> list[str]:
    """Where another environment than `.venv` builds: CMake remembers the environment that called it."""
    return [] if venv.name == ".venv" else [f"build-dir=build/{venv.name.removeprefix('.venv-')}"]


def _modules() -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.py"))


def run(command: list[str], complaint: str, environment: dict[str, str] | None = None) -> None:
    """Run a command in the repository; its failure is one sentence under the command's own message."""
    done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise toolchain.Refusal(f"{complaint}.")


def say(sentence: str) -> None:
    """Tell the person at the terminal what takes the time; errors and progress share one stream."""
    print(sentence, file=sys.stderr, flush=True)
