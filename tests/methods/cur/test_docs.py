"""What docs/methods/adacur.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "methods" / "adacur.md"


def test_the_page_says_what_happens(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    exec("".join(blocks), {})  # the page's own lines
    shown = capsys.readouterr().out.splitlines()
    assert (shown[0], shown[-1]) == ("c 3", "10 True")
