"""Training: losses, negatives, optimiser, checkpoints. Numpy throughout; torch only in modules that are named so."""
