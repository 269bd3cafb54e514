"""Vizsla: a catalogue of texts and a log of clicks become a first-stage search engine."""

__version__ = "0.1.0"
