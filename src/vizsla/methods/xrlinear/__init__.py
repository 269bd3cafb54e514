"""XR-Linear: a tree of linear matchers from a click log."""
