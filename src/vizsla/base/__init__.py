"""Interfaces: encoder, index, scorer and retriever, and the contract of kinds defined by users."""
