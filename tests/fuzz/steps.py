"""Steps of a mutation: each changes one thing in a copy of an artifact, and says what.

Files of the copy are links: a step puts a new file in place of the old one, and never writes into it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.artifacts.hostile import npy
from tests.artifacts.signing import read_manifest, replace, write_manifest
from tests.fuzz import arrays, documents, structure
from tests.fuzz.picking import files_of, load_array, pick

HEADER = 128
"""Bytes before the numbers of an array."""


Step = Callable[[Path, np.random.Generator], str]


def damage(root: Path, random: np.random.Generator) -> str:
    """Do to a file what a disk, a copy or a person does."""
    file = pick(random, files_of(root))
    data, name = bytearray(file.read_bytes()), str(file.relative_to(root))
    how = int(random.integers(8))
    if how == 0 and len(data):
        length = int(random.integers(len(data)))
        return _replaced(file, bytes(data[:length]), f"{name} cut to {length}")
    if how == 1:
        return _replaced(file, bytes(data) + random.bytes(int(random.integers(1, 64))), f"{name} with more bytes")
    if how == 2:
        return _unlinked(file, f"{name} deleted")
    if how == 3:
        other = pick(random, files_of(root))
        return _replaced(file, other.read_bytes(), f"{name} as {other.relative_to(root)}")
    return flip_bits(root, random)


def flip_bits(root: Path, random: np.random.Generator) -> str:
    """Change bits of a file, or a block of it, and leave its size: `verify=False` has to live with that."""
    content = [file for file in files_of(root) if file.name != "manifest.json"]
    file = pick(random, content if content and random.random() < 0.97 else files_of(root))
    data, name = bytearray(file.read_bytes()), str(file.relative_to(root))
    first = HEADER if file.suffix == ".npy" and random.random() < 0.97 else 0
    if len(data) <= first:
        return f"{name} is empty"
    if random.random() < 0.25:
        start = int(random.integers(first, len(data)))
        length = int(random.integers(1, 65))
        data[start : start + length] = random.bytes(len(data[start : start + length]))
        return _replaced(file, bytes(data), f"{name} random from {start}")
    places = random.integers(first, len(data), int(1 + random.exponential(4) // 1))
    for place in places.tolist():
        data[place] ^= 1 << int(random.integers(8))
    return _replaced(file, bytes(data), f"{name} flipped at {places.tolist()[:8]}")


def change_array(root: Path, random: np.random.Generator) -> str:
    """Give an array other content."""
    files = [file for file in files_of(root) if file.suffix == ".npy"]
    if not files:
        return change_parameter(root, random)
    file = pick(random, files)
    values = load_array(file)
    if values is None:
        return f"{file.relative_to(root)} is no array any more"
    name, values = arrays.changed(values, random)
    return _replaced(file, npy(values), f"{file.relative_to(root)}: {name}, now {_shown(values)}")


def transplant_array(root: Path, random: np.random.Generator) -> str:
    """Put another array of the same type in an array's place."""
    files = [file for file in files_of(root) if file.suffix == ".npy"]
    if not files:
        return change_parameter(root, random)
    file, loaded = pick(random, files), {other: load_array(other) for other in files}
    own = loaded[file]
    alike = [
        other for other in files if own is not None and loaded[other] is not None and loaded[other].dtype == own.dtype
    ]
    if not alike:
        return f"nothing for {file.relative_to(root)}"
    other = pick(random, alike)
    return _replaced(file, other.read_bytes(), f"{file.relative_to(root)} is {other.relative_to(root)}")


def change_document(root: Path, random: np.random.Generator) -> str:
    """Change a value inside a JSON file that is not a manifest."""
    import json

    files = [file for file in files_of(root) if file.suffix == ".json" and file.name != "manifest.json"]
    if not files:
        return change_parameter(root, random)
    file = pick(random, files)
    try:
        said, document = documents.changed(json.loads(file.read_bytes()), random)
    except ValueError:
        return f"{file.relative_to(root)} is no JSON any more"
    return _replaced(file, json.dumps(document).encode(), f"{file.relative_to(root)}: {said}")


def change_parameter(root: Path, random: np.random.Generator) -> str:
    """Change a value inside the parameters of a manifest."""
    folders = [file.parent for file in files_of(root) if file.name == "manifest.json"]
    folder = pick(random, [folder for folder in folders if _has_parameters(folder)] or folders)
    try:
        manifest = read_manifest(folder)
        said, parameters = documents.changed(manifest["parameters"], random)
    except (ValueError, TypeError, KeyError):
        return f"{folder.relative_to(root)} has no parameters any more"
    write_manifest(folder, {**manifest, "parameters": parameters})
    return f"{folder.relative_to(root)} parameters {said}"


def change_record(root: Path, random: np.random.Generator) -> str:
    """Change anything inside a manifest: kinds, records of files and of artifacts inside."""
    folder = pick(random, [file.parent for file in files_of(root) if file.name == "manifest.json"])
    try:
        said, manifest = documents.changed({k: v for k, v in read_manifest(folder).items() if k != "xxh64"}, random)
    except ValueError:
        return f"{folder.relative_to(root)} has no manifest any more"
    write_manifest(folder, manifest)
    return f"{folder.relative_to(root)} manifest {said}"


def graft(root: Path, random: np.random.Generator) -> str:
    """Put one inner artifact in another one's place; the record says its kind."""
    inner = sorted(file.parent for file in root.rglob("manifest.json") if file.parent != root)
    if len(inner) < 2:
        return change_parameter(root, random)
    one, other = pick(random, inner), pick(random, inner)
    if one == other or other in one.parents or one in other.parents:
        return change_parameter(root, random)
    shutil.rmtree(one)
    shutil.copytree(other, one, copy_function=os.link)
    try:
        around = read_manifest(one.parent)
        around["parents"][one.name]["kind"] = read_manifest(other)["kind"]
        write_manifest(one.parent, around)
    except (ValueError, KeyError, TypeError):
        return "grafted onto nothing"
    return f"{one.relative_to(root)} is {other.relative_to(root)}"


SIGNED: dict[Step, float] = {
    change_array: 10,
    change_parameter: 3,
    change_document: 1,
    change_record: 0.5,
    transplant_array: 1,
    graft: 0.5,
    flip_bits: 1,
    structure.repoint: 0.6,
    structure.relink: 0.4,
    structure.rename: 0.3,
    structure.litter: 0.1,
    structure.odd_json: 0.5,
    structure.odd_header: 0.5,
}


def _has_parameters(folder: Path) -> bool:
    try:
        return bool(read_manifest(folder)["parameters"])
    except (ValueError, TypeError, KeyError):
        return False


def _replaced(file: Path, data: bytes, said: str) -> str:
    replace(file, data)
    return said


def _unlinked(file: Path, said: str) -> str:
    file.unlink()
    return said


def _shown(values: np.ndarray) -> str:
    with np.printoptions(threshold=8, edgeitems=3, linewidth=200):
        return f"{values.dtype}{values.shape} {values.reshape(-1)}".replace("\n", " ")[:160]
