"""The library calls behind the commands: train, tune, predict, evaluate and convert."""
