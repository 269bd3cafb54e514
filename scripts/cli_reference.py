"""Hook of mkdocs: make the reference page of the command line from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

PAGE = "reference/cli.md"


def on_files(files: Any, config: Any) -> Any:
    """Add the page to the site (called by mkdocs)."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, PAGE, content=reference()))
    return files


def reference() -> str:
    """Return the page: a section per verb, with its arguments in a table."""
    from vizsla.cli.main import parser

    return "# Command line\n\n" + "\n".join(_sections("vizsla", parser()))


def _sections(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    inner = next((each for each in parser._actions if isinstance(each, argparse._SubParsersAction)), None)
    yield f"## {name}\n\n{_sentence(parser.description or '')}\n"
    rows = [_row(parser, each) for each in parser._actions if each is not inner and each.dest != "help"]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows]) + "\n"
    for verb, below in inner.choices.items() if inner else ():
        yield from _sections(f"{name} {verb}", below)


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
