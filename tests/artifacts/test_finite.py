"""A prepared artifact whose arrays hold NaN or infinity is refused at loading, whatever array it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vizsla
from tests.contract.registry import ENCODERS, INDEXES, RETRIEVERS, anchors, item_vectors, token_vectors
from tests.fuzz.resigning import resign
from vizsla.cli import main
from vizsla.core.validation import all_finite
from vizsla.encoders.precomputed import PrecomputedEncoder
from vizsla.errors import FormatError, InputError
from vizsla.indexes.pq.pq_index import PqIndex

MAKERS = {
    **{f"index {name}": lambda make=make: make()[0] for name, make in INDEXES.items()},
    **{f"encoder {name}": make for name, make in ENCODERS.items()},
    **{name: case.make for name, case in RETRIEVERS.items()},
    "vectors": item_vectors,
    "token vectors": token_vectors,
    "anchors": lambda: anchors("float16"),
}
WRONG = (np.nan, np.inf, -np.inf)


def float_files(folder: Path) -> list[Path]:
    files = [file for file in sorted(folder.rglob("*.npy")) if np.load(file, mmap_mode="r").dtype.kind == "f"]
    return [file for file in files if np.load(file, mmap_mode="r").size and ".numbers" not in file.name]


@pytest.mark.parametrize("name", MAKERS)
def test_no_array_may_hold_what_is_no_number(name: str, tmp_path: Path) -> None:
    artifact = MAKERS[name]()
    saved = artifact.save(tmp_path / "saved")
    for number, file in enumerate(float_files(saved)):
        content = file.read_bytes()
        values = np.load(file)
        values.reshape(-1)[values.size // 2] = WRONG[number % 3]
        file.unlink()
        np.save(file, values)
        resign(saved)
        with pytest.raises(FormatError):
            vizsla.load(saved)
            pytest.fail(f"{file.relative_to(saved)} was read")
        file.unlink()
        file.write_bytes(content)
    resign(saved)
    assert type(vizsla.load(saved)) is type(artifact)


@pytest.mark.parametrize("storage", ["float32", "float16", "int8"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_vectors_are_checked_where_they_come_in(storage: str, wrong: float) -> None:
    rows = np.eye(4, 3, dtype=np.float32)
    rows[2, 1] = wrong
    texts = {"a": "one", "b": "two", "c": "three", "d": "four"}
    encoder = vizsla.encoders.FunctionEncoder(lambda lines: np.ones((len(lines), 3)), dim=3, name="ones")
    broken = vizsla.encoders.FunctionEncoder(lambda lines: rows[: len(lines)], dim=3, name="broken")
    with pytest.raises(InputError, match="finite"):
        vizsla.dense(texts, encoder, vectors=rows, storage=storage)
    with pytest.raises(InputError, match="finite"):
        vizsla.dense(texts, broken, storage=storage)
    with pytest.raises(InputError, match="finite"):
        PqIndex.build(rows, bytes=1, bits=4)
    with pytest.raises(InputError, match="finite"):
        PrecomputedEncoder(["a", "b", "c", "d"], rows).queries(["c"])
    odd = vizsla.encoders.FunctionEncoder(
        lambda lines: [[wrong, 0, 0]] * len(lines), dim=3, name="odd", items=lambda lines: np.ones((len(lines), 3))
    )
    with pytest.raises(InputError, match="finite"):
        vizsla.dense(texts, odd)("a query")


def test_check_names_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    encoder = vizsla.encoders.LsaEncoder.fit(["a fig tree", "a pear tree", "a plum"], dim=2)
    saved = vizsla.dense({"a": "a fig tree", "b": "a pear"}, encoder).save(tmp_path / "saved")
    file = next(file for file in float_files(saved) if file.name == "vectors.npy")
    values = np.load(file)
    values[0, 0] = np.nan
    file.unlink()
    np.save(file, values)
    resign(saved)
    assert main(["check", str(saved)]) == 1
    assert "vectors.npy: expected finite numbers. Got NaN or infinity" in "".join(capsys.readouterr())


def test_a_large_array_is_looked_at_by_blocks() -> None:
    values = np.zeros((1 << 20) * 2 + 3, np.float32)
    assert all_finite(values) and all_finite(values.astype(np.float16)) and all_finite(values[:0])
    for at in (0, 1 << 20, len(values) - 1):
        for wrong in (np.nan, np.inf, -np.inf):
            values[at] = wrong
            assert not all_finite(values) and not all_finite(values.astype(np.float16))
            values[at] = 0
