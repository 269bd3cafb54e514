"""Readers and writers of datasets: one format per file."""
