"""Rules for documentation: the code of every page runs, links lead somewhere, pages are short and wrapped."""

from __future__ import annotations

import ast
import posixpath
import re
import subprocess
import sys
from pathlib import Path

import pytest

import vizsla

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FOLDERS = ["tutorials", "how-to", "concepts"]
LESSONS = sorted(page for folder in FOLDERS for page in (DOCS / folder).glob("*.md"))
PAGES = [*LESSONS, DOCS / "index.md", ROOT / "CONTRIBUTING.md"]
FREE = {"reference", "decisions", "methods"}  # generated, or with rules of their own; a glossary grows with the names
TOP = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")]
READ = [*TOP, DOCS / "index.md", *sorted(DOCS.glob("*/*.md"))]
MAX_WORDS = 900
MAX_LINE = 120


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> str:
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.M))


def with_results_checked(source: str) -> str:
    """Return a program in which `expression  # literal` asserts that the expression equals the literal.

    Examples
    --------
    >>> with_results_checked("1 + 1  # 2")
    'assert (1 + 1) == (2), repr(1 + 1)'
    """
    return "\n".join(_checked(line) for line in source.splitlines())


def _checked(line: str) -> str:
    code, _, said = line.partition("  # ")
    try:
        ast.literal_eval(said)
        ast.parse(code, mode="eval")
    except (SyntaxError, ValueError):
        return line
    return f"assert ({code}) == ({said}), repr({code})"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_code_of_a_page_runs(page, tmp_path):
    """Shell blocks run first, then Python blocks, as one program each, in one empty folder."""
    shell, python = blocks(page, "sh"), blocks(page, "python")
    command = tmp_path / "bin" / "vizsla"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vizsla "$@"\n')
    command.chmod(0o755)
    if shell:
        script = f'set -e\nexport PATH="{command.parent}:$PATH"\n{shell}'
        done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    program = [sys.executable, "-W", "error::UserWarning", "-c", with_results_checked(python)]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_tutorial_has_python():
    assert [page.name for page in PAGES if page.parent.name == "tutorials" and not blocks(page, "python")] == []


def test_pages_are_short():
    words = {name_of(page): words_of(page) for page in READ if _is_guide(page)}
    assert {page: count for page, count in words.items() if count > MAX_WORDS} == {}
    assert words_of(ROOT / "ARCHITECTURE.md") <= 1500
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
    assert len((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()) <= 60


def words_of(page: Path) -> int:
    """Return how many words a page has, without the rules of its tables."""
    return sum(any(map(str.isalnum, word)) for word in page.read_text(encoding="utf-8").split())


def _is_guide(page: Path) -> bool:
    return page.is_relative_to(DOCS) and page.parent.name not in FREE and page.name != "glossary.md"


def test_prose_is_wrapped():
    offenders = []
    for page in READ:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
        long = [line for line in text.splitlines() if len(line) > MAX_LINE and not line.startswith(("|", "    "))]
        offenders += [f"{name_of(page)}: {line[:60]}…" for line in long]
    assert offenders == []


def test_links_lead_somewhere():
    offenders = []
    for page in [*READ, *sorted((ROOT / "benchmarks").rglob("*.md"))]:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
        for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", text):
            found = page if not target else page.parent / target
            if found.name == "cli.md" and found.parent.name == "reference":
                continue  # made when the site is built
            if not found.exists():
                offenders.append(f"{name_of(page)} links to {target}")
            elif anchor and found.suffix == ".md" and anchor not in anchors(found):
                offenders.append(f"{name_of(page)} links to {target}#{anchor}")
    assert offenders == []


def anchors(page: Path) -> set[str]:
    """Return the ids that a page's headings get."""
    headings = re.findall(r"^#+ (.*)", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_navigation_of_the_site_lists_every_page():
    listed = set(re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert listed == pages | {"reference/cli.md"}  # which the parsers make


def test_the_reference_lists_the_public_names():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.md"))
    listed = [name for name in re.findall(r"^::: vizsla\.(\w+)$", pages, re.M) if name != "errors"]
    assert sorted(listed) == sorted(set(vizsla.__all__) - {"__version__"})


def test_the_glossary_explains_the_public_names():
    page = (DOCS / "concepts" / "glossary.md").read_text(encoding="utf-8")
    assert [name for name in vizsla.__all__ if name != "__version__" and f"`{name}`" not in page] == []


def test_the_reference_of_the_command_line_has_every_verb():
    from scripts.docs_site import reference

    from vizsla.cli.verbs import VERBS

    page = reference()
    assert [verb for verb in VERBS if f"## vizsla {verb}\n" not in page] == []
    assert "--where WHAT" in page


def test_links_of_the_site_lead_to_pages_of_the_site():
    """What `make docs` refuses: links between docs/ and benchmarks/ lead to the places that the site has for them."""
    from types import SimpleNamespace

    from scripts.docs_site import RESULTS, on_page_markdown

    sources = {path.relative_to(DOCS).as_posix(): path for path in DOCS.rglob("*") if path.is_file()}
    sources |= {f"results/{path.name}": path for path in RESULTS.glob("*.md")}
    sources |= {"results/index.md": RESULTS.parent / "README.md"}
    lost = {}
    for name, path in sources.items():
        if path.suffix == ".md":
            page = SimpleNamespace(file=SimpleNamespace(src_uri=name))
            shown = on_page_markdown(path.read_text(encoding="utf-8"), page)
            links = [link for link in re.findall(r"\]\(([^)#\s]+)", shown) if "://" not in link]
            places = [posixpath.normpath(posixpath.join(posixpath.dirname(name), link)) for link in links]
            if missing := sorted(set(places) - sources.keys() - {"reference/cli.md"}):
                lost[name] = missing
    assert lost == {}
