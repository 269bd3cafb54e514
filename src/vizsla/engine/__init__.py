"""The live engine: a catalog that changes, with members that answer over it."""
