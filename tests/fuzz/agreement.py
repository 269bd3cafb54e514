"""What manifests say of the encoders inside, made true again: only who claims a hostile encoder will meet it."""

from __future__ import annotations

from pathlib import Path

import vizsla
from tests.artifacts.signing import read_manifest, write_manifest
from vizsla.encoders.persistence import describe
from vizsla.errors import VizslaError


def agree(root: Path) -> None:
    """Let every manifest describe the encoder that lies inside, as far as that can be loaded."""
    for file in sorted(root.rglob("manifest.json"), key=lambda file: -len(file.parts)):
        try:
            manifest = read_manifest(file.parent)
            record = manifest["parents"]["encoder"]
            place = root / record["at"] if "at" in record else file.parent / "encoder"
            manifest["parameters"]["encoder"] = describe(vizsla.load(place, verify=False))
            write_manifest(file.parent, manifest)
        except (VizslaError, ValueError, KeyError, TypeError, AttributeError, OSError):
            continue  # it holds none, or what it holds cannot be loaded by itself
