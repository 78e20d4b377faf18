"""Hyper-parameter search by cross-validation."""
