"""How a residual fit is written into an artefact, and read from one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vizsla.errors import FormatError
from vizsla.methods.cur.factors import Factors
from vizsla.methods.cur.leaning import Leaning
from vizsla.methods.cur.residual_fit import ResidualFit

if TYPE_CHECKING:
    from vizsla.artifacts.reader import ArtifactReader
    from vizsla.artifacts.writer import ArtifactWriter

ARRAYS = ("mean", "spread", "explained")


def write_fit(writer: ArtifactWriter, fit: ResidualFit) -> None:
    """Store weights, spreads and factors."""
    writer.parameters(noise=fit.noise, ridge=fit.ridge, anchors=fit.anchors, leaning=fit.leaning is not None)
    for name in ARRAYS:
        writer.array(name, getattr(fit, name))
    writer.child("factors", fit.factors)
    if fit.leaning is not None:
        writer.array("told", fit.leaning.told)
        writer.array("hold", fit.leaning.hold)


def read_fit(reader: ArtifactReader) -> ResidualFit:
    """Return the fit; anything that no fit can be raises."""
    arrays = {name: reader.array(name, np.float64) for name in ARRAYS}
    noise, ridge = reader.parameter("noise", float), reader.parameter("ridge", float)
    anchors = reader.parameter("anchors", int)
    sound = all(np.isfinite(values).all() for values in arrays.values()) and np.isfinite([noise, ridge]).all()
    lengths = (len(arrays["mean"]), len(arrays["spread"]), len(arrays["explained"]) + 1)
    if not sound or len(set(lengths)) > 1 or not (noise >= 0 and ridge >= 0 and 0 < anchors < 2**31):
        raise FormatError(f"{reader.path}: the fit's numbers must be finite and belong together.")
    factors = reader.child("factors", Factors)
    leaning = _leaning(reader, factors.dim, len(arrays["explained"])) if reader.parameter("leaning", bool) else None
    return ResidualFit(factors=factors, noise=noise, ridge=ridge, anchors=anchors, leaning=leaning, **arrays)


def _leaning(reader: ArtifactReader, dim: int, retrievers: int) -> Leaning:
    found = Leaning(reader.array("told", np.float64, ndim=2), reader.array("hold", np.float64, ndim=2))
    shapes = found.told.shape == (1 + retrievers * dim, dim) and found.hold.shape == (dim, dim)
    if not shapes or not all(np.isfinite(values).all() for values in found):
        raise FormatError(f"{reader.path}: what is told of weights must be finite, and as wide as the factors.")
    return found
