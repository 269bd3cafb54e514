"""Indexes: immutable structures over items that answer encoded queries."""
