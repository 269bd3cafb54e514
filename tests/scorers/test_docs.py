"""What docs/concepts/scorer.md shows is what happens."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "scorer.md"


def test_the_page_runs_from_top_to_bottom(tmp_path):
    script = "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL))
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[['fig', 'apple', 'pear']]",
        "[['fig', 'pear']]",
        "3 997",
        "3 0 3",
    ]
