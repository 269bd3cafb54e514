"""All columns in one file: few files, read when they are asked for, and refused when they are damaged."""

from __future__ import annotations

import numpy as np
import pytest

import vizsla
from tests.artifacts.signing import read_manifest, replace, write_manifest
from tests.fuzz.resigning import resign
from vizsla.artifacts.inspect import inspect
from vizsla.core.catalog import Item, details_of
from vizsla.data.metadata import ColumnFile, ItemMetadata
from vizsla.data.metadata_builder import DetailsCollector
from vizsla.errors import FormatError, VizslaError

ROWS = [
    {"n": "5", "d": "2024-05-01", "t": "Ace", "l": ["a", "b"], "b": True},
    {"n": "n/a", "d": "soon", "t": "ä", "l": ["b"], "b": False},
    {},
]
KINDS = {"n": "number", "d": "date", "t": "text", "l": "list", "b": "boolean"}


def details(rows=ROWS):
    collector = DetailsCollector(kinds=KINDS)
    collector.add_all([Item(str(n), "", metadata=row) for n, row in enumerate(rows)])
    return collector.details()


def npy(values):
    import io

    out = io.BytesIO()
    np.lib.format.write_array(out, values, version=(1, 0))
    return out.getvalue()


def test_five_thousand_columns_are_a_few_files(tmp_path):
    names = [f"column {n}" for n in range(5000)]
    lines = [
        ",".join(["id", "text", *names]),
        *(",".join([str(n), "a fig", *map(str, range(n, n + 5000))]) for n in range(3)),
    ]
    (tmp_path / "wide.csv").write_text("\n".join(lines))
    saved = vizsla.bm25(vizsla.open_dataset(tmp_path / "wide.csv")).save(tmp_path / "idx")
    assert len([file for file in saved.rglob("*") if file.is_file()]) < 30
    assert max(file.stat().st_size for file in saved.rglob("manifest.json")) < 20_000
    known = details_of(vizsla.load(saved).items)
    assert known.of(2) == {name: str(number + 2) for number, name in enumerate(names)}
    found = vizsla.load(saved, verify=False)
    assert isinstance(details_of(found.items).columns, ColumnFile)
    assert found("fig", where=vizsla.where('"column 4999"=5000')).ids == [["1"]]
    assert list(details_of(found.items).columns._made) == ["column 4999"], "only what was asked for was read"


def test_every_kind_comes_back(tmp_path):
    made, read = details(), ItemMetadata.load(details().save(tmp_path / "details"))
    for number in range(len(ROWS)):
        assert read.of(number) == made.of(number)
    assert read.of(1) == {"n": "n/a", "d": "soon", "t": "ä", "l": ["b"], "b": False}
    assert {name: column.kind for name, column in read.columns.items()} == KINDS
    assert read.unparsed() == {"n": ("number", 1, "n/a"), "d": ("date", 1, "soon")}


def test_inspect_tells_kinds_and_what_does_not_parse(tmp_path):
    parameters = inspect(details().save(tmp_path / "details")).parameters
    assert parameters["columns"][0] == {"name": "n", "kind": "number", "values": 1, "unparsed": 1, "example": "n/a"}
    assert parameters["columns"][2] == {"name": "t", "kind": "text", "values": 2}


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("wild", [-1, 1, 3, 2**31, 2**40, 2**62, -(2**63)])
def test_wild_places_are_refused_or_answer(tmp_path, wild, verify):
    saved = details().save(tmp_path / "details")
    places = np.load(saved / "column_places.npy")
    for at in np.ndindex(places.shape):
        changed = places.copy()
        changed[at] = wild
        replace(saved / "column_places.npy", npy(changed))
        resign(saved)
        use(saved, verify)


@pytest.mark.parametrize("verify", [True, False])
def test_wild_bytes_are_refused_or_answer(tmp_path, verify):
    saved = details().save(tmp_path / "details")
    data = np.load(saved / "columns.npy")
    for at in range(0, len(data), 3):
        for wild in (0, 127, 255):
            changed = data.copy()
            changed[at] = wild
            replace(saved / "columns.npy", npy(changed))
            resign(saved)
            use(saved, verify)


def use(saved, verify):
    """Load and use a prepared artifact: FormatError, or another answer, and never anything else."""
    try:
        read = ItemMetadata.load(saved, verify=verify)
        for name in list(read.columns):
            read.column(name)
        for number in range(min(read.count, 5)):
            read.of(number)
        read.unparsed()
        if all(name in read.columns for name in KINDS):
            for text in ("n<6", "d>=2024", "t contains A", "l=a", "b=true", "t startswith A", "n is null", 't<"b"'):
                vizsla.where(text).holds(read)
    except FormatError:
        return
    except VizslaError as error:
        assert "must" in str(error)


def test_another_layout_says_build_anew(tmp_path):
    saved = details().save(tmp_path / "details")
    manifest = read_manifest(saved)
    del manifest["parameters"]["layout"]
    write_manifest(saved, manifest)
    with pytest.raises(FormatError, match="build the artifact anew"):
        ItemMetadata.load(saved)
