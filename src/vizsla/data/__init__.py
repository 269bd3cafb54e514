"""Data sets: items with metadata, queries, clicks, judgments, and filters on items."""
