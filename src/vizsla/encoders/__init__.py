"""Encoders of queries and items, and how they are saved."""
