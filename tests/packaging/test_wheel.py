"""The wheel and the source archive hold what they should, and the wheel works where nothing else is installed."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMOKE = """
import vizsla
search = vizsla.bm25(["a fig tree", "an apple tree", "a pear"])
assert search("figs")[0][0].id == "0", search("figs")
print(vizsla.__file__)
"""
DEPENDENCIES = ["numpy", "scipy", "PyStemmer", "faiss-cpu", "rich"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, str(ROOT / "scripts" / "wheel.py"), str(folder)], check=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory):
    """An environment that holds the core's dependencies and nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    (site,) = folder.glob("lib/python*/site-packages")
    for name in DEPENDENCIES:
        for part in {file.parts[0] for file in metadata.files(name) or [] if file.parts[0] != ".."}:
            (site / part).symlink_to(metadata.distribution(name).locate_file(part))
    return folder / "bin" / "python"


def test_wheel_holds_the_package_and_no_more(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"vizsla/__init__.py", "vizsla/py.typed", "vizsla/_native.pyi"} <= set(names)
    assert sum(name.startswith("vizsla/_native.") and name.endswith(".so") for name in names) == 1
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"vizsla"}


def test_wheel_holds_every_module_of_the_source(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src").rglob("*.py")} <= names


def test_wheel_installs_and_searches_in_a_clean_environment_without_a_compiler(wheel, bare_python, tmp_path):
    pip = [sys.executable, "-m", "pip", "--python", str(bare_python), "install", "-qq", "--no-deps", "--no-index"]
    empty = {**os.environ, "PATH": str(tmp_path), "CXX": "no-compiler", "CC": "no-compiler"}
    subprocess.run([*pip, str(wheel)], check=True, env=empty)
    done = subprocess.run([bare_python, "-c", SMOKE], cwd=tmp_path, env=empty, capture_output=True, text=True)
    assert done.stderr == ""
    assert str(bare_python.parent.parent) in done.stdout


def test_source_archive_can_be_built_from(tmp_path):
    build = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (file,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "native/bindings/module.cpp"} <= names
    assert {name.split("/")[0] for name in names} <= {
        *("pyproject.toml", "CMakeLists.txt", "LICENSE", "README.md", "PKG-INFO", "native", "src"),
        *("constraints.txt", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff"),
        "examples",
    }
