"""Training a cross-encoder on clicks."""
