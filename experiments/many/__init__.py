"""Training on many machines: its quality, its bits whatever dies, and its cost."""
