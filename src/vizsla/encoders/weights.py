"""A checksum of a torch model's weights, and their bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from vizsla import _native


def weights_checksum(model: Any) -> int:
    """Return a number that changes with every weight, and with every weight's name."""
    seen = 0
    for name, weights in sorted(model.state_dict().items()):
        values = weights.detach().cpu().contiguous().float().numpy().reshape(-1).view(np.uint8)
        seen = _native.checksum(np.frombuffer(name.encode(), np.uint8), _native.checksum(values, seen))
    return int(seen)


def weights_bytes(model: Any) -> int:
    """Return the bytes of all weights."""
    return sum(int(weights.numel() * weights.element_size()) for weights in model.state_dict().values())
