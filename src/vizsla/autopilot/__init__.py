"""The choice of a search by a click log: splits, candidates, trials under limits, and an honest report."""
