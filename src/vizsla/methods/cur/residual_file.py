"""How a residual fit is written into an artefact, and read from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.errors import FormatError
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.residual_fit import ResidualFit

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

ARRAYS = ("mean", "spread", "explained")


def write_fit(writer: ArtifactWriter, fit: ResidualFit) -> None:
    """Store weights, spreads and factors."""
    writer.parameters(noise=fit.noise, ridge=fit.ridge, anchors=fit.anchors)
    for name in ARRAYS:
        writer.array(name, getattr(fit, name))
    writer.child("factors", fit.factors)


def read_fit(reader: ArtifactReader) -> ResidualFit:
    """Return the fit; anything that no fit can be raises."""
    arrays = {name: reader.array(name, np.float64) for name in ARRAYS}
    noise, ridge = reader.parameter("noise", float), reader.parameter("ridge", float)
    anchors = reader.parameter("anchors", int)
    sound = all(np.isfinite(values).all() for values in arrays.values()) and np.isfinite([noise, ridge]).all()
    lengths = (len(arrays["mean"]), len(arrays["spread"]), len(arrays["explained"]) + 1)
    if not sound or len(set(lengths)) > 1 or not (noise >= 0 and ridge >= 0 and 0 < anchors < 2**31):
        raise FormatError(f"{reader.path}: the fit's numbers must be finite and belong together.")
    return ResidualFit(factors=reader.child("factors", Factors), noise=noise, ridge=ridge, anchors=anchors, **arrays)
