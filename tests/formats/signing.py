"""Manifests written and signed by independent code, to make hostile artefacts whose checksums are right."""

from __future__ import annotations

import json
from pathlib import Path

import xxhash


def read_manifest(folder: Path) -> dict:
    return json.loads((folder / "manifest.json").read_bytes())


def write_manifest(folder: Path, manifest: dict | str) -> None:
    """Write and seal a manifest given as a dict, or as JSON text without a seal."""
    if isinstance(manifest, dict):
        manifest = json.dumps({key: value for key, value in manifest.items() if key != "xxh64"}, indent=1)
    content = manifest.rstrip().removesuffix("}").rstrip("\n").encode()
    seal = f',\n "xxh64": "{xxhash.xxh64_hexdigest(content)}"\n}}\n'
    replace(folder / "manifest.json", content + seal.encode())


def sign_file(file: Path) -> None:
    """Record a file's size and checksum in the manifest beside it."""
    manifest, data = read_manifest(file.parent), file.read_bytes()
    manifest["files"][file.name] = {"bytes": len(data), "xxh64": xxhash.xxh64_hexdigest(data)}
    write_manifest(file.parent, manifest)


def sign_above(folder: Path, root: Path) -> None:
    """Record the manifest of `folder` in the artefacts around it, up to `root`."""
    while folder != root:
        manifest, data = read_manifest(folder.parent), (folder / "manifest.json").read_bytes()
        manifest["parents"][folder.name]["xxh64"] = xxhash.xxh64_hexdigest(data)
        write_manifest(folder.parent, manifest)
        folder = folder.parent


def replace(file: Path, data: bytes) -> None:
    """Write a file as a new one: the old one may be linked or mapped elsewhere."""
    file.unlink(missing_ok=True)
    file.write_bytes(data)
