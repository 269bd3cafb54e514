"""What docs/methods/fusion.md shows is what happens."""

from __future__ import annotations

import doctest
from pathlib import Path

from tests.methods.fusion.test_fuse import fruit_log

PAGE = Path(__file__).parents[3] / "docs" / "methods" / "fusion.md"


def test_the_page_says_what_happens():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(PAGE), module_relative=False, globs={"ds": fruit_log()}, optionflags=flags)
    assert result.attempted > 6
    assert result.failed == 0
