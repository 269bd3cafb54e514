"""The page on extending says what happens: its code runs, in order, as one program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "extend.md"


def test_the_code_of_the_page_runs(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    program = tmp_path / "page.py"
    program.write_text("\n".join(blocks), encoding="utf-8")
    done = subprocess.run([sys.executable, str(program)], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["[['fig', 'pear']]", "[['fig']]"], done.stderr
