"""Scorers of (query, item) pairs, and wrappers around them."""
