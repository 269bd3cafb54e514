"""The real collecting, on the Python that runs the tests."""

import json
import os
import subprocess
import sys

import pytest

from vizsla.demo.python_docs import read_pages
from vizsla.errors import VizslaError

OTHER_PROCESS = """
import json, sys
from vizsla.demo.python_docs import read_pages
loaded = set(sys.modules)
pages = read_pages()
print(json.dumps([sorted(set(sys.modules) - loaded), [[page.id, page.text, page.doc.summary] for page in pages]]))
"""


@pytest.fixture(scope="module")
def other():
    seed = {"PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"}
    command = [sys.executable, "-c", OTHER_PROCESS]
    return subprocess.run(command, env={**os.environ, **seed}, capture_output=True, text=True, check=True)


def test_another_process_with_another_hash_seed_reads_the_same(pages, other):
    here = [[page.id, page.text, page.doc.summary] for page in pages.values()]
    there = json.loads(other.stdout)[1]
    assert [mine[0] for mine, theirs in zip(here, there, strict=True) if mine != theirs] == []


def test_the_calling_process_stays_clean_and_nothing_is_printed(other):
    modules = json.loads(other.stdout)[0]
    heavy = {"tkinter", "turtle", "this", "antigravity", "scipy", "idlelib", "asyncio", "distutils"}
    assert not heavy & {name.partition(".")[0] for name in modules}
    assert len(modules) < 10
    assert other.stdout.count("\n") == 1 and other.stderr == ""


def test_a_reader_that_dies_gives_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(VizslaError, match=r"could not be read.*exit code 1"):
        read_pages()


def test_thousands_of_pages_with_unique_ids_in_order(pages):
    assert len(pages) >= 3000
    assert list(pages) == sorted(pages)
    assert len(read_names(pages)) == len(set(read_names(pages)))


def read_names(pages):
    return [name for page in pages.values() for name in page.names]


def test_the_best_public_name_is_the_id(pages):
    wanted = "len str.split os.path.join json.JSONDecoder numpy.absolute numpy.linalg.eigvals numpy.float64.is_integer"
    for name in [*wanted.split(), "scipy.linalg.eigvals", "scipy.stats.norm", "pathlib.Path.exists"]:
        assert name in pages, name
    assert "numpy.abs" in pages["numpy.absolute"].names
    for hidden in ("posixpath.join", "numpy.abs", "json.decoder.JSONDecoder", "builtins.len"):
        assert hidden not in pages


def test_methods_of_private_parents_are_read_under_a_public_class(pages):
    assert [name for name in read_names(pages) if name == "scipy.sparse.csr_array.toarray"]


def test_nothing_that_acts_when_imported_or_is_deprecated_is_read(pages):
    roots = {name.partition(".")[0] for name in pages}
    assert not roots & {"antigravity", "this", "tkinter", "turtle", "idlelib", "cgi", "imp", "distutils", "__main__"}
    assert not any("tests" in name.split(".") or "._" in name for name in pages)


def test_the_text_is_the_signature_and_the_docstring_without_its_summary(pages):
    page = pages["numpy.linalg.eigvals"]
    assert page.text.startswith("numpy.linalg.eigvals(a)\n\n")
    assert page.doc.summary == "Compute the eigenvalues of a general matrix."
    assert page.doc.summary not in page.text and "Parameters" in page.text
    assert page.title == "numpy linalg eigvals"
    assert pages["tempfile.NamedTemporaryFile"].title == "tempfile Named Temporary File"


def test_no_summary_is_left_in_its_own_text(pages):
    for page in pages.values():
        if page.doc.summary.count(" ") > 1:
            assert page.doc.summary not in " ".join(page.text.partition("\n\n")[2].split()), page.id
