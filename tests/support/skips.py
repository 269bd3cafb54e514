"""Which tests may be skipped. A test that nobody runs and nobody misses proves nothing, so in CI few may be."""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import pytest

IN_CI = bool(os.environ.get("CI"))
CORE = os.environ.get("VIZSLA_TEST_CORE") == "1"
"""Whether `make test-core` runs, or a sanitizer: without torch and ONNX, on purpose."""

EVERYWHERE = ("real data are not at", "this Python knows another version of Unicode")
NEURAL = (
    "the extra neural is not installed",
    "the extra onnx is not installed",
    "MiniLM's weights",
    "the extra ray is not installed",
)


def judged(report: Any) -> Any:
    """Return the report; in CI a skip that is not expected becomes a failure that says why."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail") and not expected(reason := why(report)):
        report.outcome = "failed"
        report.longrepr = f"This test must not be skipped in CI: {reason}."
    return report


def why(report: Any) -> str:
    """Return the reason of a skip as it was written."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


def expected(reason: str) -> bool:
    """Whether a skip for this reason may stay one."""
    return reason.startswith(EVERYWHERE + (NEURAL if CORE else ()))


def refuse_torch() -> None:
    """Stop a core run that could not prove anything, since torch would be there to import."""
    if CORE and importlib.util.find_spec("torch"):
        raise pytest.UsageError("VIZSLA_TEST_CORE=1 must run where torch is not installed: use `make test-core`.")
