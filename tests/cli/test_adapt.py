"""`vizsla adapt`, as a person types it."""

from __future__ import annotations

import pytest

from tests.contract.catalog import CLICKED, CLICKS, ITEMS
from vizsla.artifacts.artifact import load
from vizsla.cli import main
from vizsla.encoders.lsa import LsaEncoder
from vizsla.methods.dense import dense
from vizsla.methods.pefa import pefa_xs


@pytest.fixture
def folder(tmp_path):
    dense(ITEMS, LsaEncoder.fit(ITEMS.values(), dim=8)).save(tmp_path / "base")
    rows = [f"{CLICKED[query]}\t{item}\t{weight}\n" for query, item, weight in CLICKS]
    (tmp_path / "clicks.tsv").write_text("".join(["query\titem\tweight\n", *rows]), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("variant", ["pefa", "pefa-xs", "pefa-max", "pefa-xl"])
def test_every_variant_is_built_and_says_what_it_chose(folder, capsys, variant):
    out = folder / variant
    command = ["adapt", variant, str(folder / "base"), "--clicks", str(folder / "clicks.tsv"), "-o", str(out)]
    assert main(command) == 0
    assert "weight" in capsys.readouterr().out
    assert load(out).choice.cold + load(out).choice.warm > 0
    assert len(load(out)("fig", k=3).ids[0]) == 3


def test_fixed_numbers_and_queries_by_id_give_what_python_gives(folder):
    rows = [f"{query}\t{item}\t{weight}\n" for query, item, weight in CLICKS]
    (folder / "by_id.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "queries.tsv").write_text("".join(f"{q}\t{text}\n" for q, text in CLICKED.items()), encoding="utf-8")
    command = ["adapt", "pefa-xs", str(folder / "base"), "--clicks", str(folder / "by_id.tsv"), "-o", str(folder / "o")]
    assert main([*command, "--queries", str(folder / "queries.tsv"), "--weight", "0.5", "--calibrated", "no"]) == 0
    triples = [(CLICKED[query], item, weight) for query, item, weight in CLICKS]
    expected = pefa_xs(load(folder / "base"), triples, weight=0.5, calibrated=False)
    assert load(folder / "o")(["fig", "pear"], k=9) == expected(["fig", "pear"], k=9)


def test_wrong_calibration_is_said(folder):
    with pytest.raises(SystemExit):
        main(["adapt", "pefa-xs", str(folder / "base"), "--clicks", "x", "-o", "y", "--calibrated", "perhaps"])
