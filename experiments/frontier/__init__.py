"""AUC against the weights that are shipped and the features that are live: `make frontier`."""
