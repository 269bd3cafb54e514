from __future__ import annotations

import io
import sys
from collections.abc import Iterator

import pytest

from vizsla._internal.terminal import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress(range(3), what="counting")) == [0, 1, 2]
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert list(progress(iter(range(3)), total=3, what="counting")) == [0, 1, 2]
    assert "counting" in terminal.getvalue()


def test_an_interruption_comes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> Iterator[int]:
        yield 1
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stderr", Terminal())
    seen = []
    with pytest.raises(KeyboardInterrupt):
        for number in progress(interrupted(), what="counting"):
            seen.append(number)
    assert seen == [1]
