"""The compiled learner: kernels, the table of live features and their names."""
