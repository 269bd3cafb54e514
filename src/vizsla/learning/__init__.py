"""Learning from clicks: logs, splits, selection of settings, losses, optimizers and checkpoints."""
