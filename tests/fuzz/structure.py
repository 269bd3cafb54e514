"""Steps of a mutation that change how an artifact is put together: what lies where, names, links, and what JSON says.

As in `steps`, files are never written into, and every step says what it did.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path

import numpy as np

from tests.artifacts.hostile import array_headers
from tests.artifacts.signing import read_manifest, replace, write_manifest
from tests.fuzz.picking import files_of, load_array, pick

FRAGMENTS = [
    "[" * 100_000 + "]" * 100_000, "[" * 60 + "]" * 60, '{"a":' * 200 + "1" + "}" * 200, "9" * 5000, "-" + "9" * 400,
    "1e999", "NaN", "-Infinity", '{"a": 1, "a": 2}', '"\\ud800"', '"\\u0000"', "1" + "0" * 30, "0.1e-400", "1.", "'x'",
    "[1, 2,]", '"' + "x" * 100_000 + '"', "/* */ 1", "\ufeff1", "truefalse",
]  # fmt: skip
NAMES = [
    "../x", "a/b", "/etc/passwd", "..", ".", "", ".hidden", "manifest.json", "MANIFEST.JSON", "x" * 201, "x" * 255,
    "a\x00b", "a\nb", "\x1b[31m", "\ud800", "é", "con", "a b", "items.npy", "part0",
]  # fmt: skip
MARK = '"@ here @"'


def relink(root: Path, random: np.random.Generator) -> str:
    """Put something else in a file's or a folder's place: a link, a pipe, a socket, a folder."""
    inner = sorted(entry for entry in root.rglob("*") if entry.is_dir() and not entry.is_symlink())
    entry = pick(random, inner if inner and random.random() < 0.3 else files_of(root))
    name, is_folder = entry.relative_to(root), entry.is_dir()
    kept = root.parent / "moved away"
    (shutil.rmtree if kept.is_dir() and not kept.is_symlink() else lambda path: path.unlink(missing_ok=True))(kept)
    entry.rename(kept)
    how = int(random.integers(8))
    if how < 5:
        target = [kept, entry, Path("/dev/zero"), Path("/"), root.parent / "nowhere"][how]
        entry.symlink_to(target, target_is_directory=is_folder)
        return f"{name} is a link to {target}"
    if how == 5:
        os.mkfifo(entry)
        return f"{name} is a pipe"
    if how == 6:
        os.mknod(entry, stat.S_IFSOCK | 0o600)
        return f"{name} is a socket"
    entry.write_bytes(b"") if is_folder else entry.mkdir()
    return f"{name} is a {'file' if is_folder else 'folder'}"


def repoint(root: Path, random: np.random.Generator) -> str:
    """Let a record of an inner artifact lead to another one in the whole: one that fits, or that it lies inside of."""
    inner = sorted(file.parent for file in root.rglob("manifest.json") if file.parent != root)
    folder = pick(random, [entry for entry in [root, *inner] if _parents(entry)])
    manifest = read_manifest(folder)
    name, target = pick(random, sorted(manifest["parents"])), pick(random, inner)
    try:
        record = {"kind": read_manifest(target)["kind"], "xxh64": "0" * 16}
    except (ValueError, KeyError, TypeError):
        return "nothing to lead to"
    at = "/".join(target.relative_to(root).parts)
    if random.random() < 0.2:
        at = str(random.choice(["..", f"{at}/..", f"/{at}", f"{at}/", f"./{at}", at.upper(), f"{at}/items", ""]))
    manifest["parents"][name] = {**record, "at": at}
    write_manifest(folder, manifest)
    return f"{folder.relative_to(root) / name} lies at {at!r}"


def rename(root: Path, random: np.random.Generator) -> str:
    """Give a file, or an inner artifact, a name that it cannot have, in the folder and in the manifest alike."""
    folder = pick(random, sorted(file.parent for file in root.rglob("manifest.json") if _is_manifest(file.parent)))
    manifest, new = read_manifest(folder), str(random.choice(NAMES))
    part = "parents" if manifest["parents"] and random.random() < 0.3 else "files"
    old = pick(random, sorted(manifest[part]))
    records = manifest[part]
    records[new] = records.pop(old)
    write_manifest(folder, manifest)
    try:
        (folder / old).rename(folder / new)
    except (OSError, ValueError):
        return f"{old!r} is {new!r} in the manifest only"
    return f"{old!r} is {new!r}"


def litter(root: Path, random: np.random.Generator) -> str:
    """Leave something beside the files that nobody recorded, with a name that is no text."""
    folder = pick(random, [root, *sorted(entry for entry in root.rglob("*") if entry.is_dir())])
    name = [b"\xff\xfe\xfd", b"\xc3(", b"new\nline", b"\x1b[31mred", b".manifest.json.swp"][int(random.integers(5))]
    (folder / os.fsdecode(name)).write_bytes(b"litter")
    return f"{folder.relative_to(root)} holds {name!r}"


def odd_json(root: Path, random: np.random.Generator) -> str:
    """Put a piece of text in the place of one value of a JSON file."""
    file = pick(random, [file for file in files_of(root) if file.suffix == ".json"])
    try:
        document = json.loads(file.read_bytes())
    except ValueError:
        return f"{file.relative_to(root)} is no JSON any more"
    document.pop("xxh64", None) if isinstance(document, dict) else None
    inside, key = pick(random, list(_places(document)) or [(None, None)])
    if inside is None:
        return f"{file.relative_to(root)} holds nothing"
    inside[key] = json.loads(MARK)
    fragment = FRAGMENTS[int(random.integers(len(FRAGMENTS)))]
    text = json.dumps(document, indent=1).replace(MARK, fragment)
    if file.name == "manifest.json":
        write_manifest(file.parent, text)
    else:
        replace(file, text.encode("utf-8", "surrogatepass"))
    return f"{file.relative_to(root)}: {key!r} is {fragment[:40]}"


def odd_header(root: Path, random: np.random.Generator) -> str:
    """Let an array's header promise what it does not hold."""
    file = pick(random, [file for file in files_of(root) if file.suffix == ".npy"])
    values = load_array(file)
    if values is None:
        return f"{file.relative_to(root)} is no array any more"
    name, data = pick(random, list(array_headers(values)))
    replace(file, data)
    return f"{file.relative_to(root)}: {name}"


def _parents(folder: Path) -> bool:
    try:
        return bool(read_manifest(folder)["parents"])
    except (ValueError, KeyError, TypeError, OSError):
        return False


def _is_manifest(folder: Path) -> bool:
    try:
        manifest = read_manifest(folder)
        return isinstance(manifest["files"], dict) and isinstance(manifest["parents"], dict) and bool(manifest["files"])
    except (ValueError, KeyError, TypeError, OSError):
        return False


def _places(value):
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _places(value[key])
