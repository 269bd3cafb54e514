"""Only the chosen verb is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vizsla.cli.verbs import KINDS, VERBS, lazy_parser, parser

PRINT_MODULES = """
import sys
from vizsla.cli import main
try:
    code = main(sys.argv[1:])
except SystemExit as exit:
    code = exit.code
assert code == 0, code
print("\\0" + " ".join(sys.modules))
"""


def modules_after(*argv):
    done = subprocess.run([sys.executable, "-c", PRINT_MODULES, *argv], capture_output=True, text=True, check=True)
    return set(done.stdout.partition("\0")[2].split())


def ours(modules):
    return {name for name in modules if name.startswith("vizsla.")}


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["index", "--help"], ["train", "-h"]])
def test_no_verb_is_imported_to_describe_the_command(argv):
    modules = modules_after(*argv)
    assert not modules & {"numpy", "rich", "vizsla._native", "json", "asyncio"}
    assert ours(modules) == {
        "vizsla.cli", "vizsla.cli.command", "vizsla.cli.interrupts", "vizsla.cli.verbs",
        "vizsla._internal", "vizsla._internal.terminal", "vizsla.errors",
    }  # fmt: skip


@pytest.mark.parametrize("argv", [["search", "--help"], ["index", "bm25", "--help"], ["adapt", "pefa-xs", "--help"]])
def test_only_the_chosen_verb_is_imported(argv):
    modules = ours(modules_after(*argv))
    chosen = {"adapt": "adapt"}.get(argv[0], "_".join(argv[:-1]))
    others = {f"vizsla.cli.{verb}" for verb in VERBS}
    others |= {f"vizsla.cli.{verb}_{kind}".replace("-", "_") for verb, kinds in KINDS.items() for kind in kinds}
    assert f"vizsla.cli.{chosen}" in modules
    assert not modules & (others - {f"vizsla.cli.{chosen}"})


def test_every_verb_of_the_table_has_a_module():
    assert parser().format_help().count("\n") > len(VERBS)


def test_an_unknown_option_shows_the_usage_of_its_verb(capsys):
    from vizsla.cli import main

    with pytest.raises(SystemExit, match="2"):
        main(["index", "bm25", "items.tsv", "-o", "out", "--no-such-option"])
    assert capsys.readouterr().err.startswith("usage: vizsla index bm25 ")


def test_options_may_stand_between_what_is_named_and_optional_data():
    judged = lazy_parser().parse_args(["eval", "shop.idx", "--split", "test", "shop"])
    assert (judged.system, judged.data) == ("shop.idx", "shop")
    several = lazy_parser().parse_args(["compare", "shop", "--qrels", "judged.qrels", "one=a.idx", "two=b.idx"])
    assert (several.data, several.systems) == ("shop", ["one=a.idx", "two=b.idx"])
    with pytest.raises(SystemExit):
        lazy_parser().parse_args(["eval", "--split", "test"])
