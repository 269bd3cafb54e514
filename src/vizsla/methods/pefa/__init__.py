"""PEFA: adapt a retriever to clicks without training anything (Chang et al., WSDM 2024)."""

from vizsla.methods.pefa.build import pefa, pefa_max, pefa_xl, pefa_xs
from vizsla.methods.pefa.xl import PefaXl
from vizsla.methods.pefa.xs import PefaXs

__all__ = ["PefaXl", "PefaXs", "pefa", "pefa_max", "pefa_xl", "pefa_xs"]
