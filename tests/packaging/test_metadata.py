"""What pyproject.toml promises: one version, the extras, pins for everything they pull in."""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

import vizsla
from tests.support.skips import IN_CI

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def canonical(requirement):
    """The name that a requirement begins with, as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonical(name): version for name, version in pairs}


def test_one_version_everywhere():
    assert vizsla.__version__ == PROJECT["version"] == metadata.version("vizsla")


def test_changelog_knows_the_version():
    assert PROJECT["version"] in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_core_dependencies_stay_five():
    named = {canonical(name) for name in PROJECT["dependencies"]}
    assert named == {"numpy", "scipy", "faiss-cpu", "rich", "pystemmer"}


@pytest.mark.parametrize("extra", ["neural", "onnx", "test", "test-neural", "dev", "docs", "all"])
def test_extra_exists(extra):
    assert EXTRAS[extra]


def test_all_holds_every_extra_for_users():
    named = re.search(r"\[(.*)\]", EXTRAS["all"][0])[1].split(",")
    assert set(named) == set(EXTRAS) - {
        "test",
        "test-neural",
        "test-integrations",
        "dev",
        "docs",
        "all",
        "stem",
    }  # the last is empty by now


def test_the_core_is_tested_without_torch():
    heavy = {canonical(name) for extra in ("neural", "onnx") for name in EXTRAS[extra]}
    assert heavy.isdisjoint(canonical(name) for name in EXTRAS["test"])
    assert not re.search(r"neural|onnx", " ".join(EXTRAS["test"]))
    assert EXTRAS["test-neural"][0] == "vizsla[test,neural,onnx]"


def test_every_direct_requirement_is_pinned():
    direct = {canonical(name) for group in [*EXTRAS.values(), PROJECT["dependencies"]] for name in group}
    assert direct - {"vizsla"} <= set(pins())


def installed_closure(name, extras=frozenset(), seen=None):
    """Installed distributions that a distribution with these extras pulls in, itself included."""
    seen = {} if seen is None else seen
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return seen
    seen[canonical(name)] = found.version.partition("+")[0]  # "+cpu" is how torch names a build
    for requirement in found.requires or []:
        wanted = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", requirement)
        if (wanted is None or wanted[1] in extras) and canonical(requirement) not in seen:
            installed_closure(canonical(requirement), frozenset(), seen)
    return seen


@pytest.mark.skipif(not Path(sys.prefix, "vizsla.json").exists(), reason="not an environment that `make` prepared")
def test_what_is_installed_is_what_is_pinned():
    extras = ("eval", "parquet", "datasets", "test", "neural", "onnx", "test-neural")
    direct = {canonical(name) for extra in extras for name in EXTRAS[extra]}
    installed = {}
    for name in [*sorted(direct - {"vizsla"}), "numpy", "scipy", "faiss-cpu", "rich", "pystemmer"]:
        installed_closure(name, seen=installed)
    pinned = pins()
    assert len(installed) > 20
    assert {name: pinned.get(name) for name in installed} == installed


def test_no_package_for_gpus_arrives():
    """In CI never; elsewhere PyPI's build of torch, which is not named "+cpu", may bring what it needs."""
    versions = {canonical(found.metadata["Name"]): found.version for found in metadata.distributions()}
    foreign = sorted(name for name in versions if name.startswith(("nvidia", "cuda", "triton")))
    assert foreign == [] or not (IN_CI or versions.get("torch", "+cpu").endswith("+cpu"))


def test_types_and_license_are_shipped():
    assert (ROOT / "src/vizsla/py.typed").exists()
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert PROJECT["license"] == "Apache-2.0"
