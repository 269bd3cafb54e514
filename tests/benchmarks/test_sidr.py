"""SiDR's benchmarks run from end to end, on a random BERT of a few thousand numbers."""

from __future__ import annotations

import gzip
import json
from argparse import Namespace

import pytest

from benchmarks import sidr_ablations, sidr_train, sidr_trials
from tests.methods.sidr.tiny import ITEMS, dataset, model_folder
from vizsla import tokens
from vizsla.methods.sidr.settings import SidrSettings

for package in ("ir_measures", "torch", "transformers", "onnx", "onnxruntime"):
    pytest.importorskip(package, reason="the extras neural and eval are not installed")

CHEAP = {**sidr_train.SETTINGS, "max_tokens": 12, "frozen_layers": 1}


@pytest.fixture
def options(tmp_path, monkeypatch) -> Namespace:
    """Write the tiny clicks as a set of the data: two of three to learn from."""
    data, folder = dataset(), tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    records = {"corpus": data.items, "queries": data.queries}
    for name, texts in records.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps({"_id": one.id, "text": one.text}) + "\n" for one in texts)
    pairs = [f"{data.queries[q].id}\t{data.items[i].id}\t1\n" for q, i in zip(*data.clicks.nonzero(), strict=True)]
    for number, split in enumerate(("train", *sidr_train.SPLITS)):
        part = [pair for place, pair in enumerate(pairs) if (place % 6 < 4, place % 6 == 4, place % 6 == 5)[number]]
        (folder / "qrels" / f"{split}.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(part))
    monkeypatch.setenv("VIZSLA_DATA", str(tmp_path))
    monkeypatch.setattr(sidr_train, "SETTINGS", CHEAP)
    monkeypatch.setattr(sidr_trials, "SETTINGS", CHEAP)
    monkeypatch.setattr(sidr_ablations, "PAPER", {**CHEAP, "table_epochs": 0, "item_tokens": False})
    given = {"set": "tiny", "max_steps": 1, "queries": None, "saved": None, "checkpoint": None, "items": None}
    return Namespace(**given, quick=True, depths=[5], full=True, only=None)


def test_tables_1_7_and_8_have_quality_index_time_bytes_and_cost(options):
    rows = {row.work: row for row in sidr_train._rows(options, str(model_folder()))}
    assert {"indexing bm25", "indexing bags", "indexing vectors", "bags", "vectors"} <= set(rows)
    for system in ("bm25", "tokens", "learned table", "sidr beta", "sidr full", "sidr alpha", "bm25 + sidr (m=5)"):
        assert 0 <= rows[f"test-unseen: {system}"].ours <= 1
    asked = rows["sidr beta: texts embedded"].ours
    assert rows["bm25: texts embedded"].ours == 0 and rows["sidr alpha: texts embedded"].ours == len(ITEMS)
    assert rows["sidr full: texts embedded"].ours == asked + len(ITEMS)
    assert 5 <= rows["sidr beta + sidr (m=5): texts embedded"].ours - asked <= len(ITEMS)
    tests = [row for row in rows.values() if "sidr beta against bm25" in row.work]
    assert len(tests) == 2 * len(sidr_train.MEASURES) and all(0 < row.ours <= 1 for row in tests)


def test_the_cost_of_a_second_stage_is_the_distinct_items_it_meets(options):
    data = sidr_train.Dataset.open(sidr_train.data_folder() / "tiny")
    first = tokens(data, epochs=0)
    asked = [data.queries[row].text for split in sidr_train.SPLITS for row in data.qrels(split).nonzero()[0].tolist()]
    wanted = {item for text in asked for item in first(text, k=2).ids[0]}
    assert sidr_train._asked(options, data) == asked
    assert sidr_train._met(first, asked, 2) == len(wanted)


def test_table_4_measures_beta_and_full_search_of_a_saved_model(options, tmp_path):
    options.only, options.saved = ["w/o SP objective"], tmp_path / "saved"
    found = [sidr_ablations._rows(options, str(model_folder())) for _ in range(2)]
    first, again = ({(row.work, row.unit): row.ours for row in rows if row.unit != "CPU s"} for rows in found)
    assert first == again and len(first) == 12


def test_trials_look_at_held_out_clicks_before_and_after(options, tmp_path):
    options.only, options.checkpoint = ["x1", "x8"], tmp_path / "states"
    rows = {row.work: row for row in sidr_trials._rows(options, str(model_folder()))}
    assert rows["x1: beta, cold, before"].ours == rows["x8: beta, cold, before"].ours
    assert 0 <= rows["x8: beta, warm, after"].ours <= 1 and len(rows) == 2 * (1 + 4 + 18)
    assert (tmp_path / "states" / "x8" / "state").exists()


def test_every_ablation_and_every_trial_is_a_setting():
    for changes in [*sidr_ablations.ABLATIONS.values(), *sidr_trials.TRIALS.values()]:
        SidrSettings(**{**sidr_ablations.PAPER, **changes})


@pytest.mark.parametrize(
    ("benchmark", "given", "wanted"),
    [
        (sidr_trials, [], {"max_steps": 200, "only": None, "set": "squad-sent"}),
        (sidr_trials, ["--quick"], {"max_steps": 2, "only": ["x1", "x8"]}),
        (sidr_trials, ["--quick", "--only", "x2"], {"max_steps": 2, "only": ["x2"]}),
        (sidr_ablations, ["--set", "tldr"], {"max_steps": 100, "queries": None, "set": "tldr"}),
        (sidr_ablations, ["--quick"], {"max_steps": 2, "queries": 20, "only": ["sidr", "w/o SP objective"]}),
        (sidr_train, ["--max-steps", "7"], {"max_steps": 7, "items": None, "depths": [20, 100]}),
        (sidr_train, ["--quick"], {"max_steps": 2, "queries": 20, "items": 50, "depths": [5]}),
    ],
)
def test_commands_read_their_options(benchmark, given, wanted, monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(benchmark, "_rows", lambda options, model: seen.append((vars(options), model)) or iter(()))
    monkeypatch.setattr("sys.argv", ["benchmark", "--model", "bert", *given])
    benchmark.main()
    options, model = seen[0]
    assert model == "bert" and {name: options[name] for name in wanted} == wanted
    assert capsys.readouterr().out.startswith("| work")
