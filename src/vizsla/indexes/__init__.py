"""Index structures over encoded items."""
