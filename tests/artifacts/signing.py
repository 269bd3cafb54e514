"""Manifests written and signed by independent code, to make hostile artifacts whose checksums are right."""

from __future__ import annotations

import json
from pathlib import Path

import xxhash


def read_manifest(folder: Path) -> dict:
    """Return what the manifest says; a pipe or a link to a device has no end, so it is not read."""
    if not (folder / "manifest.json").is_file():
        raise FileNotFoundError(folder / "manifest.json")
    try:
        return json.loads((folder / "manifest.json").read_bytes())
    except RecursionError as error:
        raise ValueError("nested too deep to be read here") from error


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
    """Record the manifest of `folder` in the artifacts around it, up to `root`."""
    while folder != root:
        sign_parents(root, folder.relative_to(root).parts, manifest_digest(folder))
        folder = folder.parent


def sign_parents(root: Path, place: tuple[str, ...], digest: str) -> None:
    """Write the digest of the artifact at a place into the manifest around it."""
    around = root.joinpath(*place[:-1])
    manifest = read_manifest(around)
    manifest["parents"][place[-1]]["xxh64"] = digest
    write_manifest(around, manifest)


def manifest_digest(folder: Path) -> str:
    """Return the checksum of the manifest as it would be if nothing lay elsewhere; of any other file, its checksum."""
    try:
        return xxhash.xxh64_hexdigest(_canonical(read_manifest(folder)))
    except (ValueError, AttributeError, KeyError, TypeError):
        return xxhash.xxh64_hexdigest((folder / "manifest.json").read_bytes())


def _canonical(manifest: dict) -> bytes:
    parents = {name: {key: record[key] for key in ("kind", "xxh64")} for name, record in manifest["parents"].items()}
    content = {key: manifest[key] for key in ("kind", "format", "vizsla")}
    content |= {
        "parameters": dict(sorted(manifest["parameters"].items())),
        "parents": dict(sorted(parents.items())),
        "files": dict(sorted(manifest["files"].items())),
    }
    text = json.dumps(content, indent=1, ensure_ascii=False).removesuffix("\n}").encode()
    return text + f',\n "xxh64": "{xxhash.xxh64_hexdigest(text)}"\n}}\n'.encode()


def replace(file: Path, data: bytes) -> None:
    """Write a file as a new one: the old one may be linked or mapped elsewhere."""
    file.unlink(missing_ok=True)
    file.write_bytes(data)
