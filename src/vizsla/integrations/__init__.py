"""Adapters for other frameworks, one module and one extra each; a module imports its framework when it is imported."""
