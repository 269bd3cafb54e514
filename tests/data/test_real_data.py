from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from vizsla.data.dataset import Dataset

DATA = Path(os.environ.get("VIZSLA_DATA", Path(__file__).parents[3] / "shared" / "data"))


@pytest.mark.parametrize("name", ["xquad-en", "tldr"])
def test_counts_are_those_of_the_readme(name: str) -> None:
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"real data are not at {folder}; set VIZSLA_DATA to their folder")
    readme = (folder / "README.md").read_text()
    dataset = Dataset.open(folder, dangling="raise")
    sizes = dict(re.findall(r"- (\S+): (\d+)", readme))
    assert len(dataset.items) == sum(1 for _ in dataset.items) == int(sizes["corpus.jsonl.gz"])
    assert len(dataset.queries) == sum(1 for _ in dataset.queries) == int(sizes["queries.jsonl.gz"])
    counts = re.findall(r"qrels/(\S+)\.tsv: (\d+) pairs, (\d+) queries, (\d+) distinct", readme)
    for split, pairs, queries, items in counts:
        judged = dataset.qrels(split)
        assert (judged.nnz, len(dataset.query_texts(split)[0])) == (int(pairs), int(queries))
        assert len(set(judged.indices.tolist())) == int(items)
    assert len(dataset.splits) == readme.count("- qrels/")
    _, held = dataset.split()
    assert held.split_report is not None
    assert abs(held.split_report.cold - 0.05) < 0.01
    assert abs(held.split_report.held_out - 0.1) < 0.01
