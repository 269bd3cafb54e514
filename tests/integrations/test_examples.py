"""The examples of the adapters run by themselves and leave nothing behind; two are only compiled, and say why."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "integrations"
SAYS = {
    "langchain_retriever": "Answer from this: Figs ripen in late summer.",
    "llamaindex_retriever": "[('fig', ",
    "haystack_pipeline": "[('fig', {'price': 3})]",
    "pyterrier_experiment": "num_results=1",
}
COMPILED = {"mteb_search", "beir_search"}


@pytest.mark.parametrize("example", SAYS)
def test_an_example_runs(example, tmp_path):
    command = [sys.executable, str(FOLDER / f"{example}.py")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert SAYS[example] in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("example", sorted(COMPILED))
def test_an_example_that_is_only_compiled_says_so(example):
    source = (FOLDER / f"{example}.py").read_text(encoding="utf-8")
    compile(source, example, "exec")
    assert "The tests compile this file and do not run it" in source


def test_every_example_is_expected():
    assert {path.stem for path in FOLDER.glob("*.py")} == SAYS.keys() | COMPILED
