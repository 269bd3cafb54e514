"""The manifest: what an artefact is, which files it consists of, and what it was made from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import __version__, _native
from vizsla.artifacts import strict_json

MANIFEST = "manifest.json"
FORMAT = 1
MAX_NESTING = 32
"""How deep artefacts may lie inside artefacts."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,199}")
"""Names of files and of nested artefacts: no separator and no leading dot, so no way out of the folder."""

_DIGEST = re.compile(r"[0-9a-f]{16}")
_SEAL = re.compile(rb',\n "xxh64": "([0-9a-f]{16})"\n\}\n')
_SEAL_BYTES = len(b',\n "xxh64": "0123456789abcdef"\n}\n')
_SHAPE = {"kind": str, "format": int, "vizsla": str, "parameters": dict, "parents": dict, "files": dict, "xxh64": str}


@dataclass(frozen=True)
class FileRecord:
    """What the manifest says of one file."""

    bytes: int
    xxh64: str


@dataclass(frozen=True)
class ParentRecord:
    """What the manifest says of one nested artefact: its kind and the checksum of its manifest."""

    kind: str
    xxh64: str


@dataclass(frozen=True)
class Manifest:
    """An artefact's description; `dump` gives the same bytes for the same content."""

    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)
    parents: dict[str, ParentRecord] = field(default_factory=dict)
    files: dict[str, FileRecord] = field(default_factory=dict)
    vizsla: str = __version__
    format: int = FORMAT

    def dump(self) -> bytes:
        """Return the manifest as sealed JSON: its last entry is the checksum of all that comes before."""
        content = {
            "kind": self.kind,
            "format": self.format,
            "vizsla": self.vizsla,
            "parameters": dict(sorted(self.parameters.items())),
            "parents": {name: vars(record) for name, record in sorted(self.parents.items())},
            "files": {name: vars(record) for name, record in sorted(self.files.items())},
        }
        return seal(strict_json.dump(content)[: -len(b"\n}")])

    @classmethod
    def parse(cls, data: bytes) -> Manifest:
        """Return the manifest that the bytes hold; raise ValueError when they are not one."""
        value = strict_json.parse(data)
        _check_format(value)
        _check_seal(data)
        if set(value) != set(_SHAPE) or any(type(value[key]) is not _SHAPE[key] for key in _SHAPE):
            raise ValueError("it is not a manifest")
        files = {name: _file_record(name, record) for name, record in value["files"].items()}
        parents = {name: _parent_record(name, record) for name, record in value["parents"].items()}
        if files.keys() & parents.keys():
            raise ValueError("a file and a nested artefact have the same name")
        return cls(value["kind"], value["parameters"], parents, files, value["vizsla"], value["format"])


def digest(data: bytes | NDArray[np.uint8]) -> str:
    """Return the XXH64 of the bytes in hexadecimal.

    Examples
    --------
    >>> digest(b"")
    'ef46db3751d8e999'
    """
    values = np.frombuffer(data, np.uint8) if isinstance(data, bytes) else data
    return f"{_native.checksum(values):016x}"


def seal(content: bytes) -> bytes:
    """Close a manifest's JSON, all but its last brace, with the checksum of the content."""
    return content + f',\n "xxh64": "{digest(content)}"\n}}\n'.encode()


def check_name(name: str) -> None:
    """Raise ValueError unless a file or a nested artefact may have this name."""
    if not NAME.fullmatch(name) or name == MANIFEST:
        raise ValueError(f"{name!r} is not a name that a file of an artefact can have")


def _check_format(value: Any) -> None:
    number = value.get("format") if isinstance(value, dict) else None
    if type(number) is not int or number < 1:
        raise ValueError("it is not the manifest of a Vizsla artefact")
    if number > FORMAT:
        raise ValueError(
            f"it has format {number}, written by vizsla {value.get('vizsla')!r}; vizsla {__version__} reads up to "
            f"format {FORMAT}. Upgrade with: pip install --upgrade vizsla"
        )


def _check_seal(data: bytes) -> None:
    # Byte for byte: a parameter that a flipped bit changed would otherwise be a silently different search.
    match = _SEAL.fullmatch(data[-_SEAL_BYTES:])
    if match is None or match[1].decode() != digest(data[:-_SEAL_BYTES]):
        raise ValueError("its own checksum does not match; it is damaged or was edited")


def _file_record(name: str, record: Any) -> FileRecord:
    check_name(name)
    if not _is_record(record, "bytes", int) or record["bytes"] < 0:
        raise ValueError(f"its record of the file {name!r} is not one")
    return FileRecord(**record)


def _parent_record(name: str, record: Any) -> ParentRecord:
    check_name(name)
    if not _is_record(record, "kind", str):
        raise ValueError(f"its record of the nested artefact {name!r} is not one")
    return ParentRecord(**record)


def _is_record(record: Any, key: str, kind: type) -> bool:
    return (
        isinstance(record, dict)
        and record.keys() == {key, "xxh64"}
        and type(record[key]) is kind
        and type(record["xxh64"]) is str
        and _DIGEST.fullmatch(record["xxh64"]) is not None
    )
