"""What the README shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_first_lines_run_as_printed(tmp_path):
    first, second, live, *_ = _blocks("python")
    script = first + second + "assert found.ids == [['fig', 'apple'], ['apple']]\n"
    script += live + "assert engine.search('fig').ids == [['fig']]\n"
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "fig" in done.stdout or "0" in done.stdout
    assert len(first.strip().splitlines()) == 4, "three lines to a first hit, and an empty one"


def test_the_two_commands_are_targets():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    assert all(f"\n{target}:" in makefile for target in ("demo", "test"))
    assert "make demo\nmake test" in README


def test_the_shell_lines_run_in_order(tmp_path):
    (block,) = _blocks("sh")
    first, *lines = block.strip().splitlines()
    assert first == 'export PATH="$PWD/.venv/bin:$PATH"', "where `make demo` leaves the command"
    command = tmp_path / "bin" / "vizsla"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vizsla "$@"\n')
    command.chmod(0o755)
    script = "\n".join(["set -e", f'export PATH="{command.parent}:$PATH"', *lines])
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr and "q1: smal tre" in done.stdout
    assert sum(line.startswith("vizsla ") for line in lines) >= 5


def test_every_verb_is_in_the_help():
    done = subprocess.run([sys.executable, "-m", "vizsla", "--help"], capture_output=True, text=True, check=True)
    for command in re.findall(r"^vizsla (\w+)", README, flags=re.MULTILINE):
        assert re.search(rf"^\s+{command}\s", done.stdout, flags=re.MULTILINE), command
