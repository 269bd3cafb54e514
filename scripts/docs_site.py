"""Hooks of mkdocs: add the reference of the command line, made from the parsers, and the measured tables."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
ELSEWHERE = re.compile(r"(?<!!)\[([^\]]+)\]\(((?:\.\./)+(?:examples/\S+|\w+\.py))\)")
"""Links to files of the repository that are no pages."""


def on_files(files: Any, config: Any) -> Any:
    """Add the generated pages to the site (called by mkdocs)."""
    from mkdocs.structure.files import File

    pages = {"reference/cli.md": reference(), "results/index.md": (RESULTS.parent / "README.md").read_text()}
    pages |= {f"results/{path.name}": path.read_text() for path in sorted(RESULTS.glob("*.md"))}
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links lead to the pages of the site, and name files that are not on it (called by mkdocs)."""
    if page.file.src_uri.startswith("results/"):
        markdown = markdown.replace("](../../docs/", "](../").replace("](../README.md", "](index.md")
        markdown = markdown.replace("](../docs/", "](../").replace("](results/", "](")
    else:
        markdown = re.sub(r"\]\(((?:\.\./)+)benchmarks/results/", lambda found: f"]({found[1][3:]}results/", markdown)
    return ELSEWHERE.sub(lambda found: f"{found[1]} (`{found[2].replace('../', '')}`)", markdown)


def reference() -> str:
    """Return the page: a section per verb, with its arguments in a table."""
    from vizsla.cli.verbs import parser

    return "# Command line\n\n" + "\n".join(_sections("vizsla", parser()))


def _sections(name: str, parser: argparse.ArgumentParser, about: str = "") -> Iterator[str]:
    inner = next((each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None)
    yield f"## {name}\n\n{_sentence(parser.description or about)}\n"
    rows = [_row(parser, each) for each in parser._actions if each is not inner and each.dest != "help"]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows]) + "\n"
    if inner:
        helps = {each.dest: each.help or "" for each in inner._choices_actions}
        for verb, below in inner.choices.items():
            yield from _sections(f"{name} {verb}", below, helps.get(verb, ""))


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    value = parser._get_formatter()._format_args(action, action.metavar or action.dest.upper())
    if action.option_strings:
        written = ", ".join(f"{option} {value}".strip() for option in action.option_strings)
    else:
        written = value
    about = (action.help or "").replace("%%", "%") % {"default": action.default, "prog": parser.prog}
    return f"| `{_cell(written)}` | {_cell(_sentence(about))} |"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split()) if "`" not in text else text
