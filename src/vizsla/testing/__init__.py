"""The contract suite as functions, for authors of their own kinds."""

from vizsla.testing.contract_checks import check_encoder, check_index, check_retriever, check_scorer

__all__ = ["check_encoder", "check_index", "check_retriever", "check_scorer"]
