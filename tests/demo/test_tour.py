import sys

import pytest

from vizsla.core.catalog import Item
from vizsla.data.dataset import Dataset
from vizsla.demo.tour import EXAMPLES, METHODS, run_demo


@pytest.fixture
def dataset():
    items = [
        Item("tempfile.NamedTemporaryFile", "a file that is deleted when closed", "", {"summary": "Make a file."}),
        Item("optparse.OptionParser", "parse the options of a command line", "", {"summary": "Parse options."}),
        Item("numpy.linalg.eigh", "eigenvalues of a symmetric matrix", "", {"summary": "Eigen."}),
    ]
    queries = {"q1": "temporary file", "q2": "options", "q3": "symmetric"}
    qrels = {"train": {"q3": [items[2].id]}, "test": {"q1": [items[0].id], "q2": [items[1].id]}}
    return Dataset.of(items, queries=queries, qrels=qrels)


def test_the_tour_measures_answers_and_says_how_to_go_on(dataset, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    run_demo(dataset=dataset)
    out = capsys.readouterr().out
    assert "nDCG@10" in out and "bm25" in out and "2 queries" in out
    for question in EXAMPLES:
        assert question in out
    assert "Make a file." in out and "deleted" in out
    assert out.index("nDCG@10") < out.index(EXAMPLES[0]) < out.index("What to type next")


def test_a_question_of_ones_own_is_answered_and_nothing_else(dataset, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    run_demo(questions=["symmetric matrix", "zebra"], dataset=dataset)
    out = capsys.readouterr().out
    assert "numpy.linalg.eigh" in out and "optparse" not in out and "nDCG" not in out
    assert '"zebra": nothing found' in out


def test_without_the_extra_it_still_searches_and_names_the_command(dataset, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    run_demo(dataset=dataset)
    out = capsys.readouterr().out
    assert "pip install 'vizsla[eval]'" in out and "optparse.OptionParser" in out and "nDCG" not in out


def test_a_method_is_added_as_one_row_and_the_first_row_answers(dataset, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    run_demo(dataset=dataset, methods={**METHODS, "first hit": lambda ds, built: built["bm25"] % 1})
    out = capsys.readouterr().out
    assert "first hit" in out.partition(EXAMPLES[0])[0]
    assert f'"{EXAMPLES[0]}" (bm25, ' in out
    assert "numpy.linalg.eigh" in out.partition(EXAMPLES[0])[2].partition(EXAMPLES[1])[0]
