"""Training on many machines: shards, tasks and their mixing."""
