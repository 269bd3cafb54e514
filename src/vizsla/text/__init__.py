"""Analyzers, vocabularies and text encoders."""
