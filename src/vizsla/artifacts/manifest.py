"""The manifest: what an artifact is, which files it consists of, and what it was made from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vizsla import __version__, _native
from vizsla._internal.lazy import cached_property
from vizsla.artifacts import strict_json

MANIFEST = "manifest.json"
PROVENANCE = "provenance.json"
"""Beside the manifest of an artifact that was saved: when and by what it was made. It is part of no digest."""
FORMAT = 2
"""Raised whenever a file of an older release would be read differently; `tests/artifacts/golden` holds each kind."""
MAX_NESTING = 32
"""How deep artifacts may lie inside artifacts."""
MAX_BYTES = 4 << 20
"""Bytes of one manifest."""
MAX_WHOLE_BYTES = 32 << 20
"""Bytes of all manifests of a whole."""
MAX_WHOLE_VALUES = 1_000_000
"""Keys and values in all manifests of a whole."""
MAX_WRITTEN_OUT = 100_000
"""How many artifacts there may be in a whole, if those that parts share were stored as often as they are used."""

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,199}")
"""Names of files and of nested artifacts: no separator and no leading dot, so no way out of the folder."""

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
    """What the manifest says of one artifact inside: its kind, its digest, and where it lies.

    Parameters
    ----------
    kind : str
        What it is.
    xxh64 : str
        The digest of its manifest: see `Manifest.digest`.
    at : str, optional
        For an artifact that lies elsewhere in the whole, because another part holds it too: the way there from the
        outermost folder, such as "base/encoder". Without it, it lies in the folder of its name.
    """

    kind: str
    xxh64: str
    at: str | None = None

    @property
    def place(self) -> tuple[str, ...] | None:
        """The names on the way from the outermost folder, if it lies elsewhere."""
        return None if self.at is None else tuple(self.at.split("/"))

    def to_dict(self) -> dict[str, str]:
        """Return the record as JSON has it."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def agrees(self, other: ParentRecord) -> bool:
        """Whether both are of artifacts with the same content, wherever these lie."""
        return (self.kind, self.xxh64) == (other.kind, other.xxh64)


@dataclass(frozen=True)
class Manifest:
    """An artifact's description; `dump` gives the same bytes for the same content."""

    kind: str
    parameters: dict[str, Any] = field(default_factory=dict)
    parents: dict[str, ParentRecord] = field(default_factory=dict)
    files: dict[str, FileRecord] = field(default_factory=dict)
    vizsla: str = __version__
    format: int = FORMAT

    def dump(self) -> bytes:
        """Return the manifest as sealed JSON: its last entry is the checksum of all that comes before."""
        return self._dump({name: record.to_dict() for name, record in sorted(self.parents.items())})

    @cached_property
    def digest(self) -> str:
        """The checksum of the manifest as it would be if nothing inside lay elsewhere: equal content, equal digest."""
        apart = {name: {"kind": record.kind, "xxh64": record.xxh64} for name, record in sorted(self.parents.items())}
        return digest(self._dump(apart))

    def _dump(self, parents: dict[str, dict[str, str]]) -> bytes:
        content = {
            "kind": self.kind,
            "format": self.format,
            "vizsla": self.vizsla,
            "parameters": dict(sorted(self.parameters.items())),
            "parents": parents,
            "files": {name: vars(record) for name, record in sorted(self.files.items())},
        }
        return seal(strict_json.dump(content)[: -len(b"\n}")])

    @classmethod
    def parse(cls, data: bytes) -> Manifest:
        """Return the manifest that the bytes hold; raise ValueError when they are not one."""
        if len(data) > MAX_BYTES:
            raise ValueError(f"more than {MAX_BYTES} bytes")
        _check_seal(data)  # first: what is damaged is not parsed
        value = strict_json.parse(data)
        _check_format(value)
        if set(value) != set(_SHAPE) or any(type(value[key]) is not _SHAPE[key] for key in _SHAPE):
            raise ValueError("it is not a manifest")
        files = {name: _file_record(name, record) for name, record in value["files"].items()}
        parents = {name: _parent_record(name, record) for name, record in value["parents"].items()}
        if files.keys() & parents.keys():
            raise ValueError("a file and a nested artifact have the same name")
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
    """Raise ValueError unless a file or a nested artifact may have this name."""
    if not NAME.fullmatch(name) or name in (MANIFEST, PROVENANCE):
        raise ValueError(f"{name!r} is not a name that a file of an artifact can have")


def _check_format(value: Any) -> None:
    number = value.get("format") if isinstance(value, dict) else None
    if type(number) is not int or number < 1:
        raise ValueError("it is not the manifest of a Vizsla artifact")
    if number < FORMAT:
        raise ValueError(
            f"it has format {number}, written by vizsla {value.get('vizsla')!r}; vizsla {__version__} reads format "
            f"{FORMAT} only. Build it again from its data"
        )
    if number > FORMAT:
        raise ValueError(
            f"it has format {number}, written by vizsla {value.get('vizsla')!r}; vizsla {__version__} reads "
            f"format {FORMAT}. Upgrade with: pip install --upgrade vizsla"
        )


def _check_seal(data: bytes) -> None:
    # Byte for byte: a parameter that a flipped bit changed would otherwise be a silently different search.
    match = _SEAL.fullmatch(data[-_SEAL_BYTES:])
    if match is None:
        raise ValueError("it does not end as the manifest of a Vizsla artifact does; it is damaged or another's")
    if match[1].decode() != digest(data[:-_SEAL_BYTES]):
        raise ValueError("its own checksum does not match; it is damaged or was edited")


def _file_record(name: str, record: Any) -> FileRecord:
    check_name(name)
    if not _is_record(record, "bytes", int) or record["bytes"] < 0:
        raise ValueError(f"its record of the file {name!r} is not one")
    return FileRecord(**record)


def _parent_record(name: str, record: Any) -> ParentRecord:
    check_name(name)
    at = record.get("at") if isinstance(record, dict) else None
    own = {key: value for key, value in record.items() if key != "at"} if at is not None else record
    if not _is_record(own, "kind", str) or not (at is None or _is_way(at)):
        raise ValueError(f"its record of the nested artifact {name!r} is not one")
    return ParentRecord(**record)


def _is_way(at: Any) -> bool:
    # Names only, one after another: no way leads up or out.
    names = at.split("/") if type(at) is str else []
    return 0 < len(names) <= MAX_NESTING and all(NAME.fullmatch(name) and name != MANIFEST for name in names)


def _is_record(record: Any, key: str, kind: type) -> bool:
    return (
        isinstance(record, dict)
        and record.keys() == {key, "xxh64"}
        and type(record[key]) is kind
        and type(record["xxh64"]) is str
        and _DIGEST.fullmatch(record["xxh64"]) is not None
    )
