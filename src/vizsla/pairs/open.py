"""Opening a cross-encoder, whichever kind a folder or a hub id names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vizsla.checked import checked
from vizsla.encoders.onnx import MODEL
from vizsla.pairs.pair_model import PairModel


@checked
def open_pair_model(name: str | Path, **options: Any) -> PairModel:
    """Return the cross-encoder that a folder holds, or the one with this hub id.

    Parameters
    ----------
    name : str or path
        A folder with `model.onnx`, or what transformers can load.
    **options
        What `OnnxPairModel` or `TorchPairModel` takes.
    """
    if (Path(name) / MODEL).exists():
        from vizsla.pairs.onnx_pairs import OnnxPairModel

        return OnnxPairModel(name, **options)
    from vizsla.pairs.torch_pairs import TorchPairModel

    return TorchPairModel(name, **options)
