"""All checksums of an artifact made right again, whatever was changed inside: also those of parts that are shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xxhash

from tests.artifacts.signing import manifest_digest, read_manifest, write_manifest

ROUNDS = 12


def resign(root: Path, *, files: bool = True) -> None:
    """Record every file's size and checksum, if wanted, and every inner artifact's digest, until nothing changes."""
    inner = sorted((entry for entry in root.rglob("*") if entry.is_dir()), key=lambda entry: -len(entry.parts))
    for _ in range(ROUNDS):
        if not sum(_resign_folder(folder, root, files=files) for folder in [*inner, root]):
            return


def _resign_folder(folder: Path, root: Path, *, files: bool) -> bool:
    try:
        manifest = read_manifest(folder)
        signed = {**manifest, "parents": _parents(folder, root, manifest)}
        signed |= {"files": _files(folder, manifest)} if files else {}
    except (ValueError, OSError, AttributeError, TypeError, KeyError):
        return False  # what a step made of the manifest is beyond repair: let it be read as it is
    if signed == manifest:
        return False
    write_manifest(folder, signed)
    return True


def _files(folder: Path, manifest: Any) -> dict:
    return {name: _file(folder / name, record) for name, record in manifest["files"].items()}


def _file(file: Path, record: Any) -> Any:
    if not file.is_file() or not isinstance(record, dict) or record.keys() != {"bytes", "xxh64"}:
        return record
    data = file.read_bytes()
    return {"bytes": len(data), "xxh64": xxhash.xxh64_hexdigest(data)}


def _parents(folder: Path, root: Path, manifest: Any) -> dict:
    digests: dict[Path, str] = {}  # many records may point to one place
    return {name: _parent(folder / name, root, record, digests) for name, record in manifest["parents"].items()}


def _parent(own: Path, root: Path, record: Any, digests: dict[Path, str]) -> Any:
    if not isinstance(record, dict) or "xxh64" not in record:
        return record
    target = own if record.get("at") is None else root / str(record["at"])
    if not (target / "manifest.json").is_file():
        return record
    if target not in digests:
        digests[target] = manifest_digest(target)
    return {**record, "xxh64": digests[target]}
