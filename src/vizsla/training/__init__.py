"""Training: losses, negatives, optimiser, checkpoints. Numpy throughout; torch only inside the neural tier's modules."""
