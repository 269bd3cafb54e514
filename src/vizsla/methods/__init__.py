"""Retrieval methods, one module or package per method."""
