"""Ours and PECOS, side by side: what is asked of one is asked of the other."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from benchmarks.contestant import Contestant, ContestantError


class Pair:
    """Two contestants in processes of their own; a peer that fails once is out, and `problem` says why.

    Examples
    --------
    >>> with Pair() as pair:  # doctest: +SKIP
    ...     pair.ask("train", folder="exchange", instances="queries", ours={"cold_start": False})
    {'ours': {'seconds': 1.2, 'peak': 80000000}, 'theirs': {'seconds': 2.9, 'peak': 90000000}}
    """

    def __init__(self) -> None:
        self.problem = ""
        self._stack = ExitStack()
        self._ours = self._stack.enter_context(Contestant("xrlinear_ours"))
        self._theirs: Contestant | None = None
        try:
            self._theirs = self._stack.enter_context(Contestant("xrlinear_pecos", ".venv-pecos"))
        except ContestantError as error:
            self.problem = str(error).replace("setup.sh", "setup_pecos.sh")

    def ask(
        self, what: str, *, ours: dict[str, Any] | None = None, theirs: dict[str, Any] | None = None, **task: Any
    ) -> dict[str, Any]:
        """Ask both, with arguments for one alone in `ours` and `theirs`; no answer is None."""
        return {
            "ours": self._ours.ask(what, **task, **(ours or {})),
            "theirs": self.ask_peer(what, **task, **(theirs or {})),
        }

    def ask_ours(self, what: str, **task: Any) -> Any:
        """Ask ours alone."""
        return self._ours.ask(what, **task)

    def ask_peer(self, what: str, **task: Any) -> Any:
        """Ask the peer alone."""
        if self._theirs is None:
            return None
        try:
            return self._theirs.ask(what, **task)
        except ContestantError as error:
            self.problem, self._theirs = str(error), None
            return None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
