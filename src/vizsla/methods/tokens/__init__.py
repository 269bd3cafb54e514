"""Tokens: binary lists of the items, and queries that carry the weights."""
