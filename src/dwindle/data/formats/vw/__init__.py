"""Vowpal Wabbit's text format: its grammar, the kernel that reads it, names and errors."""
