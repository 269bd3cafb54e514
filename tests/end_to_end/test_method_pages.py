"""The pages of docs/methods run from top to bottom, print what they say, and have one form."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tiny_bert import tiny_bert
from vizsla.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted((DOCS / "methods").glob("*.md"))
HEADINGS = ["What it is", "When to use it", "How to use it", "Parameters that matter", "Limits", "Measured"]
MODELS = ["late_interaction_and_cross_encoders", "sidr"]
"""Pages whose code reads a transformer from the folder my-bert."""
ELSEWHERE = {*MODELS, "fusion"}
"""Pages that another test runs; that of fusion has a data set of its own (tests/methods/fusion/test_docs.py)."""
SHOWN = re.compile(r"^(?!print)(\S.*?)  # (\[.*\]|True|Bm25\(.*\))$", flags=re.MULTILINE)
MAX_WORDS = 900


def _script(page: Path) -> str:
    """Return the Python of a page, with shown answers as assertions."""
    script = "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL))
    return SHOWN.sub(lambda line: f"assert repr({line[1]}) == {line[2]!r}, repr({line[1]})", script)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in ELSEWHERE], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs_and_answers_as_shown(page, tmp_path):
    script = _script(page)
    command = [sys.executable, "-W", "error::UserWarning", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert script and done.returncode == 0, done.stderr


@pytest.mark.filterwarnings("ignore::vizsla.learning.selection.ChoiceWarning")
@pytest.mark.parametrize("page", MODELS)
def test_the_python_of_a_page_with_a_model_runs(page, tmp_path, monkeypatch):
    """In this process, since importing torch takes longer than the page."""
    tiny_bert(tmp_path / "my-bert")
    monkeypatch.chdir(tmp_path)
    exec(_script(DOCS / "methods" / f"{page}.md"), {})


@pytest.mark.parametrize(
    ("page", "count"), [("analyzers", 9), ("bm25", 2), ("pefa", 1), ("tfidf", 2), ("tokens", 4), ("xrlinear", 1)]
)
def test_shown_answers_are_checked(page, count):
    text = (DOCS / "methods" / f"{page}.md").read_text(encoding="utf-8")
    assert len(SHOWN.findall(text)) == count


def _help(words: list[str], capsys) -> str:
    """Return what the help of a verb says, and of its kind where it has several."""
    for given in (words[:2], words[:1]):
        with pytest.raises(SystemExit) as ended:
            main([*given, "--help"])
        shown = capsys.readouterr().out
        if ended.value.code == 0:
            return str(shown)
    raise AssertionError(f"vizsla {words[0]} is no command")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_options_of_shell_lines_exist(page, capsys):
    lines = re.findall(r"^ {4}vizsla (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert lines
    for line in lines:
        words = shlex.split(line, comments=True)
        shown = _help(words, capsys)
        for option in [word for word in words if re.match("--?[a-z]", word)]:
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", shown), f"vizsla {line}: {option}"


def test_all_method_pages_have_the_same_headings():
    found = {page.name: re.findall(r"^## (.*)", page.read_text(encoding="utf-8"), flags=re.MULTILINE) for page in PAGES}
    assert {name: headings for name, headings in found.items() if headings != HEADINGS} == {}


def test_method_pages_are_short():
    words = {page.name: len(page.read_text(encoding="utf-8").split()) for page in PAGES}
    assert {name: count for name, count in words.items() if count > MAX_WORDS} == {}
