"""The few products and decompositions that methods need, with the same bits on every machine."""
