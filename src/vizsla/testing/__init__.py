"""The contract suite as functions, for authors of user-defined kinds."""
