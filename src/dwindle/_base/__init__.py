"""Errors, files, signals, threads and dispatch by class: what every room may use."""
