"""Artifacts that somebody prepared: every size and checksum is right, and the content is not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from tests.artifacts.signing import read_manifest, replace, sign_above, sign_file, write_manifest
from tests.artifacts.workbench import Change, changed_copies

VALUES = [None, True, -1, 0, 2**63, 2**64 - 1, -(2**63), 1e308, -0.5, "", "\u0000", [], {}, [[]], {"x": 1}]


def hostile(saved: Path, scratch: Path, *, step: int = 1) -> Iterator[Path]:
    """Yield prepared copies of the artifact, one after another; each is named after its trick and then repaired.

    With `step` only one trick in so many is played, to save time where there are many artifacts.

    Loading one must raise FormatError, or give an object that answers, whatever it answers, or raises a VizslaError:
    a hostile file can hold another valid artifact, but it must never crash, hang, or raise anything else.
    """
    return changed_copies(saved, scratch, islice(_preparations(saved), 0, None, step))


def _preparations(saved: Path) -> Iterator[Change]:
    for folder in [saved, *sorted(entry for entry in saved.rglob("*") if entry.is_dir())]:
        place = folder.relative_to(saved)
        around = [above / "manifest.json" for above in (place, *place.parents)]
        tricks = [*_array_tricks(folder), *_json_tricks(folder), *_manifest_tricks(folder)]
        for number, (name, file, content) in enumerate(tricks):
            yield (
                f"{place} {number} {name}",
                {place / file, *around},
                lambda copy, trick=(place, file, content): _prepare(copy, *trick),
            )


def _prepare(copy: Path, place: Path, file: str, content: Any) -> None:
    folder = copy / place
    if file == "manifest.json":
        write_manifest(folder, content)
    else:
        replace(folder / file, content)
        sign_file(folder / file)
    sign_above(folder, copy)


def _array_tricks(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    for file in sorted(folder.glob("*.npy")):
        values = np.load(file)
        for name, content in [*array_headers(values), *((n, npy(v)) for n, v in _contents(values))]:
            yield f"{file.stem} {name}", file.name, content


def array_headers(values: np.ndarray) -> Iterator[tuple[str, bytes]]:
    """Yield files of this array whose headers say something else."""
    data, descr = values.tobytes(), values.dtype.str
    shapes = ["(9223372036854775807,)", "(4611686018427387904, 4)", "(-1,)", "(1e3,)", "(True,)", "()", "(0,)", "[3]"]
    shapes += ["(2,)*9", "(" + "1," * 300 + ")", "(__import__('os').abort(),)", "(" * 200 + ")" * 200, f"({10**30},)"]
    for shape in shapes:
        yield f"shape {shape[:20].replace('/', '')}", with_header(descr, shape, data)
    for kind in ["|O", "<U4", ">f4", "<c8", "<M8[s]", "[('a', '<i4')]", "<f1", "|V8", "<i3", "<f16", "x" * 60000]:
        yield f"descr {kind[:12].replace('/', '')}", with_header(kind, str(values.shape), data)
    yield "in Fortran order", with_header(descr, str(values.shape), data, order="True")
    yield "version 2", with_header(descr, str(values.shape), data, version=b"\x02\x00")
    yield "version 9", with_header(descr, str(values.shape), data, version=b"\x09\x00")
    yield "endless header", b"\x93NUMPY\x01\x00\xff\xff" + data
    yield "nothing", b""
    yield "pickle", b"\x80\x04cos\nabort\n)R."


def _contents(values: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield "empty", values[:0]
    yield "one less", values[:-1]
    yield "twice", np.concatenate([values, values])
    yield "as bytes", np.frombuffer(values.tobytes(), np.uint8)
    yield "column", values.reshape(-1, 1)
    yield "reversed", values[::-1]
    for name, byte in [("zeros", 0), ("ones", 1), ("all bits", 255), ("high", 127), ("low", 128)]:
        yield name, np.full(values.nbytes, byte, np.uint8).view(values.dtype).reshape(values.shape)
    for place in {0, values.size // 2, values.size - 1} if values.size else ():
        for extreme in _extremes(values.dtype):
            changed = values.copy()
            changed.flat[place] = extreme
            yield f"{extreme} at {place}", changed


def _extremes(dtype: np.dtype) -> list[Any]:
    if dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, np.finfo(dtype).max]
    if dtype.kind == "b":
        return []
    return [np.iinfo(dtype).min, np.iinfo(dtype).max, np.iinfo(dtype).max // 2]


def _json_tricks(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    texts = [b"", b"null", b"[]", b"{}", b"NaN", b"[1e999]", b'{"a": 1, "a": 2}', b'"\xff"', b'"\\ud800"', b"[" * 10**6]
    texts += [b"[" * 100 + b"]" * 100, b"9" * 10**5, b"\xef\xbb\xbf{}", "{}".encode("utf-16"), b"{} {}", b"0" * 999]
    for file in sorted(folder.glob("*.json")):
        if file.name != "manifest.json":
            yield from ((f"{file.stem} {n}", file.name, text) for n, text in enumerate(texts))


def _manifest_tricks(folder: Path) -> Iterator[tuple[str, str, Any]]:
    manifest = read_manifest(folder)
    for key in manifest.keys() - {"xxh64"}:
        for value in VALUES:
            yield f"{key}", "manifest.json", {**manifest, key: value}
        yield f"no {key}", "manifest.json", {k: v for k, v in manifest.items() if k != key}
    for key in manifest["parameters"]:
        for value in VALUES:
            yield f"parameter {key}", "manifest.json", _changed(manifest, "parameters", key, value)
    for key in manifest["files"]:
        for value in [*VALUES, {"bytes": -1, "xxh64": "0" * 16}, {"bytes": 1e3, "xxh64": "0" * 16}]:
            yield f"record of {key}", "manifest.json", _changed(manifest, "files", key, value)
    for key in manifest["parents"]:
        record = manifest["parents"][key]
        ways = [{**record, "at": way} for way in ("..", "../x", "/etc", key, f"{key}/{key}", "", None, 1)]
        for value in [*VALUES, *ways, {**record, "more": 1}, {"kind": "inverted", "xxh64": "0" * 16}]:
            yield f"record of {key}", "manifest.json", _changed(manifest, "parents", key, value)


def _changed(manifest: dict, part: str, key: str, value: Any) -> dict:
    return {**manifest, part: {**manifest[part], key: value}}


def npy(values: np.ndarray) -> bytes:
    return with_header(values.dtype.str, str(values.shape), values.tobytes())


def with_header(descr: str, shape: str, data: bytes, *, order: str = "False", version: bytes = b"\x01\x00") -> bytes:
    kind = descr if descr.startswith("[") else f"'{descr}'"
    text = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    text += b" " * (-(11 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text + data
