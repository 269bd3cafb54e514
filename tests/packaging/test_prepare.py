"""scripts/prepare.py: it does what is needed and no more, and says in a sentence what the machine lacks.

The environment under test is a small copy of the repository whose `.venv/bin/python` writes down what pip is asked
to do. Everything else is the real thing.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
AS_IF = "import runpy, sys; sys.path[:0] = ['scripts']; {}; runpy.run_path('scripts/prepare.py', run_name='__main__')"
OLD_PYTHON = (sys.executable, "-c", AS_IF.format("sys.version_info = (3, 9, 1)"))
NO_VENV = (sys.executable, "-c", AS_IF.format("sys.modules['ensurepip'] = None"))
RECORDER = """#!/bin/sh
case "$2" in
  pip) echo "$@" >> "{log}"; test ! -e "{log}.fail" ;;
  *) exec "{python}" "$@" ;;
esac
"""


class Copy:
    """A copy of the repository's build files with a recording pip."""

    def __init__(self, folder):
        self.folder, self.log = folder, folder / "pip.log"
        for name in ("scripts", "native", "CMakeLists.txt", "pyproject.toml", "constraints.txt"):
            source = ROOT / name
            shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy(source, folder / name)
        self.module = folder / "src" / "vizsla" / "module.py"
        self.module.parent.mkdir(parents=True)
        self.module.write_text("")
        self.make_recorder()

    def make_recorder(self):
        python = self.folder / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(RECORDER.format(log=self.log, python=sys.executable))
        python.chmod(0o755)

    def run(self, *arguments, python=(sys.executable, "scripts/prepare.py"), **variables):
        environment = {**os.environ, "PIP_NO_INDEX": "1", **variables}
        return subprocess.run([*python, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True)

    def asked(self, *arguments):
        """What pip is asked to do in a successful run."""
        self.log.unlink(missing_ok=True)
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path / "a folder")


@pytest.fixture
def ready(copy):
    """A copy whose environment is installed with the extra `eval`."""
    tools, package = copy.asked("--extras", "eval")
    assert "cmake" in tools and "ninja" in tools and "-c constraints.txt" in tools
    assert "-c constraints.txt" in package and package.endswith("-e .[eval]")
    return copy


def append(path, text="\n"):
    path.write_text(path.read_text() + text)


def test_nothing_changed_nothing_is_done(ready):
    assert ready.asked("--extras", "eval") == []
    assert ready.asked() == []


def test_edited_and_new_modules_need_nothing(ready):
    append(ready.module, "x = 1\n")
    ready.module.with_name("other.py").write_text("")
    assert ready.asked("--extras", "eval") == []


def test_a_removed_module_relinks_without_resolving(ready):
    ready.module.rename(ready.module.with_name("renamed.py"))
    (only,) = ready.asked("--extras", "eval")
    assert "--no-deps" in only
    assert ready.asked("--extras", "eval") == []


@pytest.mark.parametrize("file", ["CMakeLists.txt", "native/bindings/module.cpp"])
def test_a_native_change_rebuilds_without_resolving(ready, file):
    append(ready.folder / file)
    (only,) = ready.asked("--extras", "eval")
    assert "--no-deps" in only
    assert ready.asked("--extras", "eval") == []


@pytest.mark.parametrize("change", ["add", "remove"])
def test_native_files_that_come_or_go_rebuild(ready, change):
    if change == "add":
        (ready.folder / "native" / "new.hpp").write_text("")
    else:
        (ready.folder / "native" / "common" / "hash.hpp").unlink()
    assert len(ready.asked()) == 1


@pytest.mark.parametrize("file", ["pyproject.toml", "constraints.txt"])
def test_changed_requirements_install_again(ready, file):
    append(ready.folder / file, "# changed\n")
    assert len(ready.asked()) == 2
    assert ready.asked() == []


def test_a_new_extra_keeps_the_old_ones(ready):
    assert ready.asked("--extras", "test")[-1].endswith("-e .[eval,test]")
    assert ready.asked("--extras", "eval") == []


def test_a_failed_build_is_tried_again(ready):
    append(ready.folder / "CMakeLists.txt")
    failing = Path(f"{ready.log}.fail")
    failing.touch()
    done = ready.run("--extras", "eval")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "The installation failed, for the reason above."
    failing.unlink()
    assert len(ready.asked("--extras", "eval")) == 1


def wants_a_new_environment(copy):
    """Whether it sets out to create one, which a Python without venv reveals at no cost."""
    return "venv module is missing" in copy.run(python=NO_VENV).stderr


def test_a_ready_environment_is_kept(ready):
    assert not wants_a_new_environment(ready)


def test_an_interrupted_installation_starts_afresh(ready):
    (ready.folder / ".venv" / "installing").touch()
    assert wants_a_new_environment(ready)


def test_a_moved_repository_starts_afresh(ready):
    memory = ready.folder / ".venv" / "vizsla.json"
    memory.write_text(json.dumps({**json.loads(memory.read_text()), "root": "elsewhere"}))
    assert wants_a_new_environment(ready)


def test_sanitizer_builds_are_told_apart(copy):
    *_, package = copy.asked("--sanitize", "address")
    assert "cmake.define.VIZSLA_SANITIZE=address" in package
    assert "build-dir=build/sanitize-address" in package


def test_the_core_is_built_apart(copy):
    python = copy.folder / ".venv-core" / "bin" / "python"
    shutil.copytree(copy.folder / ".venv", copy.folder / ".venv-core")
    assert python.exists()
    *_, package = copy.asked("--venv", ".venv-core", "--extras", "test")
    assert "build-dir=build/core" in package and package.endswith("-e .[test]")


def refusal(done):
    """The one sentence of a run that refused."""
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()[-1]


def test_no_compiler(copy, tmp_path):
    sentence = refusal(copy.run(PATH=str(tmp_path), CXX=""))
    assert sentence.startswith("No C++ compiler was found. Install one")


def test_compiler_that_is_not_there(copy):
    assert "`g++-99`, which is not installed" in refusal(copy.run(CXX="g++-99"))


def test_compiler_without_cpp20(copy):
    assert "does not understand C++20" in refusal(copy.run(CXX="false"))


def test_old_python(copy):
    assert "needs Python 3.11 or newer" in refusal(copy.run(python=OLD_PYTHON))


def test_an_old_python_can_read_the_script():
    ast.parse((ROOT / "scripts" / "prepare.py").read_text(encoding="utf-8"), feature_version=(3, 4))


def test_no_venv_module(copy):
    shutil.rmtree(copy.folder / ".venv")
    sentence = refusal(copy.run(python=NO_VENV))
    assert sentence.startswith("Python's venv module is missing. Install it")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_no_python():
    done = subprocess.run(["make", "-C", str(ROOT), "PYTHON=python3.99", "demo"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Python was not found as 'python3.99'" in done.stderr
