"""vizsla index dense, as typed."""

from __future__ import annotations

import json

import pytest

import vizsla
from tests.contract.catalog import ITEMS
from vizsla.cli import main


@pytest.fixture
def data(tmp_path):
    file = tmp_path / "items.jsonl"
    file.write_text("".join(json.dumps({"id": item, "text": text}) + "\n" for item, text in ITEMS.items()))
    return str(file)


@pytest.mark.parametrize("index", ["flat", "hnsw", "ivf"])
def test_builds_each_index(data, tmp_path, capsys, index):
    out = str(tmp_path / "out")
    assert main(["index", "dense", data, "-o", out, "--dim", "16", "--index", index, "--storage", "float16"]) == 0
    assert "16 dimensions" in capsys.readouterr().out
    loaded = vizsla.load(out)
    assert loaded.index.kind == index and loaded.index.stored.storage == "float16"
    assert "fig" in ITEMS[loaded("fig")[0][0].id]


def test_encoder_folder_and_foreign_options(data, tmp_path, capsys):
    first = tmp_path / "first"
    main(["index", "dense", data, "-o", str(first), "--dim", "8"])
    again = str(tmp_path / "again")
    assert main(["index", "dense", data, "-o", again, "--encoder", str(first / "encoder")]) == 0
    assert vizsla.load(again)("fig pear", k=9).ids == vizsla.load(first)("fig pear", k=9).ids
    assert not (tmp_path / "again.encoding").exists()
    assert main(["index", "dense", data, "-o", str(tmp_path / "x"), "--ef", "9"]) != 0
    assert "`--ef` must be left out for --index flat" in capsys.readouterr().err


def test_every_option_of_an_index_is_reached(data, tmp_path):
    graph, lists = str(tmp_path / "graph"), str(tmp_path / "lists")
    options = ["--index", "hnsw", "--M", "5", "--ef-construction", "9", "--ef", "7", "--storage", "int8"]
    assert main(["index", "dense", data, "-o", graph, "--dim", "8", *options]) == 0
    built = vizsla.load(graph).index
    assert (built.graph.m, built.graph.ef_construction, built.ef, built.stored.storage) == (5, 9, 7, "int8")
    command = ["index", "dense", data, "-o", lists, "--dim", "8", "--index", "ivf", "--lists", "6", "--overwrite"]
    assert main([*command, "--probes", "2"]) == 0
    assert (len(vizsla.load(lists).index.centers), vizsla.load(lists).index.probes) == (6, 2)
    probes = []
    for recall in ("0.3", "1"):
        assert main([*command, "--recall", recall]) == 0
        probes.append(vizsla.load(lists).index.probes)
    assert probes[0] < probes[1]
