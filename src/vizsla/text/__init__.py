"""Text: analysers, and bags of words."""
