"""diagnose: losses that were put into a pipeline are found where they were put."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vizsla
from vizsla.autopilot.diagnose import diagnose
from vizsla.base.encoder import FunctionEncoder
from vizsla.cli import main
from vizsla.errors import InputError

COUNT = 300


def made(count):
    texts = {f"i{at}": f"common w{at} w{at + 1}" for at in range(count)}
    queries = {f"q{at}": f"w{at} w{at + 1}" for at in range(0, count, 3)}
    qrels = {f"q{at}": {f"i{at}": 1} for at in range(0, count, 3)}
    return vizsla.Dataset.of(texts, queries=queries, qrels=qrels)


@pytest.fixture(scope="module")
def data():
    return made(COUNT)


def encoder():
    vectors = np.random.default_rng(0).normal(size=(1501, 32)).astype(np.float32)

    def encode(texts):
        numbers = [[int(word[1:]) for word in text.split() if word[0] == "w"] for text in texts]
        return np.array([vectors[row].sum(axis=0) for row in numbers])

    return FunctionEncoder(encode, dim=32, name="sums")


def gains(found):
    return {step.name: step.gain for step in found.steps[1:]}


def test_an_exact_pipeline_loses_nothing_on_the_way(data):
    found = diagnose(vizsla.bm25(data), data)
    assert gains(found) == {"search": 0.0}
    assert found.model_loss == pytest.approx(0.0)
    assert "Nothing is surely lost" in found.advice


def test_coarse_codes_are_found():
    data = made(1500)
    coarse = vizsla.dense(data, encoder(), index="pq", bytes=1)
    found = diagnose(coarse, data)
    assert gains(found)["codes"] > 0.1
    assert found.advice.startswith("Change codes first")
    exact = vizsla.dense(data, encoder())
    assert found.steps[-1].quality == pytest.approx(diagnose(exact, data).steps[0].quality)


def test_a_short_list_before_a_scorer_is_found(data):
    bad = vizsla.bm25(dict.fromkeys(data.item_ids, "common"))  # all alike: the first ten are no better than others
    pipeline = (bad % 10) >> vizsla.dense(data, encoder())
    asked = vizsla.Dataset.of(
        {item.id: item.text for item in data.items},
        queries={f"q{at}": f"common w{at} w{at + 1}" for at in range(0, COUNT, 3)},
        qrels=data.qrels_dict("test"),
    )
    found = diagnose(pipeline, asked)
    assert gains(found)["depth"] > 0.2
    assert found.advice.startswith("Change depth first")


def test_the_command_writes_a_table_and_a_page(data, tmp_path, capsys):
    items, queries, qrels = tmp_path / "items.tsv", tmp_path / "queries.tsv", tmp_path / "qrels.tsv"
    items.write_text("".join(f"{item.id}\t{item.text}\n" for item in data.items))
    queries.write_text("".join(f"{query.id}\t{query.text}\n" for query in data.queries))
    judged = data.qrels_dict("test")
    rows = "".join(f"{query}\t{item}\t1\n" for query, row in judged.items() for item in row)
    qrels.write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    vizsla.bm25(data).save(tmp_path / "words.idx")
    command = ["diagnose", str(tmp_path / "words.idx"), str(items), "--queries", str(queries), "--qrels", str(qrels)]
    assert main([*command, "--json", str(tmp_path / "d.json"), "--html", str(tmp_path / "d.html")]) == 0
    assert "as it is" in capsys.readouterr().out
    assert json.loads((tmp_path / "d.json").read_text())["steps"][0]["name"] == "as it is"
    assert "<svg" in (tmp_path / "d.html").read_text()


def test_queries_about_other_items_are_refused(data):
    with pytest.raises(InputError, match="about the retriever's items"):
        diagnose(vizsla.bm25({"other": "text"}), data)
