"""Placeholder."""


class Composable:
    """Operators."""
