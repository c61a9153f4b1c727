"""A training run: its configuration, directory, batches, and the true score of its policy."""
