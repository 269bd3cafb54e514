"""What docs/sidr.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "sidr.md"
SHOWN = re.compile(r"^(\S.*?)\s+# (\[.*\])$")


def test_the_page_says_what_happens():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    names: dict[str, object] = {}
    checked = 0
    for line in "".join(blocks).splitlines():
        if shown := SHOWN.match(line):
            assert repr(eval(shown[1], names)) == shown[2], line  # the page's own lines
            checked += 1
        else:
            exec(line, names)
    assert checked == 4
