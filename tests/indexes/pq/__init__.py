"""Product quantisation."""
