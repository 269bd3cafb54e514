"""Clicks: the log, what is held out of it, and choosing settings by it. Every method that chooses, chooses here."""
