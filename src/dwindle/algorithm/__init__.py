"""The paper's algorithm in plain Python: losses, shrinkages, updates and learning rates."""
