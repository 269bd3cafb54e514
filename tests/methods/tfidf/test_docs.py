"""What docs/tfidf.md shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[3] / "docs" / "tfidf.md").read_text(encoding="utf-8")


def test_the_examples_run_and_answer_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    promised = 0
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        checked, count = re.subn(r"^(search\(.*?\.ids) +# (\[.*\])$", r"assert \1 == \2", block, flags=re.MULTILINE)
        exec(checked, names)
        promised += count
    assert promised == 2
