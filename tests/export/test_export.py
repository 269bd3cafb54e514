"""vizsla export onnx, as typed: a model becomes ONNX and int8, is checked, and serves an index."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vizsla
from tests.contract.catalog import ITEMS, WORDS
from tests.encoders.minilm import minilm_folder
from vizsla.cli import main

MINILM = minilm_folder()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    (folder / "qrels").mkdir()
    items = "".join(json.dumps({"_id": item, "text": text}) + "\n" for item, text in ITEMS.items())
    (folder / "corpus.jsonl").write_text(items)
    queries = "".join(json.dumps({"_id": f"q{n}", "text": word}) + "\n" for n, word in enumerate(WORDS))
    (folder / "queries.jsonl").write_text(queries)
    pairs = [(f"q{n}", item) for n, word in enumerate(WORDS) for item, text in ITEMS.items() if word in text.split()]
    judged = "".join(f"{query}\t{item}\t1\n" for query, item in pairs)
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return str(folder)


def test_from_a_model_to_an_int8_index(data, tmp_path, capsys):
    full, small, out = (str(tmp_path / name) for name in ("onnx", "int8", "index"))
    assert main(["export", "onnx", MINILM, "-o", full, "--max-tokens", "32", "--query-prompt", "q: "]) == 0
    assert "384 dimensions, float32" in capsys.readouterr().out
    command = ["export", "onnx", full, "-o", small, "--int8", "--data", data, "--max-loss", "1"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "int8 accepted: R@10" in printed and f"on {len(WORDS)} queries among {len(ITEMS)} items" in printed
    assert vizsla.encoders.open_encoder(small).options["query_prompt"] == "q: "
    assert main(["index", "dense", data, "-o", out, "--encoder", small]) == 0
    assert main(["search", out, WORDS[0], "-k", "3"]) == 0
    loaded, encoder = vizsla.load(out), vizsla.encoders.open_encoder(small)
    wanted = np.argmax(encoder.items(list(ITEMS.values())) @ encoder.queries([WORDS[0]])[0])
    assert loaded(WORDS[0], k=1).ids == [[list(ITEMS)[wanted]]]
    assert main(command) == 2 and "--overwrite" in capsys.readouterr().err


def test_refused_int8_leaves_float32_and_says_so(data, tmp_path, capsys):
    out = tmp_path / "out"
    command = ["export", "onnx", MINILM, "-o", str(out), "--int8", "--data", data, "--max-loss", "-1"]
    assert main(command) == 1
    printed = capsys.readouterr().out
    assert "int8 refused: R@10" in printed and "float32, since int8 was refused" in printed
    assert (out / "model.onnx").stat().st_size > 80e6
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_int8_needs_queries(tmp_path, capsys):
    assert main(["export", "onnx", MINILM, "-o", str(tmp_path / "out"), "--int8"]) == 2
    assert "`--data` must be given with --int8" in capsys.readouterr().err
