"""Helpers of the library itself; nothing here is public."""
